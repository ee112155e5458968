/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/start_config.h"

#include <unistd.h>

#include "base/identity.h"
#include "control/config/apply.h"
#include "control/config/configure.h"
#include "daemon/hub.h"
#include "io/file.h"
#include "io/log.h"
#include "io/net/peer.h"
#include "wire/json.h"
#include "wire/yaml.h"

struct start_config {
    struct change change;
    const struct control *control;
    struct apply apply;
    struct error err;
    int code;
    bool is_done;
};

static int run(struct change *change, struct error *err)
{
    struct start_config *start = CONTAINER_OF(change, struct start_config, change);

    return apply_run(start->control, &start->apply, err);
}

static void done(struct change *change, int code, const struct error *err)
{
    struct start_config *start = CONTAINER_OF(change, struct start_config, change);

    start->is_done = true;
    start->code = code;
    if (code < 0)
        start->err = *err;
}

int start_config_read(struct hub *hub, const char *path, struct config **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;

    int code = file_read(path, YAML_SIZE_MAX, &text, err);
    if (code == 0)
        code = yaml_parse(text_string(&text), text.length, path, &document, &lines, err);
    if (code == 0)
        code = config_parse(document, lines, path, ret, err);
    if (code == 0)
        code = configure_settle(*ret, err);
    return code < 0 ? code : configure_find_programs(hub_state(hub), *ret, err);
}

int start_config_apply(struct hub *hub, uv_loop_t *loop, const struct control *control,
                       const char *path, struct config *config, struct error *err)
{
    struct identity who = IDENTITY_NONE;
    char name[IDENTITY_NAME_SIZE];
    struct start_config start = { .change = { .run = run, .done = done },
                                  .control = control,
                                  .apply = { .who = &who, .config = config } };

    peer_name(geteuid(), name, NULL);
    identity_set(&who, IDENTITY_PEER, name, geteuid(), getegid(), geteuid());
    hub_enqueue(hub, &start.change);
    while (!start.is_done)
        uv_run(loop, UV_RUN_ONCE);
    int code = start.code < 0 ? error_set(err, start.code, "%s: %s", path, start.err.text) : 0;
    if (code == 0 && start.apply.number > 0)
        log_line(LOG_NOTICE, "configuration of a file applied file=%s change=%llu", path,
                 (unsigned long long)start.apply.number);
    apply_release(&start.apply);
    identity_release(&who);
    return code;
}
