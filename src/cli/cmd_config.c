/* SPDX-License-Identifier: Apache-2.0 */
/* apply, diff, config: pools and queues */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "io/file.h"
#include "wire/config.h"

enum { APPLY_FILE, APPLY_DRY_RUN, APPLY_YES };

const struct option_entry options_apply[] = {
    [APPLY_FILE] = { "file", 'f', "FILE", "the configuration, in YAML; - is standard input" },
    [APPLY_DRY_RUN] = { "dry-run", 0, NULL, "only say what would change" },
    [APPLY_YES] = { "yes", 'y', NULL, "do not ask" },
    { 0 },
};
const struct option_entry options_diff[] = { { 0 } };
const struct option_entry options_config[] = { { 0 } };

/* The file as a checked document; new. */
static int read_config(const char *path, json_t **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(config) struct config *config = NULL;
    json_t *document = NULL;

    int code = file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, YAML_SIZE_MAX, &text, err);
    if (code == 0)
        code = yaml_parse(text_string(&text), text.length, path, &document, &lines, err);
    if (code == 0)
        code = config_parse(document, lines, path, &config, err);
    json_decref(document);
    if (code < 0)
        return code;
    *ret = config_to_json(config);
    return 0;
}

static int put(struct session *session, const json_t *document, bool is_dry, json_t **ret,
               struct error *err)
{
    char *bytes = json_dumps(document, JSON_COMPACT);
    const struct client_request request = {
        .method = "PUT",
        .path = is_dry ? "/v1/config?dry_run=1" : "/v1/config",
        .body = bytes,
        .length = strlen(bytes),
    };

    int code = session_send(session, &request, ret, err);
    free(bytes);
    return code;
}

/* "teams.yaml: 3 changes", and each. */
static void print_changes(const char *path, const json_t *reply)
{
    const json_t *changes = json_object_get(reply, "changes"), *line;
    AUTO_RELEASE(text) struct text text = { 0 };
    size_t count = json_array_size(changes), i;

    if (count == 0)
        text_printf(&text, "%s: nothing changes\n", path);
    else
        text_printf(&text, "%s: %zu change%s\n", path, count, count == 1 ? "" : "s");
    json_array_foreach(changes, i, line)
        text_printf(&text, "  %s\n", json_string_value(line) ? json_string_value(line) : "");
    screen_put(stdout, text.bytes);
    fflush(stdout);
}

static bool is_agreed(void)
{
    char line[16];

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return true;
    fputs("apply? [y/N] ", stderr);
    fflush(stderr);
    return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

struct applying {
    const char *path;
    bool is_dry, is_agreed, is_json;
};

/* Returns 1 when somebody said no. */
static int apply(const struct applying *applying, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    json_t *document = NULL, *reply = NULL, *done = NULL;
    int answer = 0;

    int code = read_config(applying->path, &document, err);
    if (code == 0)
        code = session_open(&session, err);
    if (code == 0)
        code = put(&session, document, true, &reply, err);
    if (code == 0 && !applying->is_json)
        print_changes(applying->path, reply);
    bool has_changes = json_array_size(json_object_get(reply, "changes")) > 0;
    if (code == 0 && has_changes && !applying->is_dry) {
        answer = applying->is_agreed || is_agreed() ? 0 : 1;
        code = answer == 0 ? put(&session, document, false, &done, err) : 0;
        if (code == 0)
            say(answer == 0 ? "applied" : "nothing was changed");
    }
    if (code == 0 && applying->is_json)
        reply_print(done ? done : reply);
    json_decref(document);
    json_decref(reply);
    json_decref(done);
    return code < 0 ? code : answer;
}

int run_apply(int argc, char **argv)
{
    struct options options;
    struct error err;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    const char *file = options.values[APPLY_FILE];
    if (options.word_count > (file ? 0U : 1U))
        return usage_wrong("apply", "'%s': expected one file", options.words[file ? 0 : 1]);
    if (!file)
        file = options.words[0];
    if (!file)
        return usage_wrong("apply", "expected -f FILE");
    const struct applying applying = { .path = file,
                                       .is_dry = options.values[APPLY_DRY_RUN] != NULL,
                                       .is_agreed = options.values[APPLY_YES] != NULL,
                                       .is_json = options.is_json };
    int code = apply(&applying, &err);
    return code < 0 ? complain(&err) : code;
}

int run_diff(int argc, char **argv)
{
    struct options options;
    struct error err;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count != 1)
        return usage_wrong("diff", "expected one file");
    const struct applying applying = { .path = options.words[0],
                                       .is_dry = true,
                                       .is_json = options.is_json };
    return apply(&applying, &err) < 0 ? complain(&err) : 0;
}

/* A string that YAML would take for something else, or that has more than a name has. */
static void add_scalar(struct text *text, const json_t *value)
{
    static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off", "~" };
    const char *string = json_string_value(value);
    bool is_plain = string && string_is_name(string, 255) && strspn(string, "0123456789.") == 0 &&
                    string[0] != '@' && string[0] != '+' && string[0] != '-';

    for (size_t i = 0; is_plain && i < COUNT_OF(words); i++)
        is_plain = strcmp(string, words[i]) != 0;
    if (is_plain) {
        text_add(text, string);
        return;
    }
    char *bytes = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    text_add(text, bytes ? bytes : "null");
    free(bytes);
}

/* Maps by lines, lists of what is no map in one; the depth is that of a configuration. */
static void add_yaml(struct text *text, json_t *value, int depth)
{
    const char *key;
    json_t *item;

    json_object_foreach(value, key, item)
    {
        text_printf(text, "%*s%s:", depth * 2, "", key);
        if (json_is_object(item) && json_object_size(item) > 0 && depth < 32) {
            text_add_char(text, '\n');
            add_yaml(text, item, depth + 1);
            continue;
        }
        text_add_char(text, ' ');
        add_scalar(text, item);
        text_add_char(text, '\n');
    }
}

int run_config(int argc, char **argv)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(text) struct text text = { 0 };
    struct options options;
    json_t *config = NULL;
    struct error err;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count != 1 || strcmp(options.words[0], "show") != 0)
        return usage_wrong("config", "expected: tarn config show");
    int code = session_open(&session, &err);
    if (code == 0)
        code = session_get(&session, "/v1/config", &config, &err);
    if (code < 0)
        return complain(&err);
    add_yaml(&text, config, 0);
    if (options.is_json)
        reply_print(config);
    else
        screen_put(stdout, text.length > 0 ? text.bytes : "{}\n");
    json_decref(config);
    return 0;
}
