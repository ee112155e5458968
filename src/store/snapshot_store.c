/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/journal_private.h"
#include "store/sql.h"

static int prepare(struct journal *journal, const char *query, uint64_t sequence,
                   sqlite3_stmt **ret, struct error *err)
{
    if (sqlite3_prepare_v2(journal->db, query, -1, ret, NULL) != SQLITE_OK)
        return sql_error(journal->db, journal->path, err);
    sqlite3_bind_int64(*ret, 1, (int64_t)sequence);
    return 0;
}

/* One statement about one snapshot. */
static int run_once(struct journal *journal, const char *query, uint64_t sequence,
                    struct error *err)
{
    sqlite3_stmt *statement = NULL;

    int code = prepare(journal, query, sequence, &statement, err);
    if (code == 0)
        code = sql_run(statement, journal->path, err);
    sqlite3_finalize(statement);
    return code;
}

static int write_head(struct journal *journal, uint64_t sequence, const void *bytes, size_t length,
                      struct error *err)
{
    sqlite3_stmt *statement = NULL;
    XXH128_canonical_t hash;

    int code = prepare(journal, "INSERT INTO snapshot(sequence, size, hash) VALUES(?1, ?2, ?3)",
                       sequence, &statement, err);
    if (code < 0)
        return code;
    XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes, length));
    sqlite3_bind_int64(statement, 2, (int64_t)length);
    sql_bind_bytes(statement, 3, hash.digest, sizeof(hash.digest));
    code = sql_run(statement, journal->path, err);
    sqlite3_finalize(statement);
    return code;
}

static int write_parts(struct journal *journal, uint64_t sequence, const char *bytes, size_t length,
                       struct error *err)
{
    sqlite3_stmt *statement = NULL;

    int code = prepare(journal,
                       "INSERT INTO snapshot_part(sequence, part, codec, size, bytes) "
                       "VALUES(?1, ?2, ?3, ?4, ?5)",
                       sequence, &statement, err);
    for (size_t at = 0; code == 0 && at < length; at += SNAPSHOT_PART_BYTES) {
        size_t left = length - at;
        struct packed packed = pack(&journal->packer, bytes + at,
                                    left < SNAPSHOT_PART_BYTES ? left : SNAPSHOT_PART_BYTES);

        sqlite3_bind_int64(statement, 2, (int64_t)(at / SNAPSHOT_PART_BYTES));
        sqlite3_bind_int(statement, 3, (int)packed.codec);
        sqlite3_bind_int64(statement, 4, (int64_t)packed.plain_length);
        sql_bind_bytes(statement, 5, packed.bytes, packed.length);
        code = sql_run(statement, journal->path, err);
    }
    sqlite3_finalize(statement);
    return code;
}

static int replace(struct journal *journal, uint64_t sequence, const void *bytes, size_t length,
                   struct error *err)
{
    int code = run_once(journal, "DELETE FROM snapshot_part WHERE sequence = ?1", sequence, err);

    if (code == 0)
        code = run_once(journal, "DELETE FROM snapshot WHERE sequence = ?1", sequence, err);
    if (code == 0)
        code = write_head(journal, sequence, bytes, length, err);
    if (code == 0)
        code = write_parts(journal, sequence, bytes, length, err);
    if (code == 0)
        code = run_once(journal,
                        "DELETE FROM snapshot WHERE sequence NOT IN "
                        "(SELECT sequence FROM snapshot ORDER BY sequence DESC LIMIT ?1)",
                        SNAPSHOTS_KEPT, err);
    if (code == 0)
        code = sql_exec(journal->db, journal->path,
                        "DELETE FROM snapshot_part WHERE sequence NOT IN "
                        "(SELECT sequence FROM snapshot)",
                        err);
    return code;
}

