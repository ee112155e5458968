/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/journal_private.h"
#include "store/sql.h"

static bool blob_is_intact(struct journal *journal, sqlite3_stmt *row, struct text *scratch)
{
    XXH128_canonical_t hash;

    text_clear(scratch);
    if (journal_row_unpack(journal, row, JOURNAL_BLOB_BYTES_MAX, scratch) < 0)
        return false;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(text_string(scratch), scratch->length));
    return sqlite3_column_bytes(row, 4) == (int)sizeof(hash.digest) &&
           memcmp(sqlite3_column_blob(row, 4), hash.digest, sizeof(hash.digest)) == 0;
}

static int verify_blobs(struct journal *journal, uint64_t *ret_count, struct error *err)
{
    AUTO_RELEASE(text) struct text scratch = { 0 };
    sqlite3_stmt *rows = NULL;
    uint64_t id = 1;
    int code = 0, step;

    if (sqlite3_prepare_v2(journal->db, "SELECT id, codec, size, bytes, hash FROM blob ORDER BY id",
                           -1, &rows, NULL) != SQLITE_OK)
        return sql_error(journal->db, journal->path, err);
    for (step = sqlite3_step(rows); code == 0 && step == SQLITE_ROW; id++) {
        if ((uint64_t)sqlite3_column_int64(rows, 0) != id)
            code = error_set(err, -EBADMSG, "journal %s: damaged: blob %" PRIu64 " is missing",
                             journal->path, id);
        else if (!blob_is_intact(journal, rows, &scratch))
            code = error_set(err, -EBADMSG,
                             "journal %s: damaged: blob %" PRIu64 " is not what was written",
                             journal->path, id);
        else
            step = sqlite3_step(rows);
    }
    if (code == 0 && step != SQLITE_DONE)
        code = sql_error(journal->db, journal->path, err);
    sqlite3_finalize(rows);
    *ret_count = id - 1;
    return code;
}

int journal_verify(struct journal *journal, struct journal_counts *ret, struct error *err)
{
    struct journal_counts counts = { 0 };

    int code = sql_check(journal->db, journal->path, err);
    if (code == 0)
        code = verify_blobs(journal, &counts.blobs, err);
    if (code == 0)
        code = journal_snapshots_count(journal, &counts, err);
    if (code == 0)
        *ret = counts;
    return code;
}
