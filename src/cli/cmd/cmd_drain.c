/* SPDX-License-Identifier: Apache-2.0 */
/* drain, undrain: a node or a GPU gets no new jobs, or may get them again; interrupt: a node goes
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { DRAIN_REASON };
enum { INTERRUPT_IN, INTERRUPT_CANCEL };

const struct option_entry options_drain[] = {
    [DRAIN_REASON] = { "reason", 0, "TEXT", "shown to all users; default \"by NAME\"" },
    { 0 },
};

const struct option_entry options_interrupt[] = {
    [INTERRUPT_IN] = { "in", 0, "TIME", "time until the node is taken away: 30s; default 120s" },
    [INTERRUPT_CANCEL] = { "cancel", 0, NULL, "withdraw the announcement" },
    { 0 },
};

static bool is_among(const json_t *nodes, const char *name)
{
    const json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        if (strcmp(field_text(node, "name"), name) == 0)
            return true;
    }
    return false;
}

/* What is no node is a GPU: its UUID, its index, or NODE/INDEX. */
static int find_path(struct session *session, const char *name, const char *verb, char **ret,
                     struct error *err)
{
    AUTO(json) json_t *nodes = NULL;

    int code = session_get(session, "/v1/nodes", &nodes, err);
    if (code == 0)
        *ret = mem_printf("/v1/%s/%s/%s",
                          is_among(json_object_get(nodes, "nodes"), name) ? "nodes" : "gpus", name,
                          verb);
    return code;
}

static void print(const json_t *reply)
{
    bool is_gpu = field_text(reply, "gpu")[0] != '\0', is_drained = field_is_true(reply, "drained");
    int64_t jobs = field_number(reply, "jobs");

    printf("%s %s ", is_gpu ? "gpu" : "node", field_text(reply, is_gpu ? "gpu" : "node"));
    if (!is_drained)
        printf("is no longer drained\n");
    else if (jobs == 0)
        printf("is drained · no job runs there\n");
    else
        printf("is drained · %lld running job%s continue%s\n", (long long)jobs,
               jobs == 1 ? "" : "s", jobs == 1 ? "s" : "");
}

static int drain(const struct options *options, const char *reason)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *body = reason ? json_pack("{s:s}", "reason", reason) : NULL;
    AUTO(json) json_t *reply = NULL;
    AUTO_FREE char *path = NULL;
    struct error err;

    if (options->word_count != 1)
        return usage_wrong(options->verb,
                           "expected one node or GPU; tarn nodes and tarn gpus list them");
    int code = session_open(&session, &err);
    if (code == 0)
        code = find_path(&session, options->words[0], options->verb, &path, &err);
    if (code == 0)
        code = session_send(&session, "POST", path, body, &reply, &err);
    if (code < 0)
        return complain(&err);
    if (!reply_is_shown(reply, options->words[0], options))
        print(reply);
    return 0;
}

int run_drain(const struct options *options)
{
    return drain(options, options->values[DRAIN_REASON]);
}

int run_undrain(const struct options *options)
{
    return drain(options, NULL);
}

/* ---- interrupt ---- */

int run_interrupt(const struct options *options)
{
    AUTO(json) json_t *body = json_object(), *reply = NULL;
    char clock[CLOCK_SIZE];

    if (options->word_count != 1)
        return usage_wrong("interrupt", "expected the name of one node; tarn nodes lists them");
    if (options->values[INTERRUPT_IN] && options->values[INTERRUPT_CANCEL])
        return usage_wrong("interrupt", "--in and --cancel: expected one of them");
    const char *node = options->words[0];
    AUTO_FREE char *path = mem_printf("/v1/nodes/%s/interrupt", node);
    if (options->values[INTERRUPT_IN])
        json_object_set_new(body, "in", json_string(options->values[INTERRUPT_IN]));
    if (options->values[INTERRUPT_CANCEL])
        json_object_set_new(body, "cancel", json_true());
    if (session_ask("POST", path, body, &reply) != 0)
        return 1;
    if (reply_is_shown(reply, node, options))
        return 0;
    if (field_time(reply, "going_at") > 0)
        printf("node %s is taken away at %s · no new jobs start there\n", node,
               clock_format(clock, field_time(reply, "going_at")));
    else
        printf("node %s: the announcement is withdrawn\n", node);
    return 0;
}
