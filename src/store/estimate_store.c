/* SPDX-License-Identifier: Apache-2.0 */
#include "store/estimate_store.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/side.h"
#include "store/sql.h"

struct estimate_store {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *add, *close_job, *trim;
};

static const char schema[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
    "CREATE TABLE IF NOT EXISTS estimate(job INTEGER, queue TEXT, kind TEXT, shown INTEGER,"
    " low INTEGER, median INTEGER, high INTEGER, guaranteed INTEGER, came INTEGER,"
    " outcome INTEGER, cold INTEGER);"
    "CREATE INDEX IF NOT EXISTS estimate_open ON estimate(job) WHERE outcome = 0;"
    "CREATE INDEX IF NOT EXISTS estimate_shown ON estimate(shown);";

static const char insert[] = "INSERT INTO estimate VALUES(?,?,?,?,?,?,?,?,?,?,?)";

static int prepare(struct estimate_store *store, const char *words, sqlite3_stmt **ret,
                   struct error *err)
{
    return sqlite3_prepare_v2(store->db, words, -1, ret, NULL) == SQLITE_OK
               ? 0
               : sql_error(store->db, store->path, err);
}

int estimate_store_open(const char *path, struct estimate_store **ret, struct error *err)
{
    const struct side_plan plan = { .path = path, .schema = schema, .probe = insert };
    struct estimate_store *store = mem_zero(1, sizeof(*store));

    store->path = mem_string(path);
    int code = side_open(&plan, &store->db, err);
    if (code == 0)
        code = prepare(store, insert, &store->add, err);
    if (code == 0)
        code = prepare(store,
                       "UPDATE estimate SET outcome = ?2, came = max(?3 - shown, 0)"
                       " WHERE job = ?1 AND outcome = 0",
                       &store->close_job, err);
    if (code == 0)
        code = prepare(store,
                       "DELETE FROM estimate WHERE rowid <= (SELECT max(rowid) FROM estimate) - ?1",
                       &store->trim, err);
    if (code < 0)
        estimate_store_close(store);
    else
        *ret = store;
    return code;
}

void estimate_store_close(struct estimate_store *store)
{
    if (!store)
        return;
    sqlite3_finalize(store->add);
    sqlite3_finalize(store->close_job);
    sqlite3_finalize(store->trim);
    sqlite3_close(store->db);
    free(store->path);
    free(store);
}

int estimate_store_begin(struct estimate_store *store, struct error *err)
{
    return sql_exec(store->db, store->path, "BEGIN", err);
}

int estimate_store_add(struct estimate_store *store, const struct estimate_row *row,
                       struct error *err)
{
    sqlite3_stmt *add = store->add;

    sqlite3_bind_int64(add, 1, (int64_t)row->job);
    sqlite3_bind_text(add, 2, row->queue, -1, SQLITE_STATIC);
    sqlite3_bind_text(add, 3, row->kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(add, 4, row->shown);
    sqlite3_bind_int64(add, 5, row->low);
    sqlite3_bind_int64(add, 6, row->median);
    sqlite3_bind_int64(add, 7, row->high);
    sqlite3_bind_int64(add, 8, row->guaranteed);
    sqlite3_bind_int64(add, 9, row->came);
    sqlite3_bind_int(add, 10, row->outcome);
    sqlite3_bind_int(add, 11, row->is_cold);
    return sql_run(add, store->path, err);
}

int estimate_store_close_job(struct estimate_store *store, uint64_t job, usec_t at,
                             enum estimate_outcome outcome, struct error *err)
{
    sqlite3_bind_int64(store->close_job, 1, (int64_t)job);
    sqlite3_bind_int(store->close_job, 2, (int)outcome);
    sqlite3_bind_int64(store->close_job, 3, at);
    return sql_run(store->close_job, store->path, err);
}

int estimate_store_commit(struct estimate_store *store, struct error *err)
{
    sqlite3_bind_int64(store->trim, 1, ESTIMATE_ROWS_MAX);
    int code = sql_run(store->trim, store->path, err);

    return code < 0 ? code : sql_exec(store->db, store->path, "COMMIT", err);
}

int estimate_store_read(struct estimate_store *store, usec_t from, estimate_row_fn *fn, void *user,
                        struct error *err)
{
    sqlite3_stmt *row = NULL;
    int step = SQLITE_DONE;

    int code = prepare(store,
                       "SELECT * FROM estimate WHERE shown >= ?1 AND"
                       " rowid > (SELECT max(rowid) FROM estimate) - ?2 ORDER BY rowid",
                       &row, err);
    if (code < 0)
        return code;
    sqlite3_bind_int64(row, 1, from);
    sqlite3_bind_int64(row, 2, ESTIMATE_READ_MAX);
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        struct estimate_row read = {
            .job = (uint64_t)sqlite3_column_int64(row, 0),
            .queue = (const char *)sqlite3_column_text(row, 1),
            .kind = (const char *)sqlite3_column_text(row, 2),
            .shown = sqlite3_column_int64(row, 3),
            .low = sqlite3_column_int64(row, 4),
            .median = sqlite3_column_int64(row, 5),
            .high = sqlite3_column_int64(row, 6),
            .guaranteed = sqlite3_column_int64(row, 7),
            .came = sqlite3_column_int64(row, 8),
            .outcome = (uint8_t)sqlite3_column_int(row, 9),
            .is_cold = sqlite3_column_int(row, 10) != 0,
        };
        if (read.queue && read.kind)
            fn(user, &read);
    }
    code = step == SQLITE_DONE ? 0 : sql_error(store->db, store->path, err);
    sqlite3_finalize(row);
    return code;
}
