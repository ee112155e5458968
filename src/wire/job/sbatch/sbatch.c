/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/job/sbatch/sbatch_given.h"

enum { LINE_WORDS_MAX = 256, VALUE_MAX = 131071, NOTES_MAX = 1000, NAME_WIDTH = 28 };

enum support { SUPPORTED, NOT_ACTED_ON, NOT_ALLOWED };

static const struct option {
    const char *name;
    const char *argument; /* NULL: none; "[X]": may be left out */
    const char *group;
    const char *words; /* what it does; of one that is refused: what to take instead */
    char letter;
    enum support support;
    int id;
} options[] = {
#define OPTION(ID, letter, name, argument, group, meaning)                                         \
    { name, argument, group, meaning, letter, SUPPORTED, SBATCH_##ID },
#define IGNORED(letter, name, argument) { name, argument, NULL, NULL, letter, NOT_ACTED_ON, -1 },
#define REFUSED(letter, name, argument, instead)                                                   \
    { name, argument, NULL, instead, letter, NOT_ALLOWED, -1 },
#include "wire/job/sbatch/sbatch_options.def"
};

/* Options as words, from one place. */
struct words {
    char *const *items;
    int count;
    int at;
    const char *place;   /* NULL: the command line */
    bool is_environment; /* wins over a script */
};

void sbatch_init(struct sbatch *sbatch)
{
    *sbatch = (struct sbatch){
        .job = json_object(),
        .notes = json_array(),
        .given = mem_zero(SBATCH_OPTION_COUNT, sizeof(struct sbatch_given)),
    };
}

static void given_clear(struct sbatch_given *given)
{
    free(given->value);
    free(given->place);
    *given = (struct sbatch_given){ 0 };
}

void sbatch_release(struct sbatch *sbatch)
{
    for (size_t i = 0; sbatch->given && i < SBATCH_OPTION_COUNT; i++)
        given_clear(&sbatch->given[i]);
    free(sbatch->given);
    json_decref(sbatch->job);
    json_decref(sbatch->notes);
    *sbatch = (struct sbatch){ 0 };
}

const char *const *sbatch_option_names(void)
{
    static const char *const names[] = {
#define OPTION(ID, letter, name, argument, group, meaning) name,
#include "wire/job/sbatch/sbatch_options.def"
        NULL,
    };

    return names;
}

static int fail_at(const struct words *words, struct error *err, int code)
{
    return words->place ? error_prefix(err, code, "%s", words->place) : code;
}

void sbatch_note(struct sbatch *sbatch, const char *place, const char *text)
{
    if (json_array_size(sbatch->notes) >= NOTES_MAX)
        return;
    AUTO_FREE char *words = mem_printf("%s%s%s", place ? place : "", place ? ": " : "", text);
    json_array_append_new(sbatch->notes, json_string(words));
}

/* The only option that begins like this: sbatch takes shortened names. */
static const struct option *find_prefix(const char *name)
{
    const struct option *found = NULL;

    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (!string_starts(options[i].name, name))
            continue;
        if (found)
            return NULL;
        found = &options[i];
    }
    return found;
}

static const struct option *find_long(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    }
    return strlen(name) >= 3 ? find_prefix(name) : NULL;
}

static const struct option *find_letter(char letter)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (options[i].letter == letter)
            return &options[i];
    }
    return NULL;
}

