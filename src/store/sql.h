/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

/* sql - the SQLite calls that the store uses, with our error codes and messages */

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The message of the last failure on db: "journal PATH: the disk is full". Codes: -ENOSPC (disk or
 * quota full), -EROFS, -EBUSY, -EACCES, -EBADMSG (damaged, or no database), -EIO for the rest. */
int sql_error(sqlite3 *db, const char *path, struct error *err);

/* Open a database to read and write; it is created if it does not exist. Only the owner may
 * read it; the mode of a database of an earlier version is corrected. */
int sql_open(const char *path, sqlite3 **ret, struct error *err);

/* One or more statements without a result. */
int sql_exec(sqlite3 *db, const char *path, const char *statements, struct error *err);

/* The first column of the first row as a number; 0 if there is no row, or it is NULL. */
int sql_number(sqlite3 *db, const char *path, const char *query, int64_t *ret, struct error *err);

/* SQLite's own check of pages, indexes and columns; -EBADMSG: damaged. */
int sql_check(sqlite3 *db, const char *path, struct error *err);

/* Copy a database, as it was committed last, into a new file; others may write it meanwhile. */
int sql_copy(const char *from, const char *to, struct error *err);

/* The bytes must outlive the step; no bytes give an empty blob, not NULL. */
void sql_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t length);

/* Run a prepared statement that returns no rows, and reset it for the next use. */
int sql_run(sqlite3_stmt *statement, const char *path, struct error *err);

#endif
