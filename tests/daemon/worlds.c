/* SPDX-License-Identifier: Apache-2.0 */
/* worlds - plays random worlds (world.h), and says which breaks what
 *
 * Usage: worlds [--seeds A..B] [--first] [--verbose]
 * A world that breaks an invariant is told with its seed, and leaves the log of its daemons; after
 * five of them, or the first, it is enough.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "world.h"

enum { STEPS_LEAST = 60, STEPS_MORE = 120, TURNS = 8, LIVES_MAX = 40 };

static struct world *shared;
static bool is_leaving;

/* ---- what all parts use ---- */

void world_break(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(world->broken, sizeof(world->broken), format, args);
    va_end(args);
    _exit(WORLD_BROKEN);
}

void world_moment(void)
{
    if (world->die_in > 0 && --world->die_in == 0)
        _exit(WORLD_AGAIN);
}

uint32_t world_below(uint32_t count)
{
    return (uint32_t)dice_below(&world->dice, count);
}

bool world_chance(uint32_t percent)
{
    return world_below(100) < percent;
}

void world_say(const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    fprintf(stderr, "step %u: %s\n", world->step, line);
    if (!stub_say(line))
        world_break("the driver does not understand: %s", line);
}

bool world_hangs(void)
{
    bool hangs = false;

    for (uint32_t i = 0; i < WORLD_GPUS; i++)
        hangs |= stub_is_hanging(i);
    return hangs;
}

/* ---- the daemon's parts, as they are made ---- */

int __real_watcher_create(const struct watcher_options *options, struct watcher **ret,
                          struct error *err);
int __wrap_watcher_create(const struct watcher_options *options, struct watcher **ret,
                          struct error *err);
int __wrap_watcher_create(const struct watcher_options *options, struct watcher **ret,
                          struct error *err)
{
    int code = __real_watcher_create(options, ret, err);

    house.watcher = *ret;
    house.looked = world->since_boot;
    return code;
}

/* ---- the loop is the world's ---- */

int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);

static void turn(uv_loop_t *loop)
{
    for (int i = 0; i < TURNS; i++) {
        world_moment();
        __real_uv_run(loop, UV_RUN_NOWAIT);
        world_work();
    }
}

/* A daemon ends in good order, is killed in the middle of something, or the machine restarts. */
static void maybe_end(void)
{
    if (world->lives >= LIVES_MAX || world->step + 5 > world->steps)
        return;
    if (world_chance(1))
        is_leaving = true;
    else if (world->die_in == 0 && world_chance(2))
        world->die_in = 1 + world_below(60);
    else if (world_chance(1) && world_chance(40)) {
        world->wants_reboot = true;
        world->die_in = 1 + world_below(20);
    }
}

/* A daemon that begins, or ends, waits for its devices. */
static void answer_again(void)
{
    for (uint32_t i = 0; i < WORLD_GPUS; i++)
        stub.gpus[i].hang_until = 0;
}

int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    while (mode == UV_RUN_DEFAULT && house.api && world->step < world->steps && !is_leaving) {
        world->step++;
        world->since_boot += USEC_PER_SEC;
        world->wall += USEC_PER_SEC;
        world_play();
        turn(loop);
        world_engine_step();
        turn(loop);
        world_check();
        maybe_end();
    }
    if (mode != UV_RUN_DEFAULT || !house.api) {
        world_work();
        return __real_uv_run(loop, mode);
    }
    house.api = NULL; /* from here on it ends */
    is_leaving = true;
    answer_again();
    return 0;
}

/* ---- a world, life by life ---- */

static int live(const char *folder)
{
    AUTO_FREE char *log = mem_printf("%s/log", folder);
    struct error err = { "" };

    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDERR_FILENO);
    close(fd);
    setvbuf(stderr, NULL, _IOLBF, 0);
    house.stub = &stub;
    world->daemon = getpid();
    world->is_working = false;
    world->lives++;
    for (uint32_t i = 0; i < WORLD_GPUS; i++)
        world->gpus[i].is_unfound = world->gpus[i].lost > 0;
    fprintf(stderr, "--- life %u, step %u\n", world->lives, world->step);
    world_disk_start();
    if (house_run(folder, "nvml", &err) < 0)
        world_break("the daemon does not start: %s", err.text);
    return world->step < world->steps ? WORLD_AGAIN : WORLD_OVER;
}

static void name_boot(void)
{
    snprintf(shared->boot, sizeof(shared->boot), "boot-%u", shared->reboots);
}

