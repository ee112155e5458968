/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* command - the commands of tarn: one table for dispatch, help and completion
 *
 * commands.def lists those of this room; the caller of cli_main() adds its own. A run function gets
 * its verb as argv[0] and returns the exit status: 0 done, 1 refused or failed, 2 wrong usage.
 */

#include <stddef.h>

#include "cli/options.h"

struct command {
    const char *name;
    const char *usage;   /* arguments: "[OPTIONS] ID..." */
    const char *summary; /* a few words, lower case */
    int (*run)(int argc, char **argv);
    const struct option_entry *options; /* ends with one without a name; NULL: it reads its own */
};

enum { COMMANDS_MAX = 64 };

/* more ends with one without a name; NULL: none. Returns the exit status. */
int cli_main(int argc, char **argv, const struct command *more);

/* All commands, sorted by name; NULL-terminated. Set once, by cli_main(). */
void commands_set(const struct command *const *commands);
const struct command *const *commands_all(void);
const struct command *command_find(const char *name); /* NULL: there is none */

/* Print the usage of a command on standard output. */
void command_help(const struct command *command);

#define COMMAND(name, usage, summary)                                                              \
    int run_##name(int argc, char **argv);                                                         \
    extern const struct option_entry options_##name[];
#include "cli/commands.def"
#undef COMMAND

#endif
