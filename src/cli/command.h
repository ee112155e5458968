/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/* command - the commands of tarn: one table for dispatch, help and completion
 *
 * commands.def lists them. There are two programs: the client `tarn` runs a COMMAND itself, and
 * replaces itself with `tarnd` for a DAEMON_COMMAND. tarnd has all commands, and links the
 * libraries that the client does not need. A run function gets the parsed options and returns the
 * exit status: 0 done, 1 refused or failed, 2 wrong usage.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

enum command_words {
    WORDS_ANY,
    WORDS_NONE,
    WORDS_COMMAND, /* an object, then a command: options of it stand behind "--" */
    WORDS_OWN,     /* the command reads its own arguments: options.argc and argv */
};

/* The section of tarn help that lists it. */
enum command_group { GROUP_JOBS, GROUP_WATCH, GROUP_ADMIN, GROUP_DAEMON };

struct command {
    enum command_group group;
    const char *name;
    const char *usage;   /* arguments: "[OPTIONS] ID..." */
    const char *summary; /* a few words, lower case */
    const char *examples[2];
    int (*run)(const struct options *options);
    const struct option_entry *options; /* options_own: it prints its own help */
    enum command_words words;
};

/* commands: sorted by name; the last has no name. Returns the exit status. */
int cli_main(int argc, char **argv, const struct command *commands);

/* The commands of this program. Set once, by cli_main(). */
extern const struct command *commands_all;
const struct command *command_find(const char *name); /* NULL: there is none */

/* Whether it takes the options of a job, as `tarn submit` does. */
bool command_takes_a_job(const struct command *command);
/* Print the usage of a command on standard output. */
void command_help(const struct command *command);

/* Run this command in tarnd, in place of this process; returns only when that fails. */
int run_in_tarnd(const struct options *options);

extern const struct option_entry options_none[], options_own[];
#define COMMAND(group, name, table, words, usage, summary, first, second)                          \
    int run_##name(const struct options *options);                                                 \
    extern const struct option_entry options_##table[];
#define DAEMON_COMMAND COMMAND
#include "cli/commands.def"
#undef COMMAND
#undef DAEMON_COMMAND

#endif
