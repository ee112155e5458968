/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, for files that must not know them by name: help, completion, the reader of options.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "wire/job/sbatch.h"

enum { OPTION_WIDTH = 26 };

const struct option_entry options_common[] = {
    [COMMON_JSON] = { "json", 0, NULL, "print JSON, as the API has it" },
    [COMMON_QUIET] = { "quiet", 'q', NULL, "print ids only" },
    [COMMON_SOCKET] = { "socket", 0, "PATH", "where the daemon listens" },
    [COMMON_HELP] = { "help", 'h', NULL, "this text" },
    { 0 },
};

static const struct command *const *all;

void commands_set(const struct command *const *commands)
{
    all = commands;
}

const struct command *const *commands_all(void)
{
    return all;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; all[i]; i++) {
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    }
    return NULL;
}

static void add_option(struct text *text, const struct option_entry *option)
{
    AUTO_RELEASE(text) struct text name = { 0 };

    text_printf(&name, "--%s%s%s", option->name, option->argument ? "=" : "",
                option->argument ? option->argument : "");
    if (option->letter)
        text_printf(text, "  -%c, ", option->letter);
    else
        text_add(text, "      ");
    text_printf(text, "%-*s %s\n", OPTION_WIDTH, name.bytes, option->meaning);
}

static bool has_option(const struct command *command, const char *name)
{
    for (const struct option_entry *option = command->options; option->name; option++) {
        if (strcmp(option->name, name) == 0)
            return true;
    }
    return false;
}

void command_help(const struct command *command)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    bool sends = strcmp(command->name, "run") == 0 || strcmp(command->name, "submit") == 0;

    text_printf(&text, "tarn %s%s%s\n  %s\n", command->name, command->usage[0] ? " " : "",
                command->usage, command->summary);
    if (command->options)
        text_add(&text, "\n");
    for (const struct option_entry *option = command->options; option && option->name; option++)
        add_option(&text, option);
    if (sends)
        sbatch_help(&text);
    for (const struct option_entry *option = options_common; command->options && option->name;
         option++) {
        if (!sends && !has_option(command, option->name))
            add_option(&text, option);
    }
    screen_put(stdout, text.bytes);
}
