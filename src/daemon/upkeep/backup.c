/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/upkeep/backup.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/local/status_file.h"
#include "io/file.h"
#include "store/journal.h"
#include "store/mark.h"
#include "wire/json.h"

enum { MANIFEST_BYTES_MAX = 1 << 20 };

static usec_t wall_now(void)
{
    return (usec_t)time(NULL) * USEC_PER_SEC;
}

/* ---- make ---- */

static int make_folder(const char *dir, struct error *err)
{
    if (mkdir(dir, 0700) == 0 || (errno == EEXIST && folder_is_empty(dir) > 0))
        return 0;
    return errno == EEXIST
               ? error_set(err, -EEXIST, "%s: exists and is not empty; expected a new folder", dir)
               : error_set(err, -errno, "%s: %s", dir, strerror(errno));
}

/* Reading the copy made these two; they are empty. */
static void remove_log(const char *dir)
{
    AUTO_FREE char *log = mem_printf("%s/journal.db-wal", dir);
    AUTO_FREE char *index = mem_printf("%s/journal.db-shm", dir);

    unlink(log);
    unlink(index);
}

static void remove_files(const char *dir, const json_t *names)
{
    size_t i;
    json_t *name;

    json_array_foreach(names, i, name)
    {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, json_string_value(name));
        unlink(path);
    }
    remove_log(dir);
    mark_remove(dir);
    rmdir(dir);
}

static int copy_files(const char *from, const char *to, const json_t *names, struct error *err)
{
    size_t i;
    json_t *name;
    int code = 0;

    json_array_foreach(names, i, name)
    {
        if (code == 0)
            code = state_file_copy(from, to, json_string_value(name), err);
    }
    return code;
}

static int write_manifest(const char *dir, const json_t *names, const struct state_summary *summary,
                          struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/backup.json", dir);
    json_t *manifest = json_pack("{s:i, s:s, s:o, s:I, s:O}", "format", BACKUP_FORMAT, "tarn",
                                 TARN_VERSION, "time", json_time(wall_now()), "records",
                                 (json_int_t)summary->records, "files", (json_t *)names);
    AUTO_FREE char *text = json_dumps(manifest, JSON_INDENT(2));

    json_decref(manifest);
    return file_replace(path, text, strlen(text), err);
}

int backup_make(const char *state_dir, const char *to, struct state_summary *ret, struct error *err)
{
    AUTO_FREE char *journal = mem_printf("%s/journal.db", state_dir);
    json_t *names = NULL;

    if (access(journal, R_OK) < 0)
        return error_set(err, -errno, "journal %s: %s", journal,
                         errno == ENOENT ? "there is none" : strerror(errno));
    int code = state_files_list(state_dir, &names, err);
    if (code == 0)
        code = make_folder(to, err);
    if (code < 0) {
        json_decref(names);
        return code;
    }
    code = copy_files(state_dir, to, names, err);
    if (code == 0)
        code = mark_set(to, 0, err); /* a journal is not read without one */
    if (code == 0)
        code = state_summarize(to, ret, err);
    if (code == 0) {
        remove_log(to);
        code = mark_set(to, ret->records, err);
    }
    if (code == 0)
        code = write_manifest(to, names, ret, err);
    if (code < 0)
        remove_files(to, names);
    json_decref(names);
    return code;
}

/* ---- restore ---- */

/* Names only: a backup may not write outside of the state directory. */
static bool names_are_good(const json_t *names)
{
    size_t i;
    json_t *name;

    json_array_foreach(names, i, name)
    {
        const char *text = json_string_value(name);
        if (!text || !text[0] || text[0] == '.' || strchr(text, '/') ||
            json_string_length(name) != strlen(text))
            return false;
    }
    return json_is_array(names);
}

static int read_manifest(const char *dir, json_t **ret, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/backup.json", dir);
    AUTO_RELEASE(text) struct text bytes = { 0 };
    json_t *manifest = NULL;

    if (file_read(path, MANIFEST_BYTES_MAX, &bytes, err) < 0)
        return error_set(err, -ENOENT,
                         "%s: not a backup: it has no backup.json; tarn backup writes it last",
                         dir);
    int code =
        json_parse(text_string(&bytes), bytes.length, MANIFEST_BYTES_MAX, path, &manifest, err);
    if (code < 0)
        return code;
    json_int_t format = json_integer_value(json_object_get(manifest, "format"));
    if (format > BACKUP_FORMAT)
        code = error_set(err, -EPROTONOSUPPORT, "%s: format %" PRId64 "; this tarn knows up to %d",
                         path, (int64_t)format, BACKUP_FORMAT);
    else if (format < 1 || !names_are_good(json_object_get(manifest, "files")))
        code = error_set(err, -EBADMSG, "%s: damaged: expected a format and a list of files", path);
    if (code < 0)
        json_decref(manifest);
    else
        *ret = manifest;
    return code;
}

