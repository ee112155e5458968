/* SPDX-License-Identifier: Apache-2.0 */
/* bench_engine - how many trivial members a second the local engine starts and ends
 *
 *     bench_engine TARN_SHIM [COUNT [AT_ONCE [STATE_DIR]]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/local/local.h"
#include "engine/local/shim_launch.h"
#include "engine/local/status_file.h"
#include "io/file.h"

struct bench {
    struct engine *engine;
    char state_dir[256], log[300];
    uint64_t count, at_once, started, ended;
    int failures;
};

static struct engine_launch launch_of(struct bench *bench, uint64_t job, const char *const *argv)
{
    static const char *const envp[] = { "PATH=/usr/bin:/bin", NULL };

    return (struct engine_launch){
        .id = { .job = job, .attempt = 1 },
        .title = "bench",
        .argv = argv,
        .envp = envp,
        .cwd = bench->state_dir,
        .output = bench->log,
        .append = true,
        .uid = geteuid(),
        .gid = getegid(),
    };
}

static void start_some(struct bench *bench)
{
    static const char *const argv[] = { "/bin/true", NULL };

    while (bench->started < bench->count && bench->started - bench->ended < bench->at_once) {
        struct engine_launch launch = launch_of(bench, ++bench->started, argv);
        struct error err;

        if (bench->engine->ops->start(bench->engine, &launch, 1, &err) == 0)
            continue;
        fprintf(stderr, "bench_engine: %s\n", err.text);
        exit(1);
    }
}

static void on_outcome(void *user, const struct engine_outcome *outcome)
{
    struct bench *bench = user;

    if (outcome->kind == ENGINE_STARTED)
        return;
    if (outcome->kind != ENGINE_ENDED || outcome->exit_code != 0) {
        if (!outcome->was_stopped)
            fprintf(stderr, "bench_engine: %s\n", outcome->reason);
        bench->failures++;
    }
    bench->ended++;
    struct engine_attempt attempt = { outcome->id.job, outcome->id.attempt, &outcome->id.rank, 1 };
    bench->engine->ops->forget(bench->engine, &attempt);
    start_some(bench);
}

static int64_t private_kib(pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/smaps_rollup", pid);
    AUTO_RELEASE(text) struct text text = { 0 };
    int64_t total = 0;

    if (file_read(path, 65536, &text, NULL) < 0)
        return -1;
    for (const char *at = text_string(&text); (at = strstr(at, "\nPrivate_")) != NULL; at++)
        total += strtoll(strchr(at, ':') + 1, NULL, 10);
    return total;
}

static int sleeper_start(struct bench *bench, struct member_id *ret)
{
    static const char *const argv[] = { "/bin/sleep", "60", NULL };
    struct engine_launch launch = launch_of(bench, ++bench->started, argv);

    *ret = launch.id;
    return bench->engine->ops->start(bench->engine, &launch, 1, NULL);
}

/* A shim at rest: its job sleeps. A second one runs beside it, as pages of the program that two
 * have are shared and would count as private with one. */
static int64_t shim_memory(uv_loop_t *loop, struct bench *bench)
{
    char name[MEMBER_NAME_SIZE];
    struct member_id first, second;
    int failures = bench->failures;

    if (sleeper_start(bench, &first) < 0 || sleeper_start(bench, &second) < 0)
        return -1;
    AUTO_FREE char *path = mem_printf("%s/run/%s", bench->state_dir, member_name(name, first));
    usleep(200000);
    int64_t kib = private_kib(status_holder(path));
    for (int i = 0; i < 2; i++) {
        const struct member_id *id = i == 0 ? &first : &second;
        struct engine_attempt attempt = { id->job, id->attempt, &id->rank, 1 };
        bench->engine->ops->stop(bench->engine, &attempt, 0);
    }
    while (bench->ended < bench->started)
        uv_run(loop, UV_RUN_ONCE);
    bench->failures = failures;
    return kib;
}

int main(int argc, char **argv)
{
    struct bench bench = { .count = 2000, .at_once = 64 };
    uv_loop_t loop;
    struct error err;

    if (argc < 2) {
        fprintf(stderr, "usage: bench_engine TARN_SHIM [COUNT [AT_ONCE [STATE_DIR]]]\n");
        return 2;
    }
    if (argc > 2)
        bench.count = strtoull(argv[2], NULL, 10);
    if (argc > 3)
        bench.at_once = strtoull(argv[3], NULL, 10);
    snprintf(bench.state_dir, sizeof(bench.state_dir), "%s",
             argc > 4 ? argv[4] : "/var/tmp/tarn-bench-XXXXXX");
    if (argc <= 4 && !mkdtemp(bench.state_dir)) {
        perror(bench.state_dir);
        return 1;
    }
    snprintf(bench.log, sizeof(bench.log), "%s/log", bench.state_dir);
    uv_loop_init(&loop);
    struct local_engine_options options = {
        .engine = { .loop = &loop,
                    .state_dir = bench.state_dir,
                    .reports = { .user = &bench, .outcome = on_outcome } },
        .shim_path = argv[1],
        .is_root = geteuid() == 0,
    };
    if (local_engine_create(&options, &bench.engine, &err) < 0) {
        fprintf(stderr, "bench_engine: %s\n", err.text);
        return 1;
    }
    uint64_t begin = uv_hrtime();
    start_some(&bench);
    while (bench.ended < bench.count)
        uv_run(&loop, UV_RUN_ONCE);
    double seconds = (double)(uv_hrtime() - begin) / 1e9;
    printf("engine_members_per_second %.0f members/s\n", (double)bench.count / seconds);
    printf("shim_private_memory %" PRId64 " KiB\n", shim_memory(&loop, &bench));
    bench.engine->ops->destroy(bench.engine);
    uv_run(&loop, UV_RUN_DEFAULT);
    if (argc <= 4) {
        AUTO_FREE char *command = mem_printf("rm -rf %s", bench.state_dir);

        if (system(command) != 0)
            return 1;
    }
    return bench.failures == 0 ? 0 : 1;
}
