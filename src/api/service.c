/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/daemon, /v1/openapi.json; POST /v1/stop */
#include <unistd.h>

#include "api/contract/openapi.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"
#include "io/net/peer.h"
#include "io/net/tls.h"
#include "wire/json.h"

/* Null: the API is not served over TCP. */
static json_t *view_door(const struct api_door *door)
{
    char fingerprint[TLS_FINGERPRINT_SIZE];

    if (!door->address)
        return json_null();
    if (door->is_tls)
        tls_fingerprint(fingerprint);
    return json_pack("{s:s, s:b, s:o}", "address", door->address, "tls", door->is_tls,
                     "fingerprint", door->is_tls ? json_string(fingerprint) : json_null());
}

json_t *handle_daemon(struct call *call)
{
    const struct api *api = call->api;
    const struct api_planner *planner = &api->ports.planner;
    const struct api_daemon *daemon = &api->ports.daemon;
    char owner[IDENTITY_NAME_SIZE];

    peer_name(api_control(api)->owner, owner, NULL);
    return json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:o, s:i, s:o, s:o}", "version",
        TARN_VERSION, "pid", (int)getpid(), "state_dir", daemon->state_dir, "socket",
        daemon->socket, "user", owner, "engine", daemon->engine, "devices", daemon->devices,
        "disk_full", planner->trouble(planner->user) != NULL, "machine_wide",
        daemon->is_machine_wide, "started", view_time(api, daemon->started), "api", 1, "isolation",
        view_isolation(&api->ports.attempts.isolation), "listen", view_door(&api->ports.door));
}

json_t *handle_whoami(struct call *call)
{
    const struct identity *who = call->request->who;

    return json_pack("{s:s, s:b, s:s, s:s, s:o, s:o}", "user", who->name, "administrator",
                     who->is_admin, "scope", identity_scope_name(who->scope), "by",
                     identity_source_name(who->source), "queues", json_names(who->queues), "token",
                     number_or_null((int64_t)who->token));
}

json_t *handle_stop(struct call *call)
{
    const struct api_daemon *daemon = &call->api->ports.daemon;

    bool kill_jobs = query_is_on(call, "kill");
    reply_json(call->request, call->operation->status, json_pack("{s:b}", "stopping", 1));
    daemon->stop(daemon->user, kill_jobs);
    return NULL;
}

json_t *handle_openapi(struct call *call)
{
    struct api *api = call->api;

    if (!api->openapi) {
        AUTO(json) json_t *document = openapi_document(TARN_VERSION);
        api->openapi = json_dumps(document, JSON_COMPACT);
    }
    reply_tagged(call->request, mem_string(api->openapi));
    return NULL;
}
