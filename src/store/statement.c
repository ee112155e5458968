/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of the journal, prepared when they are first used. */
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
