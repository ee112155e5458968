/* SPDX-License-Identifier: Apache-2.0 */
/* tarn-pmix: the PMIx server of one step on this node, through which its tasks find each other
 *
 *   tarn-pmix NAMESPACE TASKS
 *
 * Writes the variables of each task to standard output, NAME=VALUE, each with a NUL behind it, and
 * an empty one behind those of a task; afterwards a message for each task that aborts or is lost.
 * If it cannot start, it writes what is wrong instead, without a NUL.
 * Ends when its standard input ends, and removes its folder.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/pmix/pmix_library.h"
#include "cli/pmix/pmix_message.h"

enum { INFOS_MAX = 24, FOLDERS_OPEN = 16 };

struct server {
    struct pmix_library library;
    const char *space; /* the namespace of the step */
    uint32_t tasks;
    char host[256];
    char *folder;
};

/* ---- what is said about a step: keys with values ---- */

struct infos {
    pmix_info_t items[INFOS_MAX];
    size_t count;
};

static pmix_value_t *add(struct infos *infos, const char *key, pmix_data_type_t type)
{
    pmix_info_t *info = &infos->items[infos->count];

    if (infos->count == INFOS_MAX)
        abort();
    infos->count++;
    *info = (pmix_info_t){ .value.type = type };
    snprintf(info->key, sizeof(info->key), "%s", key);
    return &info->value;
}

static void add_string(struct infos *infos, const char *key, const char *text)
{
    add(infos, key, PMIX_STRING)->data.string = (char *)(uintptr_t)text;
}

static void add_number(struct infos *infos, const char *key, uint32_t number)
{
    add(infos, key, PMIX_UINT32)->data.uint32 = number;
}

static void add_small(struct infos *infos, const char *key, uint32_t number)
{
    add(infos, key, PMIX_UINT16)->data.uint16 = (uint16_t)number;
}

static void add_rank(struct infos *infos, const char *key, uint32_t rank)
{
    add(infos, key, PMIX_PROC_RANK)->data.rank = rank;
}

static void describe_task(const struct server *server, uint32_t rank, struct infos *infos)
{
    add_rank(infos, PMIX_RANK, rank); /* has to be the first */
    add_rank(infos, PMIX_GLOBAL_RANK, rank);
    add_rank(infos, PMIX_APP_RANK, rank);
    add_number(infos, PMIX_APPNUM, 0);
    add_small(infos, PMIX_LOCAL_RANK, rank);
    add_small(infos, PMIX_NODE_RANK, rank);
    add_number(infos, PMIX_NODEID, 0);
    add_string(infos, PMIX_HOSTNAME, server->host);
}

static void describe_step(const struct server *server, const char *ranks, struct infos *infos)
{
    static const char *const counts[] = { PMIX_UNIV_SIZE, PMIX_JOB_SIZE,   PMIX_APP_SIZE,
                                          PMIX_MAX_PROCS, PMIX_LOCAL_SIZE, PMIX_NODE_SIZE };

    add_string(infos, PMIX_JOBID, server->space);
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        add_number(infos, counts[i], server->tasks);
    add_number(infos, PMIX_NUM_NODES, 1);
    add_number(infos, PMIX_JOB_NUM_APPS, 1);
    add_number(infos, PMIX_NODEID, 0);
    add_rank(infos, PMIX_LOCALLDR, 0);
    add_string(infos, PMIX_LOCAL_PEERS, ranks);
    add_string(infos, PMIX_TMPDIR, server->folder);
    add_string(infos, PMIX_NSDIR, server->folder);
    add(infos, PMIX_TDIR_RMCLEAN, PMIX_BOOL)->data.flag = true;
}

/* ---- what tasks ask for ---- */

/* All tasks of the step are here, so a fence is over when the library asks for it. */
static pmix_status_t on_fence(const pmix_proc_t *tasks, size_t count, const pmix_info_t *infos,
                              size_t info_count, char *data, size_t length,
                              pmix_modex_cbfunc_t done, void *context)
{
    (void)tasks;
    (void)count;
    (void)infos;
    (void)info_count;
    if (done)
        done(PMIX_SUCCESS, data, length, context, free, data);
    return PMIX_SUCCESS;
}

