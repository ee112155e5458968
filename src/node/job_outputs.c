/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job_outputs.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"

enum { WALK_FDS = 64, SEALED_BYTES_MAX = 1 << 20 };

#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

/* nftw() passes nothing on to its function. */
static struct {
    size_t skip; /* of each path: the folder that is walked */
    uint64_t digest;
    bool seals;
} walk;

static uint64_t hash_add(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ byte[i]) * FNV_PRIME;
    return hash;
}

static uint64_t hash_of(const char *name, const struct stat *info)
{
    const int64_t facts[] = { info->st_mode & S_IFMT, S_ISREG(info->st_mode) ? info->st_size : 0,
                              info->st_mtim.tv_sec, info->st_mtim.tv_nsec };

    return hash_add(hash_add(FNV_START, name, strlen(name)), facts, sizeof(facts));
}

/* A file with another name may be in use outside: its mode is left alone. */
static bool is_to_seal(const struct stat *info)
{
    return S_ISDIR(info->st_mode) || (S_ISREG(info->st_mode) && info->st_nlink == 1);
}

/* The sum does not depend on the order of the entries. */
static int visit(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)at;
    if (kind == FTW_NS)
        return 0;
    walk.digest += hash_of(path + walk.skip, info);
    if (walk.seals && is_to_seal(info))
        chmod(path, info->st_mode & 07555);
    return 0;
}

static uint64_t walk_tree(const char *path, bool seals)
{
    walk.skip = strlen(path);
    walk.digest = 0;
    walk.seals = seals;
    nftw(path, visit, WALK_FDS, FTW_PHYS);
    return walk.digest;
}

/* ---- outputs ---- */

/* One that may not be read is not known to be empty. */
static bool is_empty_folder(const char *path)
{
    int is_empty = folder_is_empty(path);

    return is_empty != 0 && is_empty != -EACCES;
}

/* NULL: it is complete. */
static const char *find_lack(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno == ENOENT || errno == ENOTDIR ? "missing" : strerror(errno);
    bool is_empty = S_ISDIR(info.st_mode) ? is_empty_folder(path) : info.st_size == 0;
    return is_empty ? "empty" : NULL;
}

static bool check_outputs(const struct job_outputs *outputs, struct text *ret_reason)
{
    for (char *const *name = outputs->names; *name; name++) {
        AUTO_FREE char *path = mem_printf("%s/%s", outputs->out, *name);
        const char *lack = find_lack(path);
        if (!lack)
            continue;
        text_printf(ret_reason, "output %s: %s", *name, lack);
        return false;
    }
    return true;
}

static void seal_outputs(const struct job_outputs *outputs)
{
    AUTO_FREE char *kept = mem_printf("%s.sealed", outputs->out);
    AUTO_RELEASE(text) struct text digests = { 0 };

    for (char *const *name = outputs->names; *name; name++) {
        AUTO_FREE char *path = mem_printf("%s/%s", outputs->out, *name);
        text_printf(&digests, "%s/%016" PRIx64 "\n", *name, walk_tree(path, true));
    }
    chmod(outputs->out, 0500);
    if (geteuid() == 0)
        file_replace(kept, text_string(&digests), digests.length, NULL);
}

/* ---- inputs ---- */

/* DATA/MAKER/NAME as it was when MAKER ended; true also where that is not known. */
static bool is_as_sealed(const char *target)
{
    const char *slash = strrchr(target, '/');
    AUTO_FREE char *sealed = mem_printf("%.*s.sealed", (int)(slash - target), target);
    AUTO_RELEASE(text) struct text kept = { 0 };

    if (file_read(sealed, SEALED_BYTES_MAX, &kept, NULL) < 0)
        return true;
    AUTO_FREE char *line = mem_printf("%s/%016" PRIx64 "\n", slash + 1, walk_tree(target, false));
    AUTO_FREE char *mark = mem_printf("%.*s", (int)(strcspn(line, "/") + 1), line);
    const char *at = text_string(&kept);
    while (at && !string_starts(at, mark)) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    return !at || string_starts(at, line);
}

static bool check_link(const char *in, const char *path, struct text *ret_reason)
{
    char target[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof(target) - 1);

    if (length <= 0)
        return true;
    target[length] = '\0';
    if (target[0] != '/' || is_as_sealed(target))
        return true;
    *strrchr(target, '/') = '\0';
    text_printf(ret_reason, "input %s: changed after job %s wrote it", path + strlen(in) + 1,
                strrchr(target, '/') ? strrchr(target, '/') + 1 : "");
    return false;
}

/* Links are IN/NAME, IN/NAME/COMBINATION or INDEX, IN/NAME/COMBINATION/INDEX. */
static bool check_inputs(const char *in, const char *folder, unsigned depth,
                         struct text *ret_reason)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    bool is_good = true;

    for (int i = 0; i < count; i++) {
        const struct dirent *entry = entries[i];
        AUTO_FREE char *path = mem_printf("%s/%s", folder, entry->d_name);
        struct stat info;
        bool is_shown = entry->d_name[0] != '.' && lstat(path, &info) == 0;
        if (is_good && is_shown && S_ISLNK(info.st_mode))
            is_good = check_link(in, path, ret_reason);
        else if (is_good && is_shown && S_ISDIR(info.st_mode) && depth > 0)
            is_good = check_inputs(in, path, depth - 1, ret_reason);
        free(entries[i]);
    }
    free(entries);
    return is_good;
}

bool job_outputs_settle(const struct job_outputs *outputs, struct text *ret_reason)
{
    if (!check_outputs(outputs, ret_reason))
        return false;
    if (outputs->in && geteuid() == 0 && !check_inputs(outputs->in, outputs->in, 2, ret_reason))
        return false;
    if (outputs->is_stage && outputs->names[0])
        seal_outputs(outputs);
    return true;
}
