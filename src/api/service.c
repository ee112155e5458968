/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/daemon, POST /v1/stop */
#include <unistd.h>

#include "api/routes.h"
#include "api/view/view.h"
#include "io/peer.h"

json_t *handle_daemon(struct call *call)
{
    const struct api *api = call->api;
    const struct api_planner *planner = &api->ports.planner;
    const struct api_daemon *daemon = &api->ports.daemon;
    char owner[IDENTITY_NAME_SIZE];

    peer_name(api_control(api)->owner, owner);
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:i, s:o}", "version",
                     TARN_VERSION, "pid", (int)getpid(), "state_dir", daemon->state_dir, "socket",
                     daemon->socket, "user", owner, "engine", daemon->engine, "devices",
                     daemon->devices, "disk_full", planner->trouble(planner->user) != NULL,
                     "machine_wide", daemon->is_machine_wide, "started",
                     view_time(api, daemon->started), "api", 1, "isolation",
                     view_isolation(&api->ports.attempts.isolation));
}

json_t *handle_stop(struct call *call)
{
    const struct api_daemon *daemon = &call->api->ports.daemon;

    bool kill_jobs = query_is_on(call->request, "kill");
    reply_json(call->request, 202, json_pack("{s:b}", "stopping", 1));
    daemon->stop(daemon->user, kill_jobs);
    return NULL;
}
