/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

/* journal - the events of a state directory, durable, on SQLite
 *
 * Additions are collected in a batch in memory; journal_commit() makes the batch durable in one
 * transaction, all or nothing. Records are opaque bytes, numbered from 1 without gaps, and never
 * deleted. A blob is stored once per content and keeps its id forever. A snapshot stands for all
 * records up to a number; the journal keeps the newest two snapshots.
 *
 * One process writes; it holds a lock on the directory. Any number of processes may read at the
 * same time, also on a read-only file system. A reader sees committed data and changes nothing.
 *
 * Order of calls:  open, (append | blob_add | meta_set)*, (commit | discard), ..., close
 * Owner:           the caller; bytes passed in are copied
 * On failure:      commit: nothing is stored, the batch is kept, and may be committed again or
 *                  discarded. Others: nothing has changed, and no ret_ parameter was written.
 *                  -ENOSPC: the disk is full. -EBADMSG: damaged. -EIO and others: see the message
 * Limits:          see below; exceeding them is a bug in the caller, unless stated otherwise
 * Spec:            doc/spec/01-journal.md
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "core/journal_port.h"

enum {
    JOURNAL_FORMAT = 1, /* the format that this version writes, and the newest that it reads */
    JOURNAL_RECORD_BYTES_MAX = 64 << 20,
    JOURNAL_BLOB_BYTES_MAX = 64 << 20,
    JOURNAL_SNAPSHOT_BYTES_MAX = 1 << 30,
    JOURNAL_META_KEY_MAX = 64,
    JOURNAL_META_VALUE_MAX = 4096,
};

enum journal_mode {
    JOURNAL_READ,
    JOURNAL_WRITE,           /* creates the journal if there is none; the directory must exist */
    JOURNAL_WRITE_WITH_LOSS, /* even if durable records are, or may be, missing; sets the mark */
};

/* Fails with -EBUSY (another daemon uses the directory), -ENOENT (no directory, or no journal to
 * read), -EPROTONOSUPPORT (written by a newer version), -EBADMSG (damaged, not a journal,
 * durable records are missing, or its mark is). */
int journal_open(const char *dir, enum journal_mode mode, struct journal **ret, struct error *err);
/* Take the lock of a directory alone, to change its files; closing *ret_fd releases it. Fails with
 * -EBUSY (a daemon uses the directory). */
int journal_lock(const char *dir, int *ret_fd, struct error *err);
void journal_close(struct journal *journal); /* NULL is fine; an open batch is lost */

static inline void journal_auto_destroy(struct journal **journal)
{
    journal_close(*journal);
}

/* Add a record to the batch; returns the number that it will have. */
uint64_t journal_append(struct journal *journal, const void *bytes, size_t length);

/* The id of this content: the id of an equal blob, stored or in the batch, or a new id. */
uint64_t journal_blob_add(void *journal, const void *bytes, size_t length);
/* The largest id so far: that of a new blob is larger. */
uint64_t journal_blob_last(void *journal);

/* Append a blob's bytes; the blob may still be in the batch. -ENOENT: no such blob. */
int journal_blob_get(void *journal, uint64_t id, struct text *ret, struct error *err);

/* Set a small string by name, as part of the batch: boot id, clocks. The store itself uses the
 * names "needs", "tarn" and "mark". */
void journal_meta_set(struct journal *journal, const char *key, const char *value);
/* Append the value: that of the batch, else the stored one; nothing if there is none. */
int journal_meta_get(struct journal *journal, const char *key, struct text *ret, struct error *err);

/* Make the batch durable: when this returns 0, it survives a power loss. An empty batch costs
 * nothing. */
int journal_commit(struct journal *journal, struct error *err);
/* Discard the batch; its record numbers and ids will be used again. */
void journal_discard(struct journal *journal);
bool journal_batch_is_empty(const struct journal *journal);

/* The number of the last durable record, 0 for none (a reader asks the file). */
uint64_t journal_last(struct journal *journal);

/* Pass the durable records from a number on to fn, in order. fn may call journal_blob_get() and
 * journal_meta_get(). If fn returns a value other than 0, reading ends and returns that value; if
 * it is negative, fn must set err. Fails with -EBADMSG if a record is damaged or missing. */
int journal_read(struct journal *journal, uint64_t from_sequence, journal_record_fn *fn, void *user,
                 struct error *err);

/* The snapshot is durable at once, independent of the batch. Fails with -EINVAL if the record is
 * not durable, and with -EFBIG above JOURNAL_SNAPSHOT_BYTES_MAX. */
int journal_snapshot_save(struct journal *journal, uint64_t sequence, const void *bytes,
                          size_t length, struct error *err);
/* Load the newest intact snapshot; sequence 0 and no bytes if there is none. Damaged snapshots are
 * skipped, because the records contain everything. */
int journal_snapshot_load(struct journal *journal, struct text *ret_bytes, uint64_t *ret_sequence,
                          struct error *err);

struct journal_counts {
    uint64_t blobs, snapshots;
    uint64_t snapshots_damaged; /* the records make up for them */
};

/* Check what journal_read() does not: the structure of the database, each blob and each snapshot.
 * Fails with -EBADMSG, naming the first thing that is damaged. */
int journal_verify(struct journal *journal, struct journal_counts *ret, struct error *err);

/* Call it when idle: copies the write-ahead log into the database, so that no commit has to. */
void journal_idle(struct journal *journal);

int64_t journal_size(const struct journal *journal); /* bytes on disk */

#endif
