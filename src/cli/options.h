/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

/* options - reads the options of one command from a table
 *
 * Most commands also take --json and -q, those that ask the daemon --socket PATH, and all --help.
 * Options and words may be mixed; after "--" all are words. An unknown option is an error that
 * suggests the nearest one.
 */

#include <stdbool.h>
#include <stddef.h>

struct option_entry {
    const char *name;     /* without dashes; NULL ends the table */
    char letter;          /* '\0': none */
    const char *argument; /* NULL: no argument */
    const char *meaning;
};

enum { OPTIONS_MAX = 24, OPTIONS_GIVEN_MAX = 256 };

/* One occurrence of an option; options can be repeated. */
struct option_given {
    size_t place; /* in the table */
    const char *value;
};

struct options {
    const char *values[OPTIONS_MAX]; /* by place in the table; NULL: not given; "": no value */
    struct option_given given[OPTIONS_GIVEN_MAX]; /* of the table, in their order */
    size_t given_count;
    const char *verb;
    char **words; /* NULL-terminated; into argv */
    size_t word_count;
    bool is_json, is_quiet;
    int argc; /* of a command that reads its own arguments */
    char **argv;
};

/* Read the arguments after the verb argv[0]; reorders argv. False: the command is done, with exit
 * status *ret_status. */
bool options_read(int argc, char **argv, struct options *ret, int *ret_status);

/* The options of all commands, by index; the last has no name. */
enum { COMMON_JSON, COMMON_QUIET, COMMON_SOCKET, COMMON_HELP, COMMON_COUNT };
extern const struct option_entry options_common[];

struct command;

/* The meaning of an option, its own or a common one, for this command. NULL: the command does not
 * take it. */
const char *option_meaning(const struct command *command, const struct option_entry *option);

/* The value of an option that takes a descriptor; NULL gives -1. False: it is not a descriptor. */
bool option_fd(const char *value, int *ret);

/* Report wrong usage; returns 2. */
int usage_wrong(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