int journal_snapshot_save(struct journal *journal, uint64_t sequence, const void *bytes,
                          size_t length, struct error *err)
{
    assert(journal->is_writer);
    if (sequence < 1 || sequence > journal->last)
        return error_set(err, -EINVAL,
                         "snapshot of record %" PRIu64
                         ": not a durable record; the last is %" PRIu64,
                         sequence, journal->last);
    if (length > JOURNAL_SNAPSHOT_BYTES_MAX)
        return error_set(err, -EFBIG, "snapshot of record %" PRIu64 ": %zu bytes, more than %d",
                         sequence, length, JOURNAL_SNAPSHOT_BYTES_MAX);

    int code = journal_begin(journal, err);
    if (code < 0)
        return code;
    code = replace(journal, sequence, bytes, length, err);
    return journal_end(journal, code, err);
}

/* Append the parts; false when they can't all be had. */
static bool read_parts(struct journal *journal, uint64_t sequence, struct text *bytes)
{
    sqlite3_stmt *rows = NULL;
    int64_t part = 0;
    bool is_good = true;

    if (prepare(journal,
                "SELECT part, codec, size, bytes FROM snapshot_part WHERE sequence = ?1 "
                "ORDER BY part",
                sequence, &rows, NULL) < 0)
        return false;

    int step = sqlite3_step(rows);
    for (; is_good && step == SQLITE_ROW; part++) {
        is_good = sqlite3_column_int64(rows, 0) == part &&
                  journal_row_unpack(journal, rows, SNAPSHOT_PART_BYTES, bytes) == 0;
        if (is_good)
            step = sqlite3_step(rows);
    }
    sqlite3_finalize(rows);
    return is_good && step == SQLITE_DONE;
}

static bool is_intact(sqlite3_stmt *head, const struct text *bytes)
{
    XXH128_canonical_t hash;

    XXH128_canonicalFromHash(&hash, XXH3_128bits(text_string(bytes), bytes->length));
    return sqlite3_column_int64(head, 1) == (int64_t)bytes->length &&
           sqlite3_column_bytes(head, 2) == (int)sizeof(hash.digest) &&
           memcmp(sqlite3_column_blob(head, 2), hash.digest, sizeof(hash.digest)) == 0;
}

int journal_snapshot_load(struct journal *journal, struct text *ret_bytes, uint64_t *ret_sequence,
                          struct error *err)
{
    sqlite3_stmt *heads = NULL;
    uint64_t found = 0;
    int step;

    int code = prepare(journal, "SELECT sequence, size, hash FROM snapshot ORDER BY sequence DESC",
                       0, &heads, err);
    if (code < 0)
        return code;
    for (step = sqlite3_step(heads); found == 0 && step == SQLITE_ROW; step = sqlite3_step(heads)) {
        uint64_t sequence = (uint64_t)sqlite3_column_int64(heads, 0);
        AUTO_RELEASE(text) struct text bytes = { 0 };

        if (!read_parts(journal, sequence, &bytes) || !is_intact(heads, &bytes))
            continue;
        found = sequence;
        text_release(ret_bytes);
        *ret_bytes = bytes;
        bytes = (struct text){ 0 };
    }
    if (found == 0 && step != SQLITE_DONE)
        code = sql_error(journal->db, journal->path, err);
    sqlite3_finalize(heads);
    if (code == 0)
        *ret_sequence = found;
    return code;
}

int journal_snapshots_count(struct journal *journal, struct journal_counts *counts,
                            struct error *err)
{
    sqlite3_stmt *heads = NULL;
    int step;

    int code = prepare(journal, "SELECT sequence, size, hash FROM snapshot", 0, &heads, err);
    if (code < 0)
        return code;
    for (step = sqlite3_step(heads); step == SQLITE_ROW; step = sqlite3_step(heads)) {
        AUTO_RELEASE(text) struct text bytes = { 0 };

        counts->snapshots++;
        counts->snapshots_damaged +=
            !read_parts(journal, (uint64_t)sqlite3_column_int64(heads, 0), &bytes) ||
            !is_intact(heads, &bytes);
    }
    if (step != SQLITE_DONE)
        code = sql_error(journal->db, journal->path, err);
    sqlite3_finalize(heads);
    return code;
}
