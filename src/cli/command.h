/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* command - the commands of tarn: one table for dispatch, help and completion
 *
 * commands.def lists those of this room; the caller of cli_main() adds its own. A run function gets
 * the options that were read and returns the exit status: 0 done, 1 refused or failed, 2 wrong
 * usage.
 */

#include <stddef.h>

#include "cli/options.h"

enum command_words {
    WORDS_ANY,
    WORDS_NONE,
    WORDS_OWN, /* the command reads its own arguments: options.argc and argv */
};

struct command {
    const char *name;
    const char *usage;   /* arguments: "[OPTIONS] ID..." */
    const char *summary; /* a few words, lower case */
    int (*run)(const struct options *options);
    int (*main)(int argc, char **argv); /* instead of run; argv[0] is the verb */
    const struct option_entry *options; /* ends with one without a name; NULL: it reads its own */
    enum command_words words;
};

enum { COMMANDS_MAX = 64 };

/* more ends with one without a name; NULL: none. Returns the exit status. */
int cli_main(int argc, char **argv, const struct command *more);

/* All commands, sorted by name; NULL-terminated. Set once, by cli_main(). */
extern const struct command *commands_all[COMMANDS_MAX + 1];
const struct command *command_find(const char *name); /* NULL: there is none */

/* Print the usage of a command on standard output. */
void command_help(const struct command *command);

extern const struct option_entry options_none[];
#define COMMAND(name, table, words, usage, summary)                                                \
    int run_##name(const struct options *options);                                                 \
    extern const struct option_entry options_##table[];
#include "cli/commands.def"
#undef COMMAND

#endif
