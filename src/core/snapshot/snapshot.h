/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SNAPSHOT_SNAPSHOT_H
#define CORE_SNAPSHOT_SNAPSHOT_H

/* snapshot - the whole state as bytes
 *
 * fold(all events) == fold(later events) over load(save(fold(earlier events))). What follows
 * from the rest (room, capacity, what queues and pools hold) is not saved but computed on load,
 * which is a check in itself. Two equal states give equal bytes.
 *
 *   snapshot := (kind length record)*      kinds and fields: the tables in snapshot_kinds.c
 */

#include "core/state/state.h"

enum { SNAPSHOT_KINDS_MAX = 64 };

/* The records of a snapshot, by kind from 1 to below SNAPSHOT_KINDS_MAX; NULL: no such kind. For
 * the generated documents. */
const struct record_type *snapshot_type(unsigned kind);

void snapshot_save(const struct state *state, struct text *out);
int snapshot_load(const void *bytes, size_t length, struct state **ret, struct error *err);

#endif
