/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_MARK_H
#define STORE_MARK_H

/* mark - the number of the last durable record, in a file beside the database
 *
 * SQLite drops transactions of a damaged write-ahead log without an error: to it, they were never
 * committed. The mark shows that they were. It is written after each commit and never before, and
 * is not synchronized: after a power loss it may be behind the database, never ahead of it.
 *
 * On failure:      a mark that cannot be written stays behind, which is of no harm
 * Spec:            doc/spec/01-journal.md
 */

#include <stdint.h>

/* The mark of a state directory; 0: none, or not readable. */
uint64_t mark_read(const char *dir);

/* The file of the mark, to write; -1: it cannot be opened. */
int mark_open(const char *dir);
void mark_write(int fd, uint64_t sequence);

#endif
