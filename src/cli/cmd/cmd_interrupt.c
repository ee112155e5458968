/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/session.h"

enum { INTERRUPT_IN, INTERRUPT_CANCEL };

const struct option_entry options_interrupt[] = {
    [INTERRUPT_IN] = { "in", 0, "TIME", "time until the node is taken away: 30s; default 120s" },
    [INTERRUPT_CANCEL] = { "cancel", 0, NULL, "withdraw the announcement" },
    { 0 },
};

static int interrupt(const char *node, const struct options *options)
{
    AUTO_FREE char *path = mem_printf("/v1/nodes/%s/interrupt", node);
    AUTO(json) json_t *body = json_object(), *reply = NULL;
    char clock[CLOCK_SIZE];

    if (options->values[INTERRUPT_IN])
        json_object_set_new(body, "in", json_string(options->values[INTERRUPT_IN]));
    if (options->values[INTERRUPT_CANCEL])
        json_object_set_new(body, "cancel", json_true());
    if (session_ask("POST", path, body, &reply) != 0)
        return 1;
    if (options->is_json)
        reply_print(reply);
    else if (options->is_quiet)
        printf("%s\n", node);
    else if (field_time(reply, "going_at") > 0)
        printf("node %s goes at %s · nothing new is placed there\n", node,
               clock_format(clock, field_time(reply, "going_at")));
    else
        printf("node %s stays\n", node);
    return 0;
}

int run_interrupt(int argc, char **argv)
{
    struct options options;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count != 1)
        return usage_wrong("interrupt", "expected the name of one node; tarn nodes lists them");
    if (options.values[INTERRUPT_IN] && options.values[INTERRUPT_CANCEL])
        return usage_wrong("interrupt", "--in and --cancel: expected one of them");
    return interrupt(options.words[0], &options);
}