static int unknown_long(const struct words *words, const char *name, struct error *err)
{
    const char *names[COUNT_OF(options) + 1] = { 0 };

    for (size_t i = 0; i < COUNT_OF(options); i++)
        names[i] = options[i].name;
    const char *nearest = string_nearest(name, names);
    error_set(err, -EINVAL, "unknown option '--%.60s'%s%s%s", name,
              nearest ? "; did you mean '--" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return fail_at(words, err, -EINVAL);
}

/* NAME=VALUE; what the command line has given stays. */
static int add_variable(struct sbatch *sbatch, const struct words *words, const char *value,
                        struct error *err)
{
    const char *equals = strchr(value, '=');
    json_t *env = json_object_get(sbatch->job, "env");

    if (!equals || equals == value) {
        error_set(err, -EINVAL, "--env '%.60s': expected NAME=VALUE", value);
        return fail_at(words, err, -EINVAL);
    }
    if (!env) {
        env = json_object();
        json_object_set_new(sbatch->job, "env", env);
    }
    AUTO_FREE char *name = mem_string_of(value, (size_t)(equals - value));
    if (words->place && json_object_get(env, name))
        return 0;
    if (json_object_set_new(env, name, json_string(equals + 1)) < 0) {
        error_set(err, -EINVAL, "--env %.60s: not UTF-8", name);
        return fail_at(words, err, -EINVAL);
    }
    return 0;
}

/* What is for the command and not for the job. */
static bool set_switch(struct sbatch *sbatch, int id, const char *value)
{
    switch (id) {
    case SBATCH_FILE:
        sbatch->file = value;
        return true;
    case SBATCH_SOCKET:
        sbatch->socket = value;
        return true;
    case SBATCH_PARSABLE:
        return sbatch->is_parsable = true;
    case SBATCH_JSON:
        return sbatch->is_json = true;
    case SBATCH_QUIET:
        return sbatch->is_quiet = true;
    case SBATCH_WAIT:
        return sbatch->is_waiting = true;
    case SBATCH_TEST_ONLY:
        return sbatch->is_test = true;
    case SBATCH_HELP:
        return sbatch->is_help = true;
    case SBATCH_IGNORE_PBS:
        return sbatch->ignores_others = true;
    default:
        return false;
    }
}

/* Slurm takes several of these; they must then mean the same (sbatch_finish). */
static bool are_joined(const struct sbatch *sbatch, const struct words *words, int id, int other)
{
    static const bool joins[SBATCH_OPTION_COUNT] = { [SBATCH_GPUS] = true,
                                                     [SBATCH_GRES] = true,
                                                     [SBATCH_GPUS_PER_NODE] = true,
                                                     [SBATCH_GPUS_PER_TASK] = true };

    return (words->place || sbatch->is_slurm) && id != other && joins[id] && joins[other];
}

/* Make room for an option among those of its group. *ret_hidden: the command line has one. */
static int clear_group(struct sbatch *sbatch, const struct words *words,
                       const struct option *option, bool *ret_hidden, struct error *err)
{
    *ret_hidden = false;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        struct sbatch_given *other = options[i].id >= 0 ? &sbatch->given[options[i].id] : NULL;

        if (!other || !other->is_set || !string_equal(options[i].group, option->group))
            continue;
        if (other->is_argument && words->place) {
            *ret_hidden = true;
            return 0;
        }
        if (are_joined(sbatch, words, option->id, options[i].id))
            continue;
        if (options[i].id != option->id && options[i].id != SBATCH_REQUEUE &&
            options[i].id != SBATCH_NO_REQUEUE) {
            error_set(err, -EINVAL, "--%s: --%s is given already, expected one of them",
                      option->name, options[i].name);
            return fail_at(words, err, -EINVAL);
        }
        given_clear(other);
    }
    return 0;
}

/* Slurm sends mail at the times of all --mail-type, wherever they are given. */
static void join_value(struct sbatch_given *given, const char *value)
{
    char *joined = mem_printf("%s,%s", given->value, value);

    free(given->value);
    given->value = joined;
}

static int set_supported(struct sbatch *sbatch, const struct words *words,
                         const struct option *option, const char *value, struct error *err)
{
    bool is_hidden;

    if (words->place && (option->id == SBATCH_FILE || option->id == SBATCH_SOCKET ||
                         option->id == SBATCH_WRAP || option->id == SBATCH_HELP)) {
        error_set(err, -EINVAL, "--%s: only on a command line, not in a script", option->name);
        return fail_at(words, err, -EINVAL);
    }
    if (set_switch(sbatch, option->id, value))
        return 0;
    if (option->id == SBATCH_ENV)
        return add_variable(sbatch, words, value, err);
    if (option->id == SBATCH_MAIL_TYPE && sbatch->given[option->id].is_set) {
        join_value(&sbatch->given[option->id], value);
        return 0;
    }
    int code = clear_group(sbatch, words, option, &is_hidden, err);
    if (code < 0 || is_hidden)
        return code;
    sbatch->given[option->id] = (struct sbatch_given){
        .value = mem_string(value),
        .place = mem_string(words->place),
        .name = option->name,
        .is_set = true,
        .is_argument = !words->place || words->is_environment,
    };
    if (option->id == SBATCH_WRAP)
        sbatch->wrap = value;
    return 0;
}

static int set_option(struct sbatch *sbatch, const struct words *words, const struct option *option,
                      const char *value, struct error *err)
{
    if (value && (strlen(value) > VALUE_MAX || !string_is_utf8(value, strlen(value)))) {
        error_set(err, -EINVAL, "--%s: not UTF-8, or longer than %d bytes", option->name,
                  VALUE_MAX);
        return fail_at(words, err, -EINVAL);
    }
    if (option->support == SUPPORTED)
        return set_supported(sbatch, words, option, value, err);
    if (option->support == NOT_ALLOWED) {
        error_set(err, -ENOTSUP, "--%s: not supported; use %s", option->name, option->words);
        return fail_at(words, err, -ENOTSUP);
    }
    AUTO_FREE char *text = mem_printf("--%s: not supported, ignored", option->name);
    sbatch_note(sbatch, words->place, text);
    return 0;
}

