/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOURNAL_PORT_H
#define CORE_JOURNAL_PORT_H

/* journal_port - the port behind which events become durable
 *
 * The journal contains the state: records in the order of the events, numbered from 1 without gaps,
 * as bytes that the core encodes (base/record.h). Blobs contain data that the brain never reads
 * (commands, environments, job files), stored once per content. A snapshot is the folded state
 * after a record.
 *
 * Order of calls:  open, load, (append* blob* commit)*, snapshot, close
 * On failure:      commit stores nothing of the batch; the same batch can be committed again later
 *                  (disk full)
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct journal;

struct journal_record {
    uint64_t sequence;
    const void *bytes;
    size_t length;
};

typedef int journal_record_fn(void *user, const struct journal_record *record, struct error *err);

/* Read all records of the journal in a state directory, for a program that only reads. */
typedef int journal_read_fn(const char *dir, journal_record_fn *fn, void *user, struct error *err);

#endif
