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

int local_engine_create(const struct local_engine_options *options, struct engine **ret,
                        struct error *err)
{
    static struct engine engine;

    (void)err;
    engine = (struct engine){ .ops = &world_engine_ops, .abilities = world_engine_abilities };
    house.reports = options->engine.reports;
    *ret = &engine;
    return 0;
}

void world_engine_destroy(struct engine *engine)
{
    (void)engine;
}

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

void house_forget(const char *folder)
{
    AUTO_FREE char *command = mem_printf("rm -rf '%s'", folder);

    if (system(command) != 0)
        fprintf(stderr, "%s is left\n", folder);
}