/* The next word, as the value of an option that needs one. */
static int take_value(struct words *words, const char *dashes, const char *name,
                      const char *argument, const char **ret, struct error *err)
{
    if (words->at == words->count) {
        error_set(err, -EINVAL, "%s%s: expected %s after it", dashes, name, argument);
        return fail_at(words, err, -EINVAL);
    }
    *ret = words->items[words->at++];
    return 0;
}

static int take_long(struct sbatch *sbatch, struct words *words, struct error *err)
{
    const char *text = words->items[words->at++] + 2;
    const char *equals = strchr(text, '=');
    const char *value = equals ? equals + 1 : NULL;
    AUTO_FREE char *name = mem_string_of(text, strcspn(text, "="));

    const struct option *option = find_long(name);
    if (!option)
        return unknown_long(words, name, err);
    if (value && !option->argument) {
        error_set(err, -EINVAL, "--%s: takes no value, got '%.60s'", option->name, value);
        return fail_at(words, err, -EINVAL);
    }
    if (!value && option->argument && option->argument[0] != '[') {
        int code = take_value(words, "--", option->name, option->argument, &value, err);
        if (code < 0)
            return code;
    }
    return set_option(sbatch, words, option, value, err);
}

/* "-c4", "-c 4", "-HQ" */
static int take_letters(struct sbatch *sbatch, struct words *words, struct error *err)
{
    const char *letters = words->items[words->at++] + 1;

    while (*letters) {
        const struct option *option = find_letter(*letters);
        char name[2] = { *letters++, '\0' };
        const char *value = NULL;
        int code = 0;

        if (!option) {
            error_set(err, -EINVAL, "unknown option '-%s'",
                      isprint((unsigned char)name[0]) ? name : "?");
            return fail_at(words, err, -EINVAL);
        }
        if (option->argument && *letters) {
            value = letters;
            letters += strlen(letters);
        } else if (option->argument && option->argument[0] != '[') {
            code = take_value(words, "-", name, option->argument, &value, err);
        }
        if (code == 0)
            code = set_option(sbatch, words, option, value, err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* All options at the front; stops at the first word that is none, or after "--". */
static int take_options(struct sbatch *sbatch, struct words *words, struct error *err)
{
    while (words->at < words->count) {
        const char *word = words->items[words->at];

        if (strcmp(word, "--") == 0) {
            words->at++;
            return 0;
        }
        if (word[0] != '-' || word[1] == '\0')
            return 0;
        int code =
            word[1] == '-' ? take_long(sbatch, words, err) : take_letters(sbatch, words, err);
        if (code < 0)
            return code;
    }
    return 0;
}

int sbatch_parse_args(struct sbatch *sbatch, int argc, char *const *argv, int first, int *ret_rest,
                      struct error *err)
{
    struct words words = { .items = argv, .count = argc, .at = first };

    int code = take_options(sbatch, &words, err);
    if (code == 0)
        *ret_rest = words.at;
    return code;
}

/* Of an option without an argument: whether the variable sets it. */
static bool is_switched_on(const char *value)
{
    return value[0] == '\0' || strcmp(value, "yes") == 0 || strtol(value, NULL, 10) != 0;
}

int sbatch_parse_environment(struct sbatch *sbatch, struct error *err)
{
    static const struct {
        const char *variable, *option;
    } inputs[] = {
#define INPUT(variable, option) { variable, option },
#include "wire/job/sbatch/sbatch_input.def"
    };
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(inputs) && code == 0; i++) {
        const struct words words = { .place = inputs[i].variable, .is_environment = true };
        const char *value = getenv(inputs[i].variable);
        const struct option *option = find_long(inputs[i].option);
        if (value && option->argument)
            code = set_option(sbatch, &words, option, value[0] ? value : NULL, err);
        else if (value && is_switched_on(value))
            code = set_option(sbatch, &words, option, NULL, err);
    }
    return code;
}

/* The next word of a line, with quotes as the shell has them; NULL at the end or at a comment.
 * Returns false when a quote is not closed. */
static bool next_word(const char **line, char **ret)
{
    struct text word = { 0 };
    const char *s = *line + strspn(*line, " \t");
    char quote = '\0';

    *ret = NULL;
    if (*s == '\0' || *s == '#')
        return true;
    for (; *s && (quote || !strchr(" \t#", *s)); s++) {
        if (*s == '\\' && s[1] && quote != '\'')
            text_add_char(&word, *++s);
        else if (quote && *s == quote)
            quote = '\0';
        else if (!quote && (*s == '\'' || *s == '"'))
            quote = *s;
        else
            text_add_char(&word, *s);
    }
    *line = s;
    *ret = text_take(&word);
    return quote == '\0';
}

static int split_line(const char *line, struct words *words, char **items, struct error *err)
{
    for (;;) {
        char *word;

        if (!next_word(&line, &word)) {
            free(word);
            error_set(err, -EINVAL, "#SBATCH: a quote is not closed");
            return fail_at(words, err, -EINVAL);
        }
        if (!word)
            return 0;
        if (words->count == LINE_WORDS_MAX) {
            free(word);
            error_set(err, -E2BIG, "#SBATCH: more than %d words", LINE_WORDS_MAX);
            return fail_at(words, err, -E2BIG);
        }
        items[words->count++] = word;
    }
}

static int take_line(struct sbatch *sbatch, const char *line, const char *place, struct error *err)
{
    char *items[LINE_WORDS_MAX];
    struct words words = { .items = items, .place = place };

    int code = split_line(line, &words, items, err);
    if (code == 0)
        code = take_options(sbatch, &words, err);
    if (code == 0 && words.at < words.count) {
        error_set(err, -EINVAL, "#SBATCH: '%.60s' is not an option", words.items[words.at]);
        code = fail_at(&words, err, -EINVAL);
    }
    for (int i = 0; i < words.count; i++)
        free(items[i]);
    return code;
}

static bool is_directive(const char *line)
{
    return string_starts(line, "#SBATCH") && strchr(" \t-", line[7]);
}

/* sbatch reads these, too, in the whole script. */
static bool is_of_others(const char *line)
{
    return string_starts(line, "#PBS ") || string_starts(line, "#BSUB ");
}

static int check_others(const struct sbatch *sbatch, const char *line, const char *place,
                        struct error *err)
{
    if (sbatch->ignores_others || !place)
        return 0;
    return error_set(err, -ENOTSUP,
                     "%s: '%.40s': #PBS and #BSUB lines are not read; expected #SBATCH lines, or "
                     "--ignore-pbs",
                     place, line);
}

int sbatch_parse_script(struct sbatch *sbatch, const char *script, size_t length,
                        const char *source, struct error *err)
{
    AUTO_FREE char *others_line = NULL, *others_place = NULL;
    bool at_head = true;
    unsigned number = 0;
    size_t at = 0;

    if (length > SBATCH_SCRIPT_MAX)
        return error_set(err, -E2BIG, "%s: larger than %d MiB", source, SBATCH_SCRIPT_MAX >> 20);
    if (memchr(script, '\0', length))
        return error_set(err, -EINVAL, "%s: a NUL character in it; expected a script in text",
                         source);
    if (memmem(script, length, "\r\n", 2))
        return error_set(err, -EINVAL,
                         "%s: batch script contains DOS line breaks (\\r\\n); expected UNIX line "
                         "breaks (\\n)",
                         source);
    while (at < length) {
        const char *end = memchr(script + at, '\n', length - at);
        size_t line_length = end ? (size_t)(end - script) - at : length - at;
        AUTO_FREE char *line = mem_string_of(script + at, line_length);

        at += line_length + 1;
        number++;
        const char first = line[strspn(line, " \t")];
        if (first != '#' && first != '\0')
            at_head = false;
        if (is_of_others(line) && !others_line) {
            others_line = mem_string(line);
            others_place = mem_printf("%s:%u", source, number);
        }
        if (!is_directive(line))
            continue;
        AUTO_FREE char *place = mem_printf("%s:%u", source, number);
        sbatch->has_lines |= at_head;
        int code = at_head ? take_line(sbatch, line + strlen("#SBATCH"), place, err) : 0;
        if (code < 0)
            return code;
        if (!at_head)
            sbatch_note(sbatch, place, "#SBATCH after the first command: ignored");
    }
    return check_others(sbatch, others_line, others_place, err);
}

void sbatch_help(struct text *text)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        const struct option *option = &options[i];
        const char *argument = option->argument ? option->argument : "";
        bool is_optional = argument[0] == '[';

        if (option->support != SUPPORTED)
            continue;
        AUTO_FREE char *name = mem_printf("--%s%s%s", option->name,
                                          is_optional ? "[="
                                          : *argument ? "="
                                                      : "",
                                          is_optional ? argument + 1 : argument);
        if (option->letter)
            text_printf(text, "  -%c, ", option->letter);
        else
            text_add(text, "      ");
        text_printf(text, "%-*s %s\n", NAME_WIDTH, name, option->words);
    }
}
