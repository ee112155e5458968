/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon in a folder of its own, and its parts as they are made. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/daemon.h"
#include "engine/local/local.h"
#include "world.h"

struct world *world;
struct world_house house;

int __real_hub_create(const struct hub_options *options, struct hub **ret, struct error *err);
int __wrap_hub_create(const struct hub_options *options, struct hub **ret, struct error *err);
int __wrap_hub_create(const struct hub_options *options, struct hub **ret, struct error *err)
{
    int code = __real_hub_create(options, ret, err);

    house.hub = *ret;
    house.loop = options->loop;
    return code;
}

struct api *__real_api_create(const struct api_ports *ports, uv_loop_t *loop);
struct api *__wrap_api_create(const struct api_ports *ports, uv_loop_t *loop);
struct api *__wrap_api_create(const struct api_ports *ports, uv_loop_t *loop)
{
    house.ports = ports;
    house.api = __real_api_create(ports, loop);
    return house.api;
}

/* ---- the engine ---- */

static struct member_id member_at(const struct engine_attempt *attempt, uint32_t i)
{
    return (struct member_id){ attempt->job, attempt->attempt, attempt->ranks[i] };
}

static int engine_start(struct engine *engine, const struct engine_launch *members, uint32_t count,
                        struct error *err)
{
    (void)engine;
    (void)err;
    for (uint32_t i = 0; i < count; i++)
        world_engine.start(&members[i]);
    return 0;
}

static void engine_stop(struct engine *engine, const struct engine_attempt *attempt, usec_t grace)
{
    (void)engine;
    for (uint32_t i = 0; i < attempt->count; i++)
        world_engine.stop(member_at(attempt, i), grace);
}

static void engine_recover(struct engine *engine, const struct engine_attempt *attempt,
                           const bool *was_started, bool *ret_found)
{
    (void)engine;
    for (uint32_t i = 0; i < attempt->count; i++)
        ret_found[i] =
            world_engine.recover && world_engine.recover(member_at(attempt, i), was_started[i]);
}

static void engine_forget(struct engine *engine, const struct engine_attempt *attempt)
{
    (void)engine;
    for (uint32_t i = 0; i < attempt->count; i++)
        world_engine.forget(member_at(attempt, i));
}

static void engine_destroy(struct engine *engine)
{
    (void)engine;
}

int local_engine_create(const struct local_engine_options *options, struct engine **ret,
                        struct error *err)
{
    static struct engine_ops ops;
    static struct engine engine;

    (void)err;
    ops = (struct engine_ops){ .name = "played",
                               .start = engine_start,
                               .stop = engine_stop,
                               .recover = engine_recover,
                               .forget = engine_forget,
                               .owner = world_engine.owner,
                               .destroy = engine_destroy };
    engine = (struct engine){ .ops = &ops,
                              .abilities = { .has_exact_devices = true,
                                             .has_fractions = true,
                                             .has_output = true,
                                             .has_own_nodes = world_engine.has_own_nodes } };
    house.reports = options->engine.reports;
    *ret = &engine;
    return 0;
}

/* ---- a daemon and its folder ---- */

int house_run(const char *folder, const char *devices, struct error *err)
{
    AUTO_FREE char *state = mem_printf("%s/state", folder);
    AUTO_FREE char *socket = mem_printf("%s/socket", folder);
    struct daemon_options options = { .state_dir = state,
                                      .socket = socket,
                                      .devices = devices,
                                      .engine = "local",
                                      .shim = "/bin/true",
                                      .grace = 10 * USEC_PER_SEC,
                                      .study_limit = USEC_PER_SEC,
                                      .notify_fd = -1 };

    mkdir(state, 0700);
    return daemon_run(&options, err);
}

char *house_folder(const char *kind, uint64_t seed)
{
    char *folder =
        mem_printf("%s/tarn-%s-%d-%" PRIu64, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
                   kind, (int)getpid(), seed);

    mkdir(folder, 0700);
    return folder;
}

bool house_seeds(const char *word, uint64_t *ret_first, uint64_t *ret_last)
{
    return sscanf(word, "%" SCNu64 "..%" SCNu64, ret_first, ret_last) == 2 &&
           *ret_first <= *ret_last;
}

void house_forget(const char *folder)
{
    AUTO_FREE char *command = mem_printf("rm -rf '%s'", folder);

    if (system(command) != 0)
        fprintf(stderr, "%s is left\n", folder);
}
