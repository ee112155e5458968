/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_WHERE_H
#define CORE_JOB_WHERE_H

/* where - conditions over the labels of nodes and devices, as jobs and pools state them
 *
 *   WHERE     := CONDITION (',' CONDITION)*      all of them hold
 *   CONDITION := TERM ('|' TERM)*                one of them holds
 *   TERM      := KEY | '!' KEY                   with the label; without it
 *              | KEY '=' VALUE | KEY '!=' VALUE  != also holds without the label
 *              | KEY ' in (' VALUE (',' VALUE)* ')'
 *              | KEY ' notin (' VALUE (',' VALUE)* ')'   not in combination with '|'
 *
 * These are the label selectors of Kubernetes, with the '|' of Slurm's constraints. A list of
 * conditions is a flat list of terms, each zeroed before it is filled: equal lists are equal byte
 * for byte. Labels and their matching: core/cluster/label.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum { WHERE_TERMS_MAX = 64, WHERE_NAME_SIZE = 64 };

struct where_term {
    char key[WHERE_NAME_SIZE], value[WHERE_NAME_SIZE];
    uint8_t has_value; /* bool: the value counts as well */
    uint8_t is_not;    /* bool */
    uint8_t is_or;     /* bool: the next term is another one of the same condition */
};

typedef LIST(struct where_term) where_list;

/* Append the conditions of a text. On failure the list may have some of them. */
int where_parse(where_list *list, const char *text, struct error *err);

/* The end of the condition that begins at `first`. */
uint32_t where_end(const struct where_term *terms, uint32_t count, uint32_t first);

/* One condition, as where_parse reads it. */
void where_format(const struct where_term *terms, uint32_t count, struct text *text);

/* Replace the conditions by those of an event or a snapshot. nodes, labels: the comma-separated
 * names of older ones, of which one node and all labels are required; or NULL. False: the terms are
 * invalid. */
bool where_assign(where_list *list, const char *nodes, const char *labels,
                  const struct where_term *terms, uint32_t count);

/* Whether the terms of a record are valid. */
bool where_is_valid(const struct where_term *terms, uint32_t count);

#endif