static pmix_status_t on_client(const pmix_proc_t *task, void *object, pmix_op_cbfunc_t done,
                               void *context)
{
    (void)task;
    (void)object;
    (void)done;
    (void)context;
    return PMIX_OPERATION_SUCCEEDED;
}

/* A pipe takes a message of a few bytes whole. */
static bool tell(struct pmix_message message)
{
    return write(STDOUT_FILENO, &message, sizeof(message)) == (ssize_t)sizeof(message);
}

static pmix_status_t on_abort(const pmix_proc_t *task, void *object, int status,
                              const char *message, pmix_proc_t *tasks, size_t count,
                              pmix_op_cbfunc_t done, void *context)
{
    (void)object;
    (void)message;
    (void)tasks;
    (void)count;
    (void)done;
    (void)context;
    bool is_told = tell((struct pmix_message){
        .is_abort = 1, .status = (uint8_t)status, .rank = (uint16_t)task->rank });
    return is_told ? PMIX_OPERATION_SUCCEEDED : PMIX_ERROR;
}

/* The library says so of a task that ends and has not called PMIx_Finalize. */
static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t *task,
                     pmix_info_t *infos, size_t info_count, pmix_info_t *results,
                     size_t result_count, pmix_event_notification_cbfunc_fn_t done, void *context)
{
    (void)handler;
    (void)infos;
    (void)info_count;
    (void)results;
    (void)result_count;
    if (status == PMIX_ERR_LOST_CONNECTION && task->rank < PMIX_TASKS_MAX)
        tell((struct pmix_message){ .rank = (uint16_t)task->rank });
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

/* ---- the server ---- */

static int check(const struct server *server, const char *what, pmix_status_t status,
                 struct error *err)
{
    if (status >= PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
        return 0;
    return error_set(err, -EIO, "PMIx: %s: %s", what, server->library.PMIx_Error_string(status));
}

static int make_folder(struct server *server, struct error *err)
{
    const char *parent = getenv("TMPDIR");

    server->folder = mem_printf("%s/tarn-pmix.XXXXXX", parent && parent[0] ? parent : "/tmp");
    if (mkdtemp(server->folder))
        return 0;
    return error_set(err, -errno, "PMIx: %s: %s", server->folder, strerror(errno));
}

static int start(struct server *server, struct error *err)
{
    static pmix_server_module_t module = { .client_connected = on_client,
                                           .client_finalized = on_client,
                                           .abort = on_abort,
                                           .fence_nb = on_fence };
    struct infos infos = { 0 };

    add_string(&infos, PMIX_SERVER_TMPDIR, server->folder);
    add_string(&infos, PMIX_SYSTEM_TMPDIR, server->folder);
    add_string(&infos, PMIX_HOSTNAME, server->host);
    int code = check(server, "start",
                     server->library.PMIx_server_init(&module, infos.items, infos.count), err);
    if (code == 0)
        code = check(
            server, "events",
            server->library.PMIx_Register_event_handler(NULL, 0, NULL, 0, on_event, NULL, NULL),
            err);
    return code;
}

/* The map of nodes and the one of ranks, as the library writes them. */
static int add_maps(const struct server *server, const char *ranks, struct infos *infos,
                    struct error *err)
{
    char *nodes = NULL, *places = NULL;

    int code =
        check(server, "nodes", server->library.PMIx_generate_regex(server->host, &nodes), err);
    if (code == 0)
        code = check(server, "ranks", server->library.PMIx_generate_ppn(ranks, &places), err);
    if (code == 0) {
        add_string(infos, PMIX_NODE_MAP, nodes);
        add_string(infos, PMIX_PROC_MAP, places);
    }
    return code;
}

static int register_step(const struct server *server, struct error *err)
{
    AUTO_RELEASE(text) struct text ranks = { 0 };
    AUTO_FREE struct infos *tasks = mem_zero(server->tasks, sizeof(tasks[0]));
    AUTO_FREE pmix_data_array_t *arrays = mem_zero(server->tasks, sizeof(arrays[0]));
    AUTO_FREE pmix_info_t *all = mem_zero(server->tasks + INFOS_MAX, sizeof(all[0]));
    struct infos step = { 0 };

    for (uint32_t i = 0; i < server->tasks; i++)
        text_printf(&ranks, "%s%u", i > 0 ? "," : "", i);
    describe_step(server, text_string(&ranks), &step);
    int code = add_maps(server, text_string(&ranks), &step, err);
    if (code < 0)
        return code;
    memcpy(all, step.items, step.count * sizeof(all[0]));
    for (uint32_t i = 0; i < server->tasks; i++) {
        describe_task(server, i, &tasks[i]);
        arrays[i] = (pmix_data_array_t){ .type = PMIX_INFO,
                                         .size = tasks[i].count,
                                         .array = tasks[i].items };
        struct infos one = { 0 };
        add(&one, PMIX_PROC_DATA, PMIX_DATA_ARRAY)->data.darray = &arrays[i];
        all[step.count + i] = one.items[0];
    }
    return check(server, "the step",
                 server->library.PMIx_server_register_nspace(server->space, (int)server->tasks, all,
                                                             step.count + server->tasks, NULL,
                                                             NULL),
                 err);
}

/* ret: its variables are added. */
static int register_task(const struct server *server, uint32_t rank, struct text *ret,
                         struct error *err)
{
    pmix_proc_t task = { .rank = rank };
    char **variables = NULL;

    snprintf(task.nspace, sizeof(task.nspace), "%s", server->space);
    int code = check(
        server, "a task",
        server->library.PMIx_server_register_client(&task, getuid(), getgid(), NULL, NULL, NULL),
        err);
    if (code == 0)
        code = check(server, "variables of a task",
                     server->library.PMIx_server_setup_fork(&task, &variables), err);
    for (char **variable = variables; variable && *variable; variable++) {
        text_add_bytes(ret, *variable, strlen(*variable) + 1);
        free(*variable);
    }
    text_add_char(ret, '\0');
    free(variables);
    return code;
}

static void wait_for_end(void)
{
    char byte;
    ssize_t got;

    do
        got = read(STDIN_FILENO, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
}

static int serve(struct server *server, struct error *err)
{
    AUTO_RELEASE(text) struct text variables = { 0 };
    int code = register_step(server, err);

    for (uint32_t i = 0; i < server->tasks && code == 0; i++)
        code = register_task(server, i, &variables, err);
    if (code < 0)
        return code;
    fwrite(variables.bytes, 1, variables.length, stdout);
    fflush(stdout);
    wait_for_end();
    return 0;
}

static int run(struct server *server, struct error *err)
{
    int code = pmix_library_load(&server->library, err);

    if (code == 0)
        code = make_folder(server, err);
    if (code == 0)
        code = start(server, err);
    if (code < 0)
        return code;
    code = serve(server, err);
    server->library.PMIx_server_finalize();
    return code;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

/* The job's supervisor signals all processes of the job; the server ends after the tasks. */
static void ignore_signals(void)
{
    static const int ignored[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                   SIGUSR2, SIGALRM, SIGTSTP, SIGPIPE };

    for (size_t i = 0; i < COUNT_OF(ignored); i++)
        signal(ignored[i], SIG_IGN);
}

int main(int argc, char **argv)
{
    struct server server = { 0 };
    struct error err;

    if (argc != 3 || atoi(argv[2]) < 1 || atoi(argv[2]) > PMIX_TASKS_MAX) {
        fprintf(stderr, "tarn-pmix: expected NAMESPACE TASKS\n");
        return 2;
    }
    ignore_signals();
    server.space = argv[1];
    server.tasks = (uint32_t)atoi(argv[2]);
    gethostname(server.host, sizeof(server.host) - 1);
    int code = run(&server, &err);
    if (code < 0)
        fputs(err.text, stdout);
    if (server.folder)
        nftw(server.folder, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
    free(server.folder);
    return code < 0 ? 1 : 0;
}
