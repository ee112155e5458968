/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/cleaner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/log.h"

enum { PATHS_AT_ONCE = 4096 };

struct paths_list {
    LIST(char *) items;
};

static void add_paths(struct paths_list *list, const char *state_dir, const struct forgotten *job)
{
    static const char *const kinds[] = { "", ".attempts", ".in", ".checkpoint", ".sealed" };

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        list_add(&list->items, mem_printf("%s/data/%" PRIu32 "/%" PRIu64 "%s", state_dir, job->uid,
                                          job->job, kinds[i]));
    list_add(&list->items, mem_printf("%s/scripts/%" PRIu64, state_dir, job->job));
    list_add(&list->items, mem_printf("%s/scripts/%" PRIu64 ".steps", state_dir, job->job));
    for (uint32_t rank = 0; rank < job->members; rank++) {
        AUTO_FREE char *member = rank > 0 ? mem_printf(".%" PRIu32, rank) : mem_string("");
        for (size_t rotated = 0; rotated < 2; rotated++)
            list_add(&list->items, mem_printf("%s/logs/%" PRIu32 "/%" PRIu64 "%s.out%s", state_dir,
                                              job->uid, job->job, member, rotated ? ".1" : ""));
    }
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_exit_of_rm(uv_process_t *process, int64_t status, int signal)
{
    if (status != 0 || signal != 0)
        log_line(LOG_WARNING, "the files of forgotten jobs could not be removed status=%" PRId64,
                 status);
    uv_close((uv_handle_t *)process, on_closed);
}

static void start_rm(uv_loop_t *loop, struct paths_list *list)
{
    uv_process_t *process = mem_zero(1, sizeof(*process));
    uv_process_options_t options = { .exit_cb = on_exit_of_rm };

    list_add(&list->items, NULL);
    options.args = list->items.items;
    options.file = options.args[0];
    int code = uv_spawn(loop, process, &options);
    if (code < 0) {
        log_line(LOG_WARNING, "rm cannot be started reason='%s'", uv_strerror(code));
        uv_close((uv_handle_t *)process, on_closed);
    }
}

static void clear(struct paths_list *list)
{
    for (size_t i = 0; i < list->items.count; i++)
        free(list->items.items[i]);
    list->items.count = 0;
}

/* Outputs of stages are read-only (node/job_outputs.h): that holds back rm, unless it is root's. */
static void add_command(struct paths_list *list)
{
    static const char *const plain[] = { "rm", "-rf", "--" };
    static const char *const shell[] = {
        "sh", "-c", "chmod -R u+rwX -- \"$@\" 2>/dev/null; exec rm -rf -- \"$@\"", "rm"
    };
    bool is_root = geteuid() == 0;

    for (size_t i = 0; i < (is_root ? COUNT_OF(plain) : COUNT_OF(shell)); i++)
        list_add(&list->items, mem_string(is_root ? plain[i] : shell[i]));
}

void cleaner_remove(uv_loop_t *loop, const char *state_dir, const struct forgotten *jobs,
                    size_t count)
{
    struct paths_list list = { 0 };

    for (size_t i = 0; i < count;) {
        add_command(&list);
        while (i < count && list.items.count < PATHS_AT_ONCE)
            add_paths(&list, state_dir, &jobs[i++]);
        start_rm(loop, &list);
        clear(&list);
    }
    list_release(&list.items);
}
