/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SIDE_LOG_H
#define STORE_SIDE_LOG_H

/* side_log - finds transactions of a write-ahead log that SQLite drops without an error
 *
 * SQLite takes a log up to the first frame whose checksum is wrong. If frames of the same log
 * follow, and one of them ends a transaction, something was committed that is lost.
 * Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */

#include <stdbool.h>

/* Before the database is opened. */
bool side_log_is_damaged(const char *path);

#endif
