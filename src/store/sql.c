/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sql.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

enum { COPY_WAIT_MS = 5000 };

int sql_error(sqlite3 *db, const char *path, struct error *err)
{
    int system = sqlite3_system_errno(db);
    int code = sqlite3_errcode(db) & 0xff;
    bool is_journal = string_ends(path, "/journal.db");
    const char *noun = is_journal ? "journal" : "database";

    if (code == SQLITE_FULL || (code == SQLITE_IOERR && system == ENOSPC))
        return error_set(err, -ENOSPC, "%s %s: the disk is full", noun, path);
    if (code == SQLITE_IOERR && system == EDQUOT)
        return error_set(err, -ENOSPC, "%s %s: the disk quota is used up", noun, path);
    switch (code) {
    case SQLITE_NOTADB:
        return error_set(err, -EBADMSG, "%s %s: not a %s: no database", noun, path,
                         is_journal ? "tarn journal" : "database of tarn");
    case SQLITE_CORRUPT:
        return error_set(err, -EBADMSG, "%s %s: damaged: %s", noun, path, sqlite3_errmsg(db));
    case SQLITE_READONLY:
        return error_set(err, -EROFS, "%s %s: cannot be written: %s", noun, path,
                         sqlite3_errmsg(db));
    case SQLITE_BUSY:
        return error_set(err, -EBUSY, "%s %s: locked by another program", noun, path);
    case SQLITE_PERM:
        return error_set(err, -EACCES, "%s %s: permission denied", noun, path);
    default:
        return error_set(err, -EIO, "%s %s: %s%s%s", noun, path, sqlite3_errmsg(db),
                         system ? ": " : "", system ? strerror(system) : "");
    }
}

/* SQLite gives its other files the mode of the first when it makes them. What fails here fails
 * again when SQLite tries it, with its words. An existing database is not opened here: to close it
 * would release the locks of other connections of this process. */
static void make_private(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        AUTO_FREE char *file = mem_printf("%s%s", path, ends[i]);
        chmod(file, 0600);
    }
}

int sql_open(const char *path, sqlite3 **ret, struct error *err)
{
    make_private(path);
    if (sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) == SQLITE_OK)
        return 0;
    int code = sql_error(*ret, path, err);
    sqlite3_close(*ret);
    *ret = NULL;
    return code;
}

int sql_exec(sqlite3 *db, const char *path, const char *statements, struct error *err)
{
    if (sqlite3_exec(db, statements, NULL, NULL, NULL) != SQLITE_OK)
        return sql_error(db, path, err);
    return 0;
}

int sql_number(sqlite3 *db, const char *path, const char *query, int64_t *ret, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = 0;

    if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) != SQLITE_OK)
        return sql_error(db, path, err);

    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    int code = step == SQLITE_ROW || step == SQLITE_DONE ? 0 : sql_error(db, path, err);
    sqlite3_finalize(statement);
    if (code == 0)
        *ret = number;
    return code;
}

void sql_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t length)
{
    int code = length == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                           : sqlite3_bind_blob64(statement, index, bytes, length, SQLITE_STATIC);
    assert(code == SQLITE_OK);
    (void)code;
}

int sql_run(sqlite3_stmt *statement, const char *path, struct error *err)
{
    int step = sqlite3_step(statement);
    int code = step == SQLITE_DONE ? 0 : sql_error(sqlite3_db_handle(statement), path, err);

    sqlite3_reset(statement);
    return code;
}

int sql_check(sqlite3 *db, const char *path, struct error *err)
{
    sqlite3_stmt *rows = NULL;
    int code = 0;

    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &rows, NULL) != SQLITE_OK)
        return sql_error(db, path, err);
    int step = sqlite3_step(rows);
    const char *words = step == SQLITE_ROW ? (const char *)sqlite3_column_text(rows, 0) : NULL;
    if (!words)
        code = sql_error(db, path, err);
    else if (strcmp(words, "ok") != 0)
        code =
            error_set(err, -EBADMSG, "%s: damaged: %.*s", path, (int)strcspn(words, "\n"), words);
    sqlite3_finalize(rows);
    return code;
}

int sql_copy(const char *from, const char *to, struct error *err)
{
    sqlite3 *source = NULL, *copy = NULL;

    int code = sqlite3_open_v2(from, &source, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ==
                       SQLITE_OK
                   ? sql_open(to, &copy, err)
                   : sql_error(source, from, err);
    if (code == 0) {
        sqlite3_busy_timeout(source, COPY_WAIT_MS);
        sqlite3_backup *backup = sqlite3_backup_init(copy, "main", source, "main");
        if (!backup || sqlite3_backup_step(backup, -1) != SQLITE_DONE ||
            sqlite3_backup_finish(TAKE(backup)) != SQLITE_OK)
            code = sql_error(copy, to, err);
        sqlite3_backup_finish(backup);
    }
    sqlite3_close(copy);
    sqlite3_close(source);
    return code;
}
