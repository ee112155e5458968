/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/each.h"
#include "cli/fields.h"
#include "cli/screen.h"

const struct option_entry options_why[] = { { 0 } };

/* "job 7 waits for gpus", by the kind of src/core/job/why.def. */
static void add_headline(const json_t *why, struct text *text)
{
    static const struct {
        const char *kind, *words;
    } headlines[] = {
        { "held", "is held back" },
        { "needs", "waits for another job" },
        { "begin", "waits for its begin time" },
        { "new", "has just come and has not been looked at yet" },
        { "gpus", "waits for gpus" },
        { "cpus", "waits for cpus" },
        { "memory", "waits for memory" },
        { "quota", "waits for quota" },
        { "pool_max", "waits for room in its pool" },
        { "pool_min", "waits: what is free is kept for another pool" },
        { "array", "waits for other tasks of its array" },
        { "reserved", "waits behind a reservation" },
        { "turn", "waits for its turn in its queue" },
        { "behind", "waits for its turn" },
    };
    const char *kind = field_text(why, "kind"), *state = field_text(why, "state");

    if (strcmp(kind, "group") == 0) {
        text_add(text, field_text(why, "text"));
        return;
    }
    text_printf(text, "job %s ", field_text(why, "label"));
    for (size_t i = 0; i < COUNT_OF(headlines); i++) {
        if (strcmp(headlines[i].kind, kind) == 0) {
            text_add(text, headlines[i].words);
            return;
        }
    }
    if (string_starts(kind, "never"))
        text_printf(text, "can never run: %s", field_text(why, "meaning"));
    else if (strcmp(kind, "none") != 0 && kind[0])
        text_printf(text, "waits: %s", field_text(why, "meaning"));
    else if (strcmp(state, "ended") == 0)
        text_printf(text, "has ended; tarn show %s says how", field_text(why, "label"));
    else
        text_printf(text, "is %s: nothing keeps it", state);
}

static void print_why(const json_t *why)
{
    const json_t *lines = json_object_get(why, "lines"), *line;
    bool is_kept = strcmp(field_text(why, "kind"), "none") != 0;
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t i;

    add_headline(why, &text);
    text_add_char(&text, '\n');
    json_array_foreach(is_kept ? lines : NULL, i, line)
        text_printf(&text, "  %s\n", json_string_value(line) ? json_string_value(line) : "");
    if (is_kept && json_array_size(lines) == 0 && strcmp(field_text(why, "kind"), "group") != 0)
        text_printf(&text, "  %s\n", field_text(why, "text"));
    screen_put(stdout, text.bytes);
}

static int why_one(struct session *session, const char *id, const struct options *options)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/why", id);
    json_t *why = NULL;
    struct error err;

    if (session_get(session, path, &why, &err) < 0)
        return complain(&err);
    if (options->is_json)
        reply_print(why);
    else if (options->is_quiet)
        printf("%s\n", field_text(why, "kind"));
    else
        print_why(why);
    json_decref(why);
    return 0;
}

static int why_each(const struct each *each)
{
    return why_one(each->session, each->id, each->options);
}

int run_why(int argc, char **argv)
{
    return each_id(argc, argv, why_each);
}