/* The machine was off for a minute. */
static void reboot(void)
{
    shared->reboots++;
    shared->is_rebooted = true;
    shared->wants_reboot = false;
    shared->since_boot = 100 * USEC_PER_SEC;
    shared->wall += 60 * USEC_PER_SEC;
    name_boot();
    stub_restart(dice_below(&shared->dice, 2) == 0);
    for (uint32_t i = 0; i < WORLD_GPUS; i++)
        shared->gpus[i] = (struct world_gpu){ .well = shared->since_boot };
    for (uint32_t i = 0; i < WORLD_MEMBERS; i++) {
        struct world_member *member = &shared->members[i];
        if (member->phase != MEMBER_STARTS && member->phase != MEMBER_RUNS)
            continue;
        member->phase = MEMBER_IS_OVER;
        member->is_lost = true;
    }
}

static bool write_script(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return false;
    fprintf(file, "driver 550.54\n");
    for (uint32_t i = 0; i < WORLD_GPUS; i++)
        fprintf(file,
                "gpu %u name \"NVIDIA H100 80GB HBM3\" uuid GPU-%u memory 81559 "
                "pci 00000000:%02x:00.0 mig %d energy 1000 power 200000 temp 50 slowdown 90 "
                "ecc_corrected 0 ecc_uncorrected 0 used 500\n",
                i, i, 0x17 + i, (int)(dice_below(&shared->dice, 100) < 40));
    return fclose(file) == 0;
}

/* NULL: all held. Else what did not. */
static const char *play_world(uint64_t seed, const char *folder)
{
    AUTO_FREE char *script = mem_printf("%s/script", folder);
    int status = 0, code = WORLD_AGAIN;

    *shared = (struct world){ .seed = seed,
                              .dice = dice_of(seed),
                              .since_boot = 1000 * USEC_PER_SEC,
                              .wall = INT64_C(1700000000) * USEC_PER_SEC,
                              .next_pid = 1000 };
    for (uint32_t i = 0; i < WORLD_GPUS; i++)
        shared->gpus[i].well = shared->since_boot;
    shared->steps = STEPS_LEAST + (uint32_t)dice_below(&shared->dice, STEPS_MORE);
    world = shared;
    name_boot();
    if (!write_script(script) || setenv("TARN_NVML_SCRIPT", script, 1) < 0 || !stub_share())
        return "the driver can't be set up";
    while (code == WORLD_AGAIN) {
        pid_t child = fork();
        if (child == 0)
            _exit(live(folder));
        if (child < 0 || waitpid(child, &status, 0) != child)
            return strerror(errno);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        shared->is_rebooted = false;
        shared->die_in = 0;
        answer_again();
        shared->restarts += code == WORLD_AGAIN;
        if (shared->wants_reboot && code == WORLD_AGAIN)
            reboot();
    }
    if (WIFSIGNALED(status))
        snprintf(shared->broken, sizeof(shared->broken), "the daemon died of signal %d",
                 WTERMSIG(status));
    else if (code != WORLD_OVER && !shared->broken[0])
        snprintf(shared->broken, sizeof(shared->broken), "the daemon ended with %d", code);
    return code == WORLD_OVER ? NULL : shared->broken;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, last = 100, most = 5, broken = 0, steps = 0, started = 0, faults = 0,
             lives = 0, returned = 0;
    bool is_verbose = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            is_verbose = true;
        else if (strcmp(argv[i], "--first") == 0)
            most = 1;
        else if (strcmp(argv[i], "--seeds") != 0 || i + 1 == argc ||
                 !house_seeds(argv[++i], &first, &last)) {
            fprintf(stderr, "usage: worlds [--seeds A..B] [--first] [--verbose]\n");
            return 2;
        }
    }
    setenv("TARN_NVML_LIBRARY", TARN_TEST_NVML, 1);
    setenv("TARN_MPS_CONTROL", "/nowhere", 1);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (uint64_t seed = first; seed <= last && broken < most; seed++) {
        AUTO_FREE char *folder = house_folder("world", seed);
        const char *wrong = play_world(seed, folder);
        world = NULL; /* its disk is not that of the next one */
        broken += wrong != NULL;
        steps += shared->step;
        started += shared->started;
        faults += shared->faults;
        returned += shared->returned;
        lives += shared->lives;
        if (wrong)
            printf("seed %" PRIu64 ", step %u: %s\n    its log: %s/log\n", seed, shared->step,
                   wrong, folder);
        else
            house_forget(folder);
        if (is_verbose && !wrong)
            printf("seed %" PRIu64 ": %u steps, %u jobs, %u starts, %u faults, %u lives\n", seed,
                   shared->step, shared->job_count, shared->started, shared->faults, shared->lives);
        fflush(stdout);
    }
    printf("%" PRIu64 " worlds, %" PRIu64 " steps, %" PRIu64 " starts, %" PRIu64
           " given back, %" PRIu64 " faults, %" PRIu64 " daemons: %" PRIu64 " broken\n",
           last - first + 1, steps, started, returned, faults, lives, broken);
    return broken > 0;
}
