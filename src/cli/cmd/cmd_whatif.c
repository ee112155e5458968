/* SPDX-License-Identifier: Apache-2.0 */
/* whatif: expected starts under a hypothetical change; changes nothing */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/outlook_view.h"
#include "cli/screen.h"
#include "cli/send.h"
#include "wire/whatif_request.h"

enum { ADD_NODES, DRAIN, REMOVE, SUBMIT, CANCEL, SET, CONFIG_FILE, COUNT };

const struct option_entry options_whatif[] = {
    [ADD_NODES] = { "add-nodes", 0, "N:MODEL:GPUS[:spot]", "add N nodes: 2:h100:8" },
    [DRAIN] = { "drain", 0, "NODE", "drain a node" },
    [REMOVE] = { "remove", 0, "NODE", "remove a node; its running jobs are lost" },
    [SUBMIT] = { "submit", 0, "FILE", "submit this job file or script" },
    [CANCEL] = { "cancel", 0, "ID", "cancel this job, array or pipeline" },
    [SET] = { "set", 0, "KEY=VALUE", "change a key of the configuration: order=fifo" },
    [CONFIG_FILE] = { "file", 'f', "FILE", "use this configuration" },
    [COUNT] = { "count", 'n', "N", "show at most N jobs" },
    { 0 },
};

static void add(json_t *body, const char *key, json_t *value)
{
    json_t *list = json_object_get(body, key);

    if (!list) {
        list = json_array();
        json_object_set_new(body, key, list);
    }
    json_array_append_new(list, value);
}

/* As tarn submit reads it. */
static int add_job(json_t *body, const char *path, struct error *err)
{
    const char *dot = strrchr(path, '.');
    bool is_file = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    char *words[] = { "submit", is_file ? "-f" : (char *)(uintptr_t)path,
                      is_file ? (char *)(uintptr_t)path : NULL, NULL };
    struct sending sending;

    int code = sending_read(&sending, is_file ? 3 : 2, words, err);
    if (code == 0)
        add(body, "submit", json_incref(sending.document));
    sending_release(&sending);
    return code;
}

static int make_body(const struct options *options, json_t *body, struct error *err)
{
    static const char *const keys[] = {
        [ADD_NODES] = "add_nodes", [DRAIN] = "drain", [REMOVE] = "remove",
        [CANCEL] = "cancel",       [SET] = "set",     [COUNT] = NULL,
    };
    json_t *config = NULL;
    int code = 0;

    for (size_t i = 0; i < options->given_count && code == 0; i++) {
        const struct option_given *given = &options->given[i];
        if (given->place == SUBMIT)
            code = add_job(body, given->value, err);
        else if (given->place == CONFIG_FILE)
            code = config_file_read(given->value, &config, err);
        else if (keys[given->place])
            add(body, keys[given->place], json_string(given->value));
        if (config)
            json_object_set_new(body, "config", TAKE(config));
    }
    return code;
}

static void print(const json_t *reply, const struct options *options, size_t count)
{
    int64_t jobs = field_number(reply, "job_count");

    if (options->is_json) {
        reply_print(reply);
        return;
    }
    if (!field_is_null(reply, "note"))
        say("%s", field_text(reply, "note"));
    if (jobs == 0) {
        talk("no job waits, now or under the change");
        return;
    }
    size_t shown = outlook_print_jobs(reply, count > 0 ? count : outlook_rows(reply), false);
    printf("\n");
    outlook_print_queues(reply);
    talk("%" PRId64 " job%s: %" PRId64 " start sooner, %" PRId64 " later%s", jobs,
         jobs == 1 ? "" : "s", field_number(reply, "sooner"), field_number(reply, "later"),
         (int64_t)shown < jobs ? "; -n N shows more of them" : "");
}

static int read_count(const struct options *options, size_t *ret)
{
    const char *text = options->values[COUNT];
    char *end;

    if (!text)
        return 0;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value < 1 || value > WHATIF_SHOWN_MAX)
        return usage_wrong("whatif", "--count '%s': expected 1 to %d", text, WHATIF_SHOWN_MAX);
    *ret = value;
    return 0;
}

int run_whatif(const struct options *options)
{
    AUTO(json) json_t *body = json_object(), *reply = NULL;
    struct error err;
    size_t count = 0;

    if (options->word_count > 0)
        return usage_wrong("whatif", "'%s': expected options that say what is otherwise",
                           options->words[0]);
    int status = read_count(options, &count);
    if (status != 0)
        return status;
    if (options->given_count == (options->values[COUNT] ? 1U : 0U))
        return usage_wrong("whatif", "expected what is otherwise, like --add-nodes 2:h100:8");
    if (make_body(options, body, &err) < 0)
        return complain(&err);
    if (count > 0)
        json_object_set_new(body, "shown", json_integer((json_int_t)count));
    if (session_ask("POST", "/v1/whatif", body, &reply) != 0)
        return 1;
    print(reply, options, count);
    return 0;
}
