/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include <stdlib.h>

#include "api/streams.h"
#include "base/mem.h"

struct api *api_create(const struct api_ports *ports, uv_loop_t *loop)
{
    struct api *api = mem_zero(1, sizeof(*api));

    api->ports = *ports;
    api->loop = loop;
    api->inquiry = inquiry_create();
    return api;
}

void api_destroy(struct api *api)
{
    if (!api)
        return;
    followers_release(api);
    inquiry_destroy(api->inquiry);
    free(api);
}

void api_changed(struct api *api, const uint64_t *jobs, size_t count)
{
    followers_notify(api, jobs, count);
}