/* A job that runs would write the result of an attempt that the restored journal may give to
 * another job. */
static int check_no_job_runs(const char *state_dir, struct error *err)
{
    AUTO_FREE char *dir = mem_printf("%s/run", state_dir);
    DIR *files = opendir(dir);
    int code = 0;

    for (struct dirent *file = files ? readdir(files) : NULL; file && code == 0;
         file = readdir(files)) {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, file->d_name);
        pid_t shim = file->d_type == DT_REG ? status_holder(path) : 0;
        if (shim > 0)
            code = error_set(err, -EBUSY,
                             "job %.*s still runs (its supervisor has PID %ld); end it first: tarn "
                             "down --kill, or kill %ld",
                             (int)strcspn(file->d_name, "."), file->d_name, (long)shim, (long)shim);
    }
    if (files)
        closedir(files);
    return code;
}

int attempts_put_aside(const char *state_dir, const char *aside, struct error *err)
{
    AUTO_FREE char *from = mem_printf("%s/run", state_dir);

    int code = check_no_job_runs(state_dir, err);
    if (code == 0 && rename(from, aside) < 0 && errno != ENOENT)
        code =
            error_set(err, -errno, "%s: cannot be moved to %s: %s", from, aside, strerror(errno));
    return code;
}

/* What the restored files replace, and the files of attempts that the restored journal may not
 * know. */
static int move_aside(const char *state_dir, const json_t *names, char **ret, struct error *err)
{
    static const char *const more[] = { "run", "journal.db-wal", "journal.db-shm" };
    AUTO_FREE char *aside =
        mem_printf("%s/replaced-%" PRId64, state_dir, wall_now() / USEC_PER_SEC);
    bool has_any = false;
    size_t count = json_array_size(names) + COUNT_OF(more);
    int code = 0;

    for (size_t i = 0; i < count && code == 0; i++) {
        const char *name = i < COUNT_OF(more)
                               ? more[i]
                               : json_string_value(json_array_get(names, i - COUNT_OF(more)));
        AUTO_FREE char *from = mem_printf("%s/%s", state_dir, name);
        AUTO_FREE char *to = mem_printf("%s/%s", aside, name);
        if (access(from, F_OK) < 0)
            continue;
        code = folder_make(aside, 0700, err);
        if (code == 0 && rename(from, to) < 0)
            code = error_set(err, -errno, "%s: cannot be moved to %s: %s", from, aside,
                             strerror(errno));
        has_any = true;
    }
    if (code == 0 && has_any)
        *ret = TAKE(aside);
    return code;
}

/* The directory is locked, so that no daemon starts in it meanwhile. The mark of before stays until
 * all files are there: a state that is restored in part does not start. */
static int replace_files(const char *from, const char *state_dir, const json_t *names,
                         char **ret_aside, struct error *err)
{
    int code = check_no_job_runs(state_dir, err);

    if (code == 0)
        code = move_aside(state_dir, names, ret_aside, err);
    if (code == 0)
        code = copy_files(from, state_dir, names, err);
    return code == 0 ? folder_sync(state_dir, err) : code;
}

int backup_restore(const char *from, const char *state_dir, struct state_summary *ret,
                   char **ret_aside, struct error *err)
{
    json_t *manifest = NULL;
    int lock = -1;

    int code = read_manifest(from, &manifest, err);
    if (code < 0)
        return code;
    code = state_summarize(from, ret, err);
    if (code == 0)
        code = folder_make(state_dir, 0700, err);
    if (code == 0)
        code = journal_lock(state_dir, &lock, err);
    if (code == 0)
        code = replace_files(from, state_dir, json_object_get(manifest, "files"), ret_aside, err);
    if (code == 0)
        code = mark_set(state_dir, ret->records, err);
    if (lock >= 0)
        close(lock);
    json_decref(manifest);
    return code;
}
