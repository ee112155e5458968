/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/journal_private.h"
#include "store/sql.h"

static const char *const statement_texts[STATEMENT_COUNT] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ADD_RECORD] = "INSERT INTO record(sequence, hash, bytes) VALUES(?1, ?2, ?3)",
    [STATEMENT_ADD_BLOB] =
        "INSERT INTO blob(id, hash, codec, size, bytes) VALUES(?1, ?2, ?3, ?4, ?5)",
    [STATEMENT_FIND_BLOB] = "SELECT id, codec, size, bytes FROM blob WHERE hash = ?1 ORDER BY id",
    [STATEMENT_GET_BLOB] = "SELECT id, codec, size, bytes FROM blob WHERE id = ?1",
    [STATEMENT_SET_META] = "INSERT OR REPLACE INTO meta(key, value) VALUES(?1, ?2)",
};

int journal_statement(struct journal *journal, enum statement which, sqlite3_stmt **ret,
                      struct error *err)
{
    sqlite3_stmt **statement = &journal->statements[which];

    if (!*statement && sqlite3_prepare_v3(journal->db, statement_texts[which], -1,
                                          SQLITE_PREPARE_PERSISTENT, statement, NULL) != SQLITE_OK)
        return sql_error(journal->db, journal->path, err);
    *ret = *statement;
    return 0;
}

int journal_row_unpack(struct journal *journal, sqlite3_stmt *row, int64_t size_max,
                       struct text *ret)
{
    int64_t size = sqlite3_column_int64(row, 2);

    if (size < 0 || size > size_max)
        return -EBADMSG;

    struct packed packed = {
        .codec = (enum pack_codec)sqlite3_column_int(row, 1),
        .bytes = sqlite3_column_blob(row, 3),
        .length = (size_t)sqlite3_column_bytes(row, 3),
        .plain_length = (size_t)size,
    };
    return unpack(&journal->packer, &packed, ret);
}

static bool is_equal(const void *a, size_t a_length, const void *b, size_t b_length)
{
    return a_length == b_length && (a_length == 0 || memcmp(a, b, a_length) == 0);
}

static uint64_t find_in_batch(const struct journal *journal, XXH128_hash_t hash, const void *bytes,
                              size_t length)
{
    const struct batch *batch = &journal->batch;
    uint64_t at = 0;

    if (!map_get(&batch->blob_of_hash, hash.low64, &at))
        return 0;
    for (; at > 0; at = batch->blobs.items[at - 1].next) {
        const struct batch_blob *blob = &batch->blobs.items[at - 1];
        if (is_equal(batch->bytes.bytes + blob->span.at, blob->span.length, bytes, length))
            return journal->last_blob + at;
    }
    return 0;
}

/* A blob that can't be read is no match: its content is then stored once more. */
static uint64_t find_stored(struct journal *journal, XXH128_hash_t hash, const void *bytes,
                            size_t length)
{
    sqlite3_stmt *statement;
    XXH128_canonical_t key;
    uint64_t id = 0;

    if (journal_statement(journal, STATEMENT_FIND_BLOB, &statement, NULL) < 0)
        return 0;
    XXH128_canonicalFromHash(&key, hash);
    sql_bind_bytes(statement, 1, key.digest, sizeof(key.digest));
    while (id == 0 && sqlite3_step(statement) == SQLITE_ROW) {
        AUTO_RELEASE(text) struct text stored = { 0 };

        if ((size_t)sqlite3_column_int64(statement, 2) == length &&
            journal_row_unpack(journal, statement, JOURNAL_BLOB_BYTES_MAX, &stored) == 0 &&
            is_equal(stored.bytes, stored.length, bytes, length))
            id = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return id;
}

static uint64_t add_to_batch(struct journal *journal, XXH128_hash_t hash, const void *bytes,
                             size_t length)
{
    struct batch *batch = &journal->batch;
    struct batch_blob blob = { .span = { batch->bytes.length, length }, .hash = hash };
    uint64_t next = 0;

    map_get(&batch->blob_of_hash, hash.low64, &next);
    blob.next = next;
    text_add_bytes(&batch->bytes, bytes, length);
    list_add(&batch->blobs, blob);
    map_set(&batch->blob_of_hash, hash.low64, batch->blobs.count);
    return journal->last_blob + batch->blobs.count;
}

uint64_t journal_blob_last(void *user)
{
    const struct journal *journal = user;

    return journal->last_blob + journal->batch.blobs.count;
}

uint64_t journal_blob_add(void *user, const void *bytes, size_t length)
{
    struct journal *journal = user;
    assert(journal->is_writer && length <= JOURNAL_BLOB_BYTES_MAX);

    XXH128_hash_t hash = XXH3_128bits(bytes, length);
    uint64_t id = find_in_batch(journal, hash, bytes, length);
    if (id == 0)
        id = find_stored(journal, hash, bytes, length);
    return id ? id : add_to_batch(journal, hash, bytes, length);
}

int journal_blobs_write(struct journal *journal, struct error *err)
{
    const struct batch *batch = &journal->batch;
    sqlite3_stmt *statement;

    int code = journal_statement(journal, STATEMENT_ADD_BLOB, &statement, err);
    for (size_t i = 0; code == 0 && i < batch->blobs.count; i++) {
        const struct batch_blob *blob = &batch->blobs.items[i];
        struct packed packed =
            pack(&journal->packer, batch->bytes.bytes + blob->span.at, blob->span.length);
        XXH128_canonical_t key;

        XXH128_canonicalFromHash(&key, blob->hash);
        sqlite3_bind_int64(statement, 1, (int64_t)(journal->last_blob + i + 1));
        sql_bind_bytes(statement, 2, key.digest, sizeof(key.digest));
        sqlite3_bind_int(statement, 3, (int)packed.codec);
        sqlite3_bind_int64(statement, 4, (int64_t)packed.plain_length);
        sql_bind_bytes(statement, 5, packed.bytes, packed.length);
        code = sql_run(statement, journal->path, err);
    }
    return code;
}

static int get_stored(struct journal *journal, uint64_t id, struct text *ret, struct error *err)
{
    sqlite3_stmt *statement;

    int code = journal_statement(journal, STATEMENT_GET_BLOB, &statement, err);
    if (code < 0)
        return code;
    sqlite3_bind_int64(statement, 1, (int64_t)id);
    int step = sqlite3_step(statement);
    if (step == SQLITE_DONE)
        code = error_set(err, -ENOENT, "journal %s: no blob %" PRIu64, journal->path, id);
    else if (step != SQLITE_ROW)
        code = sql_error(journal->db, journal->path, err);
    else if (journal_row_unpack(journal, statement, JOURNAL_BLOB_BYTES_MAX, ret) < 0)
        code = error_set(err, -EBADMSG, "journal %s: damaged: blob %" PRIu64 " cannot be read",
                         journal->path, id);
    sqlite3_reset(statement);
    return code;
}

int journal_blob_get(void *user, uint64_t id, struct text *ret, struct error *err)
{
    struct journal *journal = user;
    const struct batch *batch = &journal->batch;

    if (id > journal->last_blob && id - journal->last_blob <= batch->blobs.count) {
        struct span span = batch->blobs.items[id - journal->last_blob - 1].span;
        text_add_bytes(ret, batch->bytes.bytes + span.at, span.length);
        return 0;
    }
    return get_stored(journal, id, ret, err);
}
