/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

/* journal - the events of a state directory, durable, on SQLite
 *
 * Additions collect in a batch in memory; journal_commit() makes the batch durable in one
 * transaction, all or nothing. Records are opaque bytes, numbered from 1 without gaps, and never
 * deleted. A blob is stored once per content and keeps its id forever. A snapshot replaces the
 * records up to a number; the journal keeps the newest two.
 *
 * One process writes: it holds a lock on the directory. Any number may read meanwhile, also from
 * a read-only file system; a reader sees what is committed and changes nothing.
 *
 * Order of calls:  open, (append | blob_add | meta_set)*, (commit | discard), ..., close
 * Owner:           the caller; bytes passed in are copied
 * On failure:      commit: nothing is stored, the batch is kept, and may be committed again or
 *                  discarded. Others: nothing has changed, and no ret_ parameter was written.
 *                  -ENOSPC: the disk is full. -EBADMSG: damaged. -EIO and others: see the message
 * Limits:          below; exceeding them is a bug in the caller, unless stated
 * Spec:            doc/spec/01-journal.md
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "core/journal_port.h"

enum {
    JOURNAL_FORMAT = 1, /* what this tarn writes, and the newest that it knows */
    JOURNAL_RECORD_BYTES_MAX = 64 << 20,
    JOURNAL_BLOB_BYTES_MAX = 64 << 20,
    JOURNAL_SNAPSHOT_BYTES_MAX = 1 << 30,
    JOURNAL_META_KEY_MAX = 64,
    JOURNAL_META_VALUE_MAX = 4096,
};

enum journal_mode {
    JOURNAL_READ,
    JOURNAL_WRITE, /* makes the journal when there is none; the directory must be there */
};

/* Fails with -EBUSY (another daemon has the directory), -ENOENT (no directory; nothing to read),
 * -EPROTONOSUPPORT (written by a newer tarn), -EBADMSG (damaged, or not ours). */
int journal_open(const char *dir, enum journal_mode mode, struct journal **ret, struct error *err);
void journal_close(struct journal *journal); /* NULL is fine; an open batch is lost */

static inline void journal_auto_destroy(struct journal **journal)
{
    journal_close(*journal);
}

/* Add a record to the batch; returns the number that it will have. */
uint64_t journal_append(struct journal *journal, const void *bytes, size_t length);

/* The id of this content: that of an equal blob, stored or in the batch, or a new one. */
uint64_t journal_blob_add(void *journal, const void *bytes, size_t length);

/* Append a blob's bytes; the blob may still be in the batch. -ENOENT: no such blob. */
int journal_blob_get(void *journal, uint64_t id, struct text *ret, struct error *err);

/* A small string by name, in the batch too: format facts, boot id, clocks. Names of the store's
 * own: "needs", "tarn". */
void journal_meta_set(struct journal *journal, const char *key, const char *value);
/* Append the value, the batch's before the stored one; nothing when there is none. */
int journal_meta_get(struct journal *journal, const char *key, struct text *ret, struct error *err);

/* Make the batch durable: when this returns 0, it survives a power loss. An empty one is free. */
int journal_commit(struct journal *journal, struct error *err);
/* Forget the batch; numbers and new ids go back. */
void journal_discard(struct journal *journal);
bool journal_batch_is_empty(const struct journal *journal);

/* The number of the last durable record, 0 for none (a reader asks the file). */
uint64_t journal_last(struct journal *journal);

/* Pass the durable records from a number on, in order, to fn. It may call journal_blob_get() and
 * journal_meta_get(). A result of fn other than 0 ends the reading and is returned; for a negative
 * one, err has the message. Fails with -EBADMSG when a record is damaged or missing. */
int journal_read(struct journal *journal, uint64_t from_sequence, journal_record_fn *fn, void *user,
                 struct error *err);

/* Durable at once, independent of the batch. Fails with -EINVAL when that record is not durable,
 * -EFBIG above JOURNAL_SNAPSHOT_BYTES_MAX. */
int journal_snapshot_save(struct journal *journal, uint64_t sequence, const void *bytes,
                          size_t length, struct error *err);
/* The newest intact one; sequence 0 and no bytes when there is none. Damaged ones are passed
 * over: the records make up for them. */
int journal_snapshot_load(struct journal *journal, struct text *ret_bytes, uint64_t *ret_sequence,
                          struct error *err);

/* Call when there is nothing else to do: moves the write-ahead log into the database, so that no
 * commit has to. */
void journal_idle(struct journal *journal);

int64_t journal_size(const struct journal *journal); /* bytes on disk */

#endif
