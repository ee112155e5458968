/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_MARK_H
#define STORE_MARK_H

/* mark - the number of the last durable record, in a file beside the database
 *
 * SQLite drops transactions of a damaged write-ahead log without an error: to it, they were never
 * committed. The mark shows that they were. It is written after each commit and never before, and
 * is not synchronized: after a power loss it may be behind the database, never ahead of it.
 *
 * The file has two lines, each with a checksum, which are written in turn: a write that was cut
 * short leaves the other one. A file without a good line is therefore damaged.
 *
 * Order of calls:  open, write*, close
 * On failure:      a mark that cannot be written stays behind, which is of no harm
 * Spec:            doc/spec/01-journal.md
 */

#include <stdint.h>

#include "base/error.h"

struct mark {
    int fd; /* -1: not open */
    unsigned turn;
};

/* 1: read, 0: there is none. Fails with -EBADMSG: it is damaged, or cannot be read. */
int mark_read(const char *dir, uint64_t *ret, struct error *err);

/* Set the mark, durably, and keep it open. What is in its place and is no mark is put aside
 * (io/file.h). */
int mark_open(const char *dir, uint64_t sequence, struct mark *ret, struct error *err);
void mark_write(struct mark *mark, uint64_t sequence);
void mark_close(struct mark *mark);

/* Set it, as mark_open() does, and close it. */
int mark_set(const char *dir, uint64_t sequence, struct error *err);
void mark_remove(const char *dir);

#endif
