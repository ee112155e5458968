/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_APPLY_H
#define CONTROL_APPLY_H

/* apply - applies a configuration, with an entry in its log, or undoes a change
 *
 * Consent covers the difference that was shown: with has_seen, refuse if the configuration has
 * changed since. A dry run only computes the difference. If the cluster is complete (this node,
 * with real devices, and no node types that can be added), refuse a configuration that cannot work
 * on it, unless the present configuration has the same fault or a change is undone.
 *
 * Order of calls:  run inside a change, release
 */

#include <jansson.h>

#include "base/text.h"
#include "control/control.h"

struct config;
struct config_change;

struct apply {
    const struct identity *who;
    struct config *config; /* NULL: the configuration before the change to undo */
    uint64_t undo;         /* number of that change; 0 with is_undo: the last change */
    uint64_t seen;         /* the last change that its author has seen */
    bool is_undo, is_dry_run, has_seen;
    /* The result: */
    uint64_t number;     /* of the change; 0: there was no difference */
    struct text changes; /* one per line */
    struct text
        doubts; /* parts that cannot work on the present cluster, or not yet; one per line */
};

int apply_run(const struct control *control, struct apply *apply, struct error *err);
void apply_release(struct apply *apply);

/* Find a change by its number, and a document that is stored with it. */
int apply_find(const struct control *control, uint64_t number, const struct config_change **ret,
               struct error *err);
int apply_document(const struct control *control, uint64_t blob, json_t **ret, struct error *err);

/* Emit the events that apply a configuration (a document) to an earlier state: first remove queues
 * at another place of the tree. For rehearsals. */
int apply_impose(const struct control *control, const json_t *config, struct error *err);

#endif
