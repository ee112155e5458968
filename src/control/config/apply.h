/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_APPLY_H
#define CONTROL_APPLY_H

/* apply - a configuration is put into force with a line in the log, or a change is undone
 *
 * Consent covers the difference that was shown: with has_seen, refuse when the configuration has
 * changed since. A dry run only works out the difference. On a cluster that is complete (this
 * machine, with real devices, and no types of machines that can be added), refuse what cannot work
 * on it, unless the present configuration has the same fault, or a change is undone.
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
    struct config *config; /* NULL: the one before the change to be undone */
    uint64_t undo;         /* its number; 0 with is_undo: the last one's */
    uint64_t seen;         /* the last change that its author has seen */
    bool is_undo, is_dry_run, has_seen;
    /* The result: */
    uint64_t number;     /* of the change; 0: nothing was different */
    struct text changes; /* a line each */
    struct text doubts;  /* what cannot work on the cluster as it is, a line each */
};

int apply_run(const struct control *control, struct apply *apply, struct error *err);
void apply_release(struct apply *apply);

/* A change by its number; a document that was kept with one. */
int apply_find(const struct control *control, uint64_t number, const struct config_change **ret,
               struct error *err);
int apply_document(const struct control *control, uint64_t blob, json_t **ret, struct error *err);

/* Emit the events that apply a configuration (a document) to an earlier state: first remove queues
 * at another place of the tree. For rehearsals. */
int apply_impose(const struct control *control, const json_t *config, struct error *err);

#endif
