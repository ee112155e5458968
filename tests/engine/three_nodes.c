/* SPDX-License-Identifier: Apache-2.0 */
/* An engine for tests: nodes n1, n2, n3 of four GPUs each that exist in its books only. Jobs are
 * processes of this machine. What must survive a restart is on disk: STATE/three/JOB.ATTEMPT.RANK
 * has process and node, with .end the exit status. STATE/three/NODE.down takes a node away.
 * With STATE/three/slow the engine takes a moment to end, with STATE/three/term it gets a signal
 * while the daemon starts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "core/engine.h"

enum { NODES = 3, GPUS = 4, LOOK_MS = 50, READ_LOOKS = 20, SLOW_MS = 300 };

struct member {
    struct member_id id;
    char node[8];
    pid_t pid;
    bool told_start, told_end, was_stopped;
};

struct three {
    struct engine engine;
    struct engine_options options;
    char folder[512];
    uv_timer_t timer;
    LIST(struct member) members;
    bool is_down[NODES], is_told;
    unsigned looks;
};

static struct three *three_of(struct engine *engine)
{
    return CONTAINER_OF(engine, struct three, engine);
}

static char *path_of(const struct three *three, struct member_id id, const char *end)
{
    return mem_printf("%s/%d.%d.%d%s", three->folder, (int)id.job, (int)id.attempt, (int)id.rank,
                      end);
}

static struct member *find(struct three *three, struct member_id id)
{
    for (size_t i = 0; i < three->members.count; i++) {
        struct member *member = &three->members.items[i];
        if (memcmp(&member->id, &id, sizeof(id)) == 0)
            return member;
    }
    return NULL;
}

static struct member_id id_of(const struct engine_attempt *attempt, uint32_t i)
{
    return (struct member_id){ attempt->job, attempt->attempt, attempt->ranks[i] };
}

static bool read_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");
    bool is_whole = file && fgets(line, size, file) && strchr(line, '\n');

    if (file)
        fclose(file);
    return is_whole;
}

/* ---- operations ---- */

