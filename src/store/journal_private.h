/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_JOURNAL_PRIVATE_H
#define STORE_JOURNAL_PRIVATE_H

/* journal_private - shared by the files of the journal; no other file includes it */

#include <sqlite3.h>
#include <xxhash.h>

#include "base/map.h"
#include "base/mem.h"
#include "store/compress.h"
#include "store/journal.h"
#include "store/mark.h"

enum {
    JOURNAL_APPLICATION_ID = 0x7461726e, /* "tarn": identifies the file, also for file(1) */
    SNAPSHOTS_KEPT = 2,
    SNAPSHOT_PART_BYTES = 256 << 10, /* limits the extra memory for saving and loading */
    WAL_PAGES_MAX = 2000, /* a commit copies the log then, if journal_idle() was not called */
    WAL_PAGES_IDLE = 64,  /* fewer pages are not worth a sync */
};

enum statement {
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_ADD_RECORD,
    STATEMENT_ADD_BLOB,
    STATEMENT_FIND_BLOB,
    STATEMENT_GET_BLOB,
    STATEMENT_SET_META,
    STATEMENT_COUNT,
};

/* Bytes inside batch.bytes. */
struct span {
    size_t at;
    size_t length;
};

struct batch_blob {
    struct span span;
    XXH128_hash_t hash;
    size_t next; /* next blob with the same hash.low64, as 1 + index; 0: none */
};

struct batch_meta {
    char *key;
    char *value;
};

struct batch {
    struct text bytes;
    LIST(struct span) records;
    LIST(struct batch_blob) blobs;
    LIST(struct batch_meta) metas;
    struct map blob_of_hash; /* hash.low64 -> 1 + index of the last one added */
};

struct journal {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared when first used */
    char *path;                                /* of the database */
    int lock_fd;                               /* -1 for readers */
    struct mark mark;                          /* not open for readers */
    bool is_writer;
    uint64_t last;      /* last durable record */
    uint64_t last_blob; /* last durable blob id */
    int wal_pages;
    struct batch batch;
    struct packer packer;
};

/* A prepared statement, ready to bind. */
int journal_statement(struct journal *journal, enum statement which, sqlite3_stmt **ret,
                      struct error *err);

/* Append the bytes of a row whose columns 1 to 3 are codec, size and bytes; -EBADMSG: damaged. */
int journal_row_unpack(struct journal *journal, sqlite3_stmt *row, int64_t size_max,
                       struct text *ret);
/* Write the batch's blobs, inside a transaction. */
int journal_blobs_write(struct journal *journal, struct error *err);

int journal_snapshots_count(struct journal *journal, struct journal_counts *counts,
                            struct error *err);

/* Copy the log into the database if it has so many pages. */
void journal_checkpoint(struct journal *journal, int pages_min);

/* Begin and end a transaction; with a negative code, journal_end() rolls it back. */
int journal_begin(struct journal *journal, struct error *err);
int journal_end(struct journal *journal, int code, struct error *err);

#endif
