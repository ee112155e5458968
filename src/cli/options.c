/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/screen.h"

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
    AUTO_RELEASE(text) struct text text = { 0 };
    va_list args;
    char *words;

    va_start(args, format);
    int length = vasprintf(&words, format, args);
    va_end(args);
    if (length < 0)
        abort();
    text_printf(&text, "%s; see tarn %s%s--help", words, verb, verb[0] ? " " : "");
    free(words);
    say("%s", text.bytes);
    return 2;
}

static const struct option_entry *find(const struct option_entry *table, const char *name,
                                       char letter)
{
    for (; table && table->name; table++) {
        if (name ? strcmp(table->name, name) == 0 : table->letter == letter)
            return table;
    }
    return NULL;
}

static int unknown(const struct reading *reading, const char *name)
{
    const char *names[OPTIONS_MAX + COMMON_COUNT + 1] = { 0 };
    size_t count = 0;

    for (const struct option_entry *option = reading->command->options; option->name; option++)
        names[count++] = option->name;
    for (const struct option_entry *option = options_common; option->name; option++)
        names[count++] = option->name;
    const char *nearest = string_nearest(name, names);
    if (nearest)
        return usage_wrong(reading->command->name, "unknown option '--%s'; did you mean '--%s'?",
                           name, nearest);
    return usage_wrong(reading->command->name, "unknown option '--%s'", name);
}

static int set_own(struct reading *reading, size_t place, const char *value)
{
    struct options *options = reading->options;

    if (options->given_count == OPTIONS_GIVEN_MAX)
        return usage_wrong(reading->command->name, "more than %d options", OPTIONS_GIVEN_MAX);
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
        setenv("TARN_SOCKET", value, 1);
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

    const struct option_entry *option = find(reading->command->options, name, 0);
    if (!option)
        option = find(options_common, name, 0);
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

        const struct option_entry *option = find(reading->command->options, NULL, letter);
        if (!option)
            option = find(options_common, NULL, letter);
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

    *ret = (struct options){ .words = argv };
    while (reading.at < argc && status == 0) {
        char *word = argv[reading.at++];

        if (!is_word && strcmp(word, "--") == 0)
            is_word = true;
        else if (is_word || word[0] != '-' || word[1] == '\0')
            argv[ret->word_count++] = word;
        else if (word[1] == '-')
            status = take_long(&reading, word + 2);
        else
            status = take_letters(&reading, word + 1);
    }
    argv[ret->word_count] = NULL;
    *ret_status = status;
    if (status == 0 && reading.is_help)
        command_help(reading.command);
    return status == 0 && !reading.is_help;
}

bool option_fd(const char *value, int *ret)
{
    char *end;
    long number = value ? strtol(value, &end, 10) : -1;

    *ret = (int)number;
    return !value || (value[0] >= '0' && value[0] <= '9' && *end == '\0' && number <= 1023);
}

bool options_read_only(int argc, char **argv, struct options *ret, int *ret_status)
{
    const char *verb = argv[0]; /* words are moved to the front */

    if (!options_read(argc, argv, ret, ret_status))
        return false;
    if (ret->word_count > 0)
        *ret_status = usage_wrong(verb, "'%s': expected no word", ret->words[0]);
    return ret->word_count == 0;
}
