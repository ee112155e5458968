/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/remote.h"
#include "cli/screen.h"
#include "wire/job/sbatch/sbatch.h"

enum { OPTION_WIDTH = 26 };

const struct option_entry options_none[] = { { 0 } };
const struct option_entry options_own[] = { { 0 } };
const struct option_entry options_common[] = {
    [COMMON_JSON] = { "json", 0, NULL, "print JSON" },
    [COMMON_QUIET] = { "quiet", 'q', NULL, "print IDs only" },
    [COMMON_SOCKET] = { "socket", 0, "PATH", "socket of the daemon" },
    [COMMON_HELP] = { "help", 'h', NULL, "print this text" },
    { 0 },
};

const struct command *commands_all;

const struct command *command_find(const char *name)
{
    for (const struct command *command = commands_all; command->name; command++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}

/* What --json and -q mean for a command where that differs; NONE: the command lacks the option. */
#define NONE ""
static const struct {
    const char *verb, *json, *quiet;
} exceptions[] = {
    { "alerts", NULL, "print names and subjects only" },
    { "apply", NULL, NONE },
    { "attach", NONE, NONE },
    { "backup", NULL, NONE },
    { "check", NULL, NONE },
    { "choose", NULL, NONE },
    { "completion", NONE, NONE },
    { "config", NULL, NONE },
    { "diff", NULL, NONE },
    { "doctor", NULL, NONE },
    { "down", NONE, NONE },
    { "drain", NULL, "print the name only" },
    { "exec", NONE, NONE },
    { "exporter", NONE, NONE },
    { "gpus", NULL, "print UUIDs only" },
    { "help", NONE, NONE },
    { "import", NONE, NONE },
    { "interrupt", NULL, "print the name only" },
    { "logs", NONE, "print no messages" },
    { "nodes", NULL, "print names only" },
    { "pools", NULL, "print names only" },
    { "queues", NULL, "print names only" },
    { "replay", NULL, NONE },
    { "report", NULL, NONE },
    { "reservations", NULL, "print names only" },
    { "reserve", NULL, "print the name only" },
    { "restore", NULL, NONE },
    { "scale", NULL, NONE },
    { "serve", NONE, NONE },
    { "top", NULL, "print the IDs of the jobs only" },
    { "undrain", NULL, "print the name only" },
    { "up", NULL, NONE },
    { "version", NULL, NONE },
    { "wait", NONE, "print no messages" },
    { "whatif", NULL, NONE },
    { "when", NULL, "print the expected start only" },
    { "why", NULL, "print the kind of the reason only" },
};

const char *option_meaning(const struct command *command, const struct option_entry *option)
{
    static const char *const no_clients[] = { "backup", "check",  "completion", "exporter", "help",
                                              "import", "replay", "restore",    "version",  NULL };
    const char *meaning = option->meaning;
    bool is_json = option == &options_common[COMMON_JSON];

    if (option == &options_common[COMMON_SOCKET] && string_is_in(command->name, no_clients))
        return NULL;
    if (!is_json && option != &options_common[COMMON_QUIET])
        return meaning;
    for (size_t i = 0; i < COUNT_OF(exceptions); i++) {
        const char *own = is_json ? exceptions[i].json : exceptions[i].quiet;
        if (own && strcmp(exceptions[i].verb, command->name) == 0)
            meaning = own;
    }
    return meaning[0] ? meaning : NULL;
}

/* An option of the command, or of all commands; name NULL: by its letter. NULL: there is none. */
static const struct option_entry *find(const struct command *command, const char *name, char letter)
{
    const struct option_entry *const tables[] = { command->options, options_common };

    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        for (const struct option_entry *option = tables[i]; option->name; option++) {
            if (option_meaning(command, option) &&
                (name ? strcmp(option->name, name) == 0 : option->letter == letter))
                return option;
        }
    }
    return NULL;
}

/* ---- help ---- */

static void add_option(struct text *text, const struct option_entry *option, const char *meaning)
{
    AUTO_RELEASE(text) struct text name = { 0 };

    text_printf(&name, "--%s%s%s", option->name, option->argument ? "=" : "",
                option->argument ? option->argument : "");
    if (option->letter)
        text_printf(text, "  -%c, ", option->letter);
    else
        text_add(text, "      ");
    text_printf(text, "%-*s %s\n", OPTION_WIDTH, name.bytes, meaning);
}

/* A common option that the command has itself is not shown twice. */
static void add_options(struct text *text, const struct command *command,
                        const struct option_entry *option)
{
    for (; option->name; option++) {
        if (find(command, option->name, 0) == option)
            add_option(text, option, option_meaning(command, option));
    }
}

bool command_takes_a_job(const struct command *command)
{
    static const char *const names[] = { "run", "submit", "when", "choose", NULL };

    return string_is_in(command->name, names);
}

void command_help(const struct command *command)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    bool sends = strcmp(command->name, "run") == 0 || strcmp(command->name, "submit") == 0;
    bool is_hypothetical = !sends && command_takes_a_job(command);

    text_printf(&text, "tarn %s%s%s\n  %s\n", command->name, command->usage[0] ? " " : "",
                command->usage, command->summary);
    text_add_char(&text, '\n');
    add_options(&text, command, command->options);
    if (sends)
        sbatch_help(&text);
    else
        add_options(&text, command, options_common);
    if (is_hypothetical)
        text_add(&text, "\nThe options of tarn submit describe a job, which is not submitted.\n");
    text_printf(&text, "\nExamples:\n  %s\n  %s\n", command->examples[0], command->examples[1]);
    screen_put(stdout, text.bytes);
}

