/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SELECT_H
#define CLI_SELECT_H

/* select - the jobs of a command: "7", "7_3", "7-9", "7_[1-3,8]"
 *
 * Limits: SELECT_MAX jobs per command
 */

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/options.h"
#include "cli/session.h"

enum { SELECT_MAX = 10000, ID_SIZE = 48 };

struct selection {
    char (*ids)[ID_SIZE];
    size_t count;
    LIST(uint64_t) arrays; /* named with tasks in brackets */
};

/* Fails if the word names no jobs: it is neither the number of a job nor a set of numbers. */
int selection_check(const char *word, struct error *err);
/* Fails at the first invalid word. */
int selection_read(struct selection *selection, char *const *words, struct error *err);
void selection_add(struct selection *selection, const char *id);
/* Whether what has tasks in brackets is an array, by one request each: instead of one for each task
 * that there is not. */
int selection_confirm(const struct selection *selection, struct session *session,
                      struct error *err);
void selection_release(struct selection *selection);

struct each {
    struct session *session;
    const struct options *options;
    const char *id;
    size_t number, count; /* of the ids */
};

/* Call `one` for each id in the words; returns the first exit status that is not 0. */
int each_id(const struct options *options, int (*one)(const struct each *each));

/* GET /v1/jobs/ID and suffix, and print the reply: with --json unchanged, with -q the text with the
 * key `quiet` (NULL: the id), else by print(). Returns the exit status. */
int each_print(const struct each *each, const char *suffix, const char *quiet,
               void (*print)(const json_t *reply));

#endif
