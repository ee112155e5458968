/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sql.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

int sql_error(sqlite3 *db, const char *path, struct error *err)
{
    int system = sqlite3_system_errno(db);
    int code = sqlite3_errcode(db) & 0xff;

    if (code == SQLITE_FULL || (code == SQLITE_IOERR && system == ENOSPC))
        return error_set(err, -ENOSPC, "journal %s: the disk is full", path);
    if (code == SQLITE_IOERR && system == EDQUOT)
        return error_set(err, -ENOSPC, "journal %s: the disk quota is used up", path);
    switch (code) {
    case SQLITE_NOTADB:
        return error_set(err, -EBADMSG, "journal %s: not a tarn journal: no database", path);
    case SQLITE_CORRUPT:
        return error_set(err, -EBADMSG, "journal %s: damaged: %s", path, sqlite3_errmsg(db));
    case SQLITE_READONLY:
        return error_set(err, -EROFS, "journal %s: cannot be written: %s", path,
                         sqlite3_errmsg(db));
    case SQLITE_BUSY:
        return error_set(err, -EBUSY, "journal %s: locked by another program", path);
    case SQLITE_PERM:
        return error_set(err, -EACCES, "journal %s: permission denied", path);
    default:
        return error_set(err, -EIO, "journal %s: %s%s%s", path, sqlite3_errmsg(db),
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