/* ---- reading ---- */

/* What is being read. */
struct reading {
    const struct command *command;
    struct options *options;
    int argc;
    char **argv;
    int at;
    bool is_help;
};

int usage_wrong(const char *verb, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    AUTO_FREE char *words = mem_vprintf(format, args);
    va_end(args);
    say("%s; see tarn %s%s--help", words, verb, verb[0] ? " " : "");
    return 2;
}

static int unknown(const struct reading *reading, const char *name)
{
    const char *names[OPTIONS_MAX + COMMON_COUNT + 1] = { 0 };
    size_t count = 0;

    for (const struct option_entry *option = reading->command->options; option->name; option++)
        names[count++] = option->name;
    for (const struct option_entry *option = options_common; option->name; option++) {
        if (option_meaning(reading->command, option))
            names[count++] = option->name;
    }
    const char *nearest = string_nearest(name, names);
    if (nearest)
        return usage_wrong(reading->command->name, "unknown option '--%s'; did you mean '--%s'?",
                           name, nearest);
    return usage_wrong(reading->command->name, "unknown option '--%s'", name);
}

static int set_own(struct reading *reading, size_t place, const char *value)
{
    struct options *options = reading->options;

    assert(place < OPTIONS_MAX);
    if (options->given_count == OPTIONS_GIVEN_MAX)
        return usage_wrong(reading->command->name, "more than %d options", OPTIONS_GIVEN_MAX);
    assert(place < OPTIONS_MAX);
    options->values[place] = value;
    options->given[options->given_count++] = (struct option_given){ place, value };
    return 0;
}

static int set(struct reading *reading, const struct option_entry *option, const char *value)
{
    if (option < options_common || option >= options_common + COMMON_COUNT)
        return set_own(reading, (size_t)(option - reading->command->options), value ? value : "");
    switch (option - options_common) {
    case COMMON_JSON:
        reading->options->is_json = true;
        break;
    case COMMON_QUIET:
        reading->options->is_quiet = true;
        break;
    case COMMON_SOCKET:
        use_socket(value);
        break;
    case COMMON_HELP:
        reading->is_help = true;
        break;
    }
    return 0;
}

/* The option's value: inline, or the next argument. 0, or 2 when it has none. */
static int take_value(struct reading *reading, const struct option_entry *option,
                      const char *inlined)
{
    const char *verb = reading->command->name;

    if (!option->argument && inlined)
        return usage_wrong(verb, "--%s takes no value, got '%s'", option->name, inlined);
    if (option->argument && !inlined && reading->at == reading->argc)
        return usage_wrong(verb, "--%s: expected %s after it", option->name, option->argument);
    if (option->argument && !inlined)
        inlined = reading->argv[reading->at++];
    return set(reading, option, inlined);
}

static int take_long(struct reading *reading, const char *word)
{
    const char *equals = strchr(word, '=');
    AUTO_FREE char *name = mem_string_of(word, strcspn(word, "="));

    const struct option_entry *option = find(reading->command, name, 0);
    if (!option)
        return unknown(reading, name);
    return take_value(reading, option, equals ? equals + 1 : NULL);
}

static int take_letters(struct reading *reading, const char *letters)
{
    int status = 0;

    while (*letters && status == 0) {
        char letter = *letters++;
        const char *inlined = NULL;

        const struct option_entry *option = find(reading->command, NULL, letter);
        if (!option)
            return usage_wrong(reading->command->name, "unknown option '-%c'", letter);
        if (option->argument && *letters) {
            inlined = letters;
            letters += strlen(letters);
        }
        status = take_value(reading, option, inlined);
    }
    return status;
}

bool options_read(int argc, char **argv, struct options *ret, int *ret_status)
{
    struct reading reading = {
        .command = command_find(argv[0]), .options = ret, .argc = argc, .argv = argv, .at = 1
    };
    bool is_word = false;
    int status = 0;

    *ret = (struct options){ .verb = reading.command->name, .words = argv };
    while (reading.at < argc && status == 0) {
        char *word = argv[reading.at++];

        if (!is_word && strcmp(word, "--") == 0)
            is_word = true;
        else if (is_word || word[0] != '-' || word[1] == '\0')
            argv[ret->word_count++] = word;
        else if (reading.command->words == WORDS_COMMAND && ret->word_count > 1)
            status =
                usage_wrong(ret->verb,
                            "'%s' after '%s': expected -- before the command: "
                            "tarn %s %s -- %s %s",
                            word, argv[ret->word_count - 1], ret->verb, argv[0], argv[1], word);
        else if (word[1] == '-')
            status = take_long(&reading, word + 2);
        else
            status = take_letters(&reading, word + 1);
    }
    argv[ret->word_count] = NULL;
    if (status == 0 && reading.is_help)
        command_help(reading.command);
    else if (status == 0 && reading.command->words == WORDS_NONE && ret->word_count > 0)
        status = usage_wrong(ret->verb, "'%s': unexpected argument", ret->words[0]);
    *ret_status = status;
    return status == 0 && !reading.is_help;
}

bool option_fd(const char *value, int *ret)
{
    char *end;
    long number = value ? strtol(value, &end, 10) : -1;

    *ret = (int)number;
    return !value || (value[0] >= '0' && value[0] <= '9' && *end == '\0' && number <= 1023);
}
