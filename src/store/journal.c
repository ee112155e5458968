/* SPDX-License-Identifier: Apache-2.0 */
#include "store/journal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/journal_private.h"
#include "store/sql.h"

/* Above this, memory of a large batch is given back. */
enum { BATCH_BYTES_KEPT = 1 << 20 };

static int run(struct journal *journal, enum statement which, struct error *err)
{
    sqlite3_stmt *statement;

    int code = journal_statement(journal, which, &statement, err);
    return code < 0 ? code : sql_run(statement, journal->path, err);
}

int journal_begin(struct journal *journal, struct error *err)
{
    return run(journal, STATEMENT_BEGIN, err);
}

int journal_end(struct journal *journal, int code, struct error *err)
{
    if (code == 0)
        code = run(journal, STATEMENT_COMMIT, err);
    if (code < 0 && !sqlite3_get_autocommit(journal->db))
        sqlite3_exec(journal->db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

/* The number is in the hash: a record in another's place is found out too. */
static int32_t record_hash(uint64_t sequence, const void *bytes, size_t length)
{
    return (int32_t)(uint32_t)XXH3_64bits_withSeed(bytes, length, sequence);
}

uint64_t journal_append(struct journal *journal, const void *bytes, size_t length)
{
    assert(journal->is_writer && length <= JOURNAL_RECORD_BYTES_MAX);
    list_add(&journal->batch.records, (struct span){ journal->batch.bytes.length, length });
    text_add_bytes(&journal->batch.bytes, bytes, length);
    return journal->last + journal->batch.records.count;
}

void journal_meta_set(struct journal *journal, const char *key, const char *value)
{
    struct batch *batch = &journal->batch;

    assert(journal->is_writer && strlen(key) <= JOURNAL_META_KEY_MAX);
    assert(strlen(value) <= JOURNAL_META_VALUE_MAX);
    list_add(&batch->metas, (struct batch_meta){ mem_string(key), mem_string(value) });
}

int journal_meta_get(struct journal *journal, const char *key, struct text *ret, struct error *err)
{
    const struct batch *batch = &journal->batch;
    sqlite3_stmt *statement = NULL;

    for (size_t i = batch->metas.count; i > 0; i--) {
        if (strcmp(batch->metas.items[i - 1].key, key) == 0) {
            text_add(ret, batch->metas.items[i - 1].value);
            return 0;
        }
    }

    if (sqlite3_prepare_v2(journal->db, "SELECT value FROM meta WHERE key = ?1", -1, &statement,
                           NULL) != SQLITE_OK)
        return sql_error(journal->db, journal->path, err);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW)
        text_add_bytes(ret, sqlite3_column_text(statement, 0),
                       (size_t)sqlite3_column_bytes(statement, 0));
    int code =
        step == SQLITE_ROW || step == SQLITE_DONE ? 0 : sql_error(journal->db, journal->path, err);
    sqlite3_finalize(statement);
    return code;
}

bool journal_batch_is_empty(const struct journal *journal)
{
    const struct batch *batch = &journal->batch;

    return batch->records.count + batch->blobs.count + batch->metas.count == 0;
}

void journal_discard(struct journal *journal)
{
    struct batch *batch = &journal->batch;

    for (size_t i = 0; i < batch->metas.count; i++) {
        free(batch->metas.items[i].key);
        free(batch->metas.items[i].value);
    }
    if (batch->bytes.capacity > BATCH_BYTES_KEPT) {
        text_release(&batch->bytes);
        list_release(&batch->records);
        list_release(&batch->blobs);
    }
    text_clear(&batch->bytes);
    batch->records.count = batch->blobs.count = batch->metas.count = 0;
    map_release(&batch->blob_of_hash);
}

static int write_records(struct journal *journal, struct error *err)
{
    const struct batch *batch = &journal->batch;
    sqlite3_stmt *statement;

    int code = journal_statement(journal, STATEMENT_ADD_RECORD, &statement, err);
    for (size_t i = 0; code == 0 && i < batch->records.count; i++) {
        struct span span = batch->records.items[i];
        const char *bytes = batch->bytes.bytes + span.at;
        uint64_t sequence = journal->last + i + 1;

        sqlite3_bind_int64(statement, 1, (int64_t)sequence);
        sqlite3_bind_int64(statement, 2, record_hash(sequence, bytes, span.length));
        sql_bind_bytes(statement, 3, bytes, span.length);
        code = sql_run(statement, journal->path, err);
    }
    return code;
}

static int write_metas(struct journal *journal, struct error *err)
{
    const struct batch *batch = &journal->batch;
    sqlite3_stmt *statement;

    int code = journal_statement(journal, STATEMENT_SET_META, &statement, err);
    for (size_t i = 0; code == 0 && i < batch->metas.count; i++) {
        sqlite3_bind_text(statement, 1, batch->metas.items[i].key, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, batch->metas.items[i].value, -1, SQLITE_STATIC);
        code = sql_run(statement, journal->path, err);
    }
    return code;
}

void journal_checkpoint(struct journal *journal, int pages_min)
{
    int left = 0, moved = 0;

    if (journal->wal_pages < pages_min)
        return;
    /* A failure is of no harm: the log keeps what it has, and the next one tries again. */
    if (sqlite3_wal_checkpoint_v2(journal->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &left, &moved) ==
            SQLITE_OK &&
        moved == left)
        journal->wal_pages = 0;
}

int journal_commit(struct journal *journal, struct error *err)
{
    if (journal_batch_is_empty(journal))
        return 0;

    int code = journal_begin(journal, err);
    if (code == 0) {
        code = journal_blobs_write(journal, err);
        if (code == 0)
            code = write_records(journal, err);
        if (code == 0)
            code = write_metas(journal, err);
        code = journal_end(journal, code, err);
    }
    if (code < 0)
        return code;

    journal->last += journal->batch.records.count;
    journal->last_blob += journal->batch.blobs.count;
    mark_write(&journal->mark, journal->last);
    journal_discard(journal);
    journal_checkpoint(journal, WAL_PAGES_MAX);
    return 0;
}

void journal_idle(struct journal *journal)
{
    if (journal->is_writer)
        journal_checkpoint(journal, WAL_PAGES_IDLE);
}

uint64_t journal_last(struct journal *journal)
{
    int64_t last;

    if (!journal->is_writer && sql_number(journal->db, journal->path,
                                          "SELECT max(sequence) FROM record", &last, NULL) == 0)
        journal->last = (uint64_t)last;
    return journal->last;
}

/* Check one row and pass it on. */
static int read_row(struct journal *journal, sqlite3_stmt *row, uint64_t expected,
                    journal_record_fn *fn, void *user, struct error *err)
{
    struct journal_record record = {
        .sequence = (uint64_t)sqlite3_column_int64(row, 0),
        .bytes = sqlite3_column_blob(row, 2),
        .length = (size_t)sqlite3_column_bytes(row, 2),
    };

    if (record.sequence != expected)
        return error_set(err, -EBADMSG, "journal %s: damaged: record %" PRIu64 " is missing",
                         journal->path, expected);
    if (sqlite3_column_int64(row, 1) != record_hash(expected, record.bytes, record.length))
        return error_set(err, -EBADMSG,
                         "journal %s: damaged: record %" PRIu64 " is not what was written",
                         journal->path, expected);
    return fn(user, &record, err);
}

int journal_read(struct journal *journal, uint64_t from_sequence, journal_record_fn *fn, void *user,
                 struct error *err)
{
    sqlite3_stmt *rows = NULL;
    uint64_t sequence = from_sequence ? from_sequence : 1;

    if (sqlite3_prepare_v2(journal->db,
                           "SELECT sequence, hash, bytes FROM record WHERE sequence >= ?1 "
                           "ORDER BY sequence",
                           -1, &rows, NULL) != SQLITE_OK)
        return sql_error(journal->db, journal->path, err);
    sqlite3_bind_int64(rows, 1, (int64_t)sequence);

    int step = sqlite3_step(rows);
    int code = 0;
    for (; step == SQLITE_ROW && code == 0; sequence++) {
        code = read_row(journal, rows, sequence, fn, user, err);
        if (code == 0)
            step = sqlite3_step(rows);
    }
    if (code == 0 && step != SQLITE_DONE)
        code = sql_error(journal->db, journal->path, err);
    sqlite3_finalize(rows);
    return code;
}

static int64_t file_size(const char *path, const char *suffix)
{
    AUTO_FREE char *name = mem_printf("%s%s", path, suffix);
    struct stat info;

    return stat(name, &info) == 0 ? (int64_t)info.st_size : 0;
}

int64_t journal_size(const struct journal *journal)
{
    return file_size(journal->path, "") + file_size(journal->path, "-wal");
}