/* The child leads a process group, and leaves its exit status behind whatever becomes of us. */
static pid_t run(const struct three *three, const struct engine_launch *launch)
{
    static const char script[] =
        "\"$@\"; status=$?; echo $status > \"$END.new\"; mv \"$END.new\" \"$END\"";
    AUTO_FREE char *end = path_of(three, launch->id, ".end");
    size_t args = 0;

    while (launch->argv[args])
        args++;
    AUTO_FREE char **argv = mem_zero(args + 5, sizeof(char *));
    memcpy(argv, (char *[]){ (char *)"sh", (char *)"-c", (char *)script, (char *)"sh" },
           4 * sizeof(char *));
    memcpy(argv + 4, launch->argv, args * sizeof(char *));
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int out = open(launch->output, O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(dup2(out, 1), 2);
    setsid();
    clearenv();
    for (size_t i = 0; launch->envp[i]; i++)
        putenv((char *)(uintptr_t)launch->envp[i]);
    setenv("END", end, 1);
    setenv("NODE", launch->node, 1);
    if (chdir(launch->cwd) == 0)
        execv("/bin/sh", argv);
    _exit(127);
}

static int start(struct engine *engine, const struct engine_launch *launches, uint32_t count,
                 struct error *err)
{
    struct three *three = three_of(engine);

    for (uint32_t i = 0; i < count; i++) {
        const struct engine_launch *launch = &launches[i];
        AUTO_FREE char *path = path_of(three, launch->id, "");
        struct member member = { .id = launch->id };
        if (find(three, launch->id))
            continue;
        for (uint32_t k = 0; k < launch->slices_count; k++)
            if (!strstr(launch->slices[k].uuid, launch->node))
                return error_set(err, -EINVAL, "%s: elsewhere", launch->slices[k].uuid);
        snprintf(member.node, sizeof(member.node), "%s", launch->node);
        member.pid = run(three, launch);
        FILE *file = fopen(path, "we");
        fprintf(file, "%d %s\n", (int)member.pid, member.node);
        fclose(file);
        list_add(&three->members, member);
    }
    return 0;
}

static void stop(struct engine *engine, const struct engine_attempt *attempt, usec_t grace)
{
    for (uint32_t i = 0; i < attempt->count; i++) {
        struct member *member = find(three_of(engine), id_of(attempt, i));
        if (member && kill(-member->pid, grace > 0 ? SIGTERM : SIGKILL) == 0)
            member->was_stopped = true;
    }
}

static void recover(struct engine *engine, const struct engine_attempt *attempt,
                    const bool *was_started, bool *ret_found)
{
    struct three *three = three_of(engine);

    for (uint32_t i = 0; i < attempt->count; i++) {
        struct member member = { .id = id_of(attempt, i) };
        AUTO_FREE char *path = path_of(three, member.id, "");
        char line[64];
        ret_found[i] = find(three, member.id) != NULL;
        if (ret_found[i] || !read_line(path, line, sizeof(line)) ||
            sscanf(line, "%d %7s", &member.pid, member.node) != 2)
            continue;
        member.told_start = was_started[i];
        list_add(&three->members, member);
        ret_found[i] = true;
    }
}

static void forget(struct engine *engine, const struct engine_attempt *attempt)
{
    struct three *three = three_of(engine);

    for (uint32_t i = 0; i < attempt->count; i++) {
        struct member_id id = id_of(attempt, i);
        AUTO_FREE char *path = path_of(three, id, ""), *end = path_of(three, id, ".end");
        struct member *member = find(three, id);
        unlink(path);
        unlink(end);
        if (member)
            list_remove(&three->members, (size_t)(member - three->members.items));
    }
}

static bool is_asked(const struct three *three, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", three->folder, name);

    return access(path, F_OK) == 0;
}

static void destroy(struct engine *engine)
{
    const struct timespec moment = { .tv_nsec = SLOW_MS * 1000 * 1000 };
    struct three *three = three_of(engine);

    if (is_asked(three, "slow"))
        nanosleep(&moment, NULL);
    uv_timer_stop(&three->timer); /* the daemon closes what is left in its loop */
    list_release(&three->members);
}

/* ---- reports ---- */

static void tell(struct three *three, const struct member *member, enum engine_outcome_kind kind,
                 int status)
{
    struct engine_outcome outcome = { .id = member->id, .kind = kind };

    if (kind == ENGINE_LOST)
        strcpy(outcome.reason, "its node is gone");
    outcome.exit_code = status < 128 ? status : -1;
    outcome.signal = status < 128 ? 0 : status - 128;
    outcome.was_stopped = member->was_stopped;
    three->options.reports.outcome(three->options.reports.user, &outcome);
}

static void look_at_member(struct three *three, struct member *member)
{
    AUTO_FREE char *path = path_of(three, member->id, ".end");
    char line[16];
    bool is_down = three->is_down[member->node[1] - '1'];

    if (!member->told_start)
        tell(three, member, ENGINE_STARTED, 0);
    member->told_start = true;
    waitpid(member->pid, NULL, WNOHANG); /* a child, unless the daemon restarted */
    bool has_ended = read_line(path, line, sizeof(line));
    bool is_killed = member->was_stopped && kill(-member->pid, 0) < 0;
    if (member->told_end || (!has_ended && !is_down && !is_killed))
        return;
    member->told_end = true;
    if (is_down)
        kill(-member->pid, SIGKILL);
    tell(three, member, has_ended || !is_down ? ENGINE_ENDED : ENGINE_LOST,
         has_ended ? atoi(line) : 128 + SIGTERM);
}

static void tell_node(struct three *three, int number)
{
    struct engine_device_note notes[GPUS];
    struct probe_device devices[GPUS] = { 0 };
    char name[8];

    snprintf(name, sizeof(name), "n%d", number + 1);
    for (int i = 0; i < GPUS; i++) {
        devices[i] = (struct probe_device){ .model = "h100",
                                            .memory_mib = 81920,
                                            .numa_node = PROBE_UNKNOWN };
        snprintf(devices[i].uuid, sizeof(devices[i].uuid), "GPU-%s-%d", name, i);
        notes[i] = (struct engine_device_note){ number == 2 && i == 3 ? "last" : "", "" };
    }
    struct engine_node node = { .name = name,
                                .rack = number < 2 ? "r1" : "r2",
                                .reason = "taken away",
                                .cpu_milli = 16000,
                                .memory_mib = 65536,
                                .is_down = three->is_down[number],
                                .devices = devices,
                                .notes = notes,
                                .device_count = GPUS };
    three->options.reports.node(three->options.reports.user, &node,
                                !three->is_told && number == NODES - 1);
}

static void tell_readings(struct three *three)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    for (int i = 0; i < NODES * GPUS; i++) {
        struct reading reading = { .at = now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000 };
        char uuid[32];
        snprintf(uuid, sizeof(uuid), "GPU-n%d-%d", i / GPUS + 1, i % GPUS);
        reading_set(&reading, READING_GPU_USE, READING_RATIO_ONE / 100 * (10 + i));
        reading_set(&reading, READING_MEMORY_USED, INT64_C(1) << 30);
        if (!three->is_down[i / GPUS])
            three->options.reports.reading(
                three->options.reports.user,
                &(struct engine_reading){ .uuid = uuid, .reading = &reading });
    }
}

static void on_look(uv_timer_t *timer)
{
    struct three *three = timer->data;

    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d.down", i + 1);
        bool is_down = is_asked(three, name), is_news = is_down != three->is_down[i];
        three->is_down[i] = is_down;
        if (is_news || !three->is_told)
            tell_node(three, i);
    }
    three->is_told = true;
    for (size_t i = 0; i < three->members.count; i++)
        look_at_member(three, &three->members.items[i]);
    if (three->looks++ % READ_LOOKS == 0)
        tell_readings(three);
}

static int create(const struct engine_options *options, struct engine **ret, struct error *err)
{
    static const struct engine_ops ops = { .name = "three",
                                           .start = start,
                                           .stop = stop,
                                           .recover = recover,
                                           .forget = forget,
                                           .destroy = destroy };
    static struct three only;
    struct three *three = &only;

    three->engine = (struct engine){ &ops,
                                     { .has_exact_devices = true,
                                       .has_output = true,
                                       .has_own_nodes = true,
                                       .has_readings = true } };
    three->options = *options;
    snprintf(three->folder, sizeof(three->folder), "%s/three", options->state_dir);
    if (mkdir(three->folder, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "%s: %s", three->folder, strerror(errno));
    three->timer.data = three;
    uv_timer_init(options->loop, &three->timer);
    uv_timer_start(&three->timer, on_look, 0, LOOK_MS);
    if (is_asked(three, "term"))
        raise(SIGTERM);
    *ret = &three->engine;
    return 0;
}

extern const struct engine_module tarn_engine_module;
const struct engine_module tarn_engine_module = { ENGINE_MODULE_VERSION, create };
