/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/upkeep/state_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/state/state.h"
#include "daemon/loading.h"
#include "io/file.h"
#include "io/paths.h"
#include "store/journal.h"
#include "store/sql.h"

enum { FILE_BYTES_MAX = 64 << 20 };

bool state_file_is_database(const char *name)
{
    return string_ends(name, ".db");
}

/* Those of the daemon that runs: its lock, its log, its mark, and what SQLite puts beside a
 * database. */
static bool is_kept_out(const char *name)
{
    static const char *const names[] = { "lock", "daemon.log", "journal.last", "reserve", NULL };

    return string_is_in(name, names) || string_ends(name, "-wal") || string_ends(name, "-shm") ||
           string_ends(name, "-journal") || string_ends(name, ".new") || strstr(name, ".lost-") ||
           strstr(name, ".damaged-") || strstr(name, ".newer-");
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int state_files_list(const char *dir, json_t **ret_names, struct error *err)
{
    LIST(char *) names = { 0 };
    DIR *files = opendir(dir);

    if (!files)
        return error_set(err, -errno, "state %s: %s", dir, strerror(errno));
    for (struct dirent *file = readdir(files); file; file = readdir(files)) {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, file->d_name);
        struct stat status;
        if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && !is_kept_out(file->d_name))
            list_add(&names, mem_string(file->d_name));
    }
    closedir(files);
    list_sort(&names, compare_names);
    *ret_names = json_array();
    for (size_t i = 0; i < names.count; i++) {
        json_array_append_new(*ret_names, json_string(names.items[i]));
        free(names.items[i]);
    }
    list_release(&names);
    return 0;
}

int state_file_copy(const char *from_dir, const char *to_dir, const char *name, struct error *err)
{
    AUTO_FREE char *from = mem_printf("%s/%s", from_dir, name);
    AUTO_FREE char *to = mem_printf("%s/%s", to_dir, name);
    AUTO_RELEASE(text) struct text bytes = { 0 };

    if (state_file_is_database(name))
        return sql_copy(from, to, err);
    int code = file_read(from, FILE_BYTES_MAX, &bytes, err);
    return code < 0 ? code : file_replace(to, text_string(&bytes), bytes.length, err);
}

static int summarize(struct journal *journal, struct state_summary *ret, struct error *err)
{
    AUTO(state) struct state *state = NULL;
    struct journal_counts counts = { 0 };
    uint64_t unused;

    int code = journal_verify(journal, &counts, err);
    if (code == 0)
        code = state_load(journal, &state, &unused, err);
    if (code < 0)
        return code;
    *ret = (struct state_summary){ .records = journal_last(journal),
                                   .blobs = counts.blobs,
                                   .snapshots = counts.snapshots,
                                   .snapshots_damaged = counts.snapshots_damaged };
    for (const struct job *job = state->first_job; job; job = job->next)
        ret->jobs_left += job->state != JOB_ENDED;
    return 0;
}

static int pass(void *user, const struct journal_record *record, struct error *err)
{
    (void)user;
    (void)record;
    (void)err;
    return 0;
}

int state_summarize(const char *dir, struct state_summary *ret, struct error *err)
{
    __attribute__((cleanup(journal_auto_destroy))) struct journal *journal = NULL;

    int code = journal_open(dir, JOURNAL_READ, &journal, err);
    if (code == 0)
        code = journal_read(journal, 1, pass, NULL, err); /* each hash, also before the snapshot */
    return code < 0 ? code : summarize(journal, ret, err);
}

int state_dir_find(const char *given, char **ret, struct error *err)
{
    struct paths paths = { 0 };

    if (given && !given[0])
        return error_set(err, -EINVAL, "--state: expected a folder");
    int code = given ? 0 : paths_find(&paths, err);
    if (code == 0)
        *ret = mem_string(given ? given : paths.state);
    paths_release(&paths);
    return code;
}
