/* SPDX-License-Identifier: Apache-2.0 */
#include "store/side.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "io/log.h"
#include "store/side_log.h"
#include "store/sql.h"

const struct side_about side_about[SIDES] = {
#define SIDE(ID, name, what) [SIDE_##ID] = { name, what },
#include "store/side.def"
};

static const char damaged[] = "damaged", newer[] = "newer";

/* Not the logs of databases, which go with them. */
static bool is_aside(const char *name, const char *why)
{
    AUTO_FREE char *mark = mem_printf(".%s-", why);
    const char *found = strstr(name, mark);
    const char *number = found ? found + strlen(mark) : "";

    return number[0] && number[strspn(number, "0123456789")] == '\0';
}

void side_each_aside(const char *dir, side_aside_fn *fn, void *user)
{
    static const char *const reasons[] = { damaged, newer };
    DIR *files = opendir(dir);

    for (struct dirent *file = files ? readdir(files) : NULL; file; file = readdir(files)) {
        for (size_t i = 0; i < COUNT_OF(reasons); i++) {
            if (is_aside(file->d_name, reasons[i]))
                fn(user, file->d_name, reasons[i]);
        }
    }
    if (files)
        closedir(files);
}

static void say(const char *path, const char *kept, const char *why)
{
    log_line(LOG_WARNING, "a database is not used, and is kept file=%s kept=%s reason='%s'", path,
             kept, why);
}

static int put_aside(const char *path, const char *word, const char *why, struct error *err)
{
    AUTO_FREE char *kept = NULL;

    int code = file_put_aside(path, word, &kept, err);
    if (code == 0)
        say(path, kept, why);
    return code;
}

void side_put_aside(const char *path, const struct error *why)
{
    struct error err;

    if (put_aside(path, damaged, why->text, &err) < 0)
        log_line(LOG_WARNING, "a damaged database cannot be kept reason='%s'", err.text);
}

/* These databases are not synchronized: a machine that stops at once may leave any part of a log.
 */
static bool is_from_before_boot(const char *path)
{
    struct timespec wall, up;
    struct stat status;

    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &up);
    return stat(path, &status) == 0 && status.st_mtime < wall.tv_sec - up.tv_sec;
}

/* SQLite goes on with what is before the damage, and overwrites the rest. */
static void keep_damaged_log(const char *path)
{
    AUTO_FREE char *log = mem_printf("%s-wal", path);
    AUTO_FREE char *kept = NULL;
    struct error err;

    if (!side_log_is_damaged(path))
        return;
    if (is_from_before_boot(log))
        log_line(LOG_WARNING, "the machine stopped before the last changes were stored file=%s",
                 log);
    else if (file_copy_aside(log, damaged, &kept, &err) == 0)
        say(log, kept, "damaged: the changes after the damage are lost");
    else
        log_line(LOG_WARNING, "a log is damaged, its last changes are lost file=%s reason='%s'",
                 log, err.text);
}

static int check_format(sqlite3 *db, const char *path, struct error *err)
{
    int64_t format = 0;

    int code = sql_number(db, path, "PRAGMA user_version", &format, err);
    if (code == 0 && format > SIDE_FORMAT)
        return error_set(err, -EPROTONOSUPPORT,
                         "database %s: format %" PRId64 ", of a later version; this tarn knows up "
                         "to %d",
                         path, format, SIDE_FORMAT);
    return code;
}

static int check_content(sqlite3 *db, const char *path, struct error *err)
{
    struct stat status;

    return stat(path, &status) == 0 && status.st_size <= SIDE_CHECKED_MAX ? sql_check(db, path, err)
                                                                          : 0;
}

/* A database of something else has other tables. */
static int check_tables(sqlite3 *db, const struct side_plan *plan, struct error *err)
{
    sqlite3_stmt *statement = NULL;

    int code = sqlite3_prepare_v2(db, plan->probe, -1, &statement, NULL) == SQLITE_OK
                   ? 0
                   : error_set(err, -EBADMSG, "database %s: not a database of tarn: %s", plan->path,
                               sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    return code;
}

/* An index of columns that a table of the same name lacks is no fault of the disk. */
static int make_tables(sqlite3 *db, const struct side_plan *plan, struct error *err)
{
    int code = sql_exec(db, plan->path, plan->schema, err);
    bool is_wrong = code < 0 && sqlite3_errcode(db) == SQLITE_ERROR;

    return is_wrong ? error_set(err, -EBADMSG, "database %s: not a database of tarn: %s",
                                plan->path, sqlite3_errmsg(db))
                    : code;
}

static int set_up(sqlite3 *db, const struct side_plan *plan, struct error *err)
{
    AUTO_FREE char *format = mem_printf("PRAGMA user_version = %d", SIDE_FORMAT);
    int64_t known = 0;

    int code = check_format(db, plan->path, err);
    if (code == 0)
        code = check_content(db, plan->path, err);
    if (code == 0)
        code = make_tables(db, plan, err);
    if (code == 0)
        code = check_tables(db, plan, err);
    if (code == 0)
        code = sql_number(db, plan->path, "PRAGMA user_version", &known, err);
    return code == 0 && known < SIDE_FORMAT ? sql_exec(db, plan->path, format, err) : code;
}

int side_check(const char *path, struct error *err)
{
    sqlite3 *db = NULL;

    /* A daemon that runs may have been writing at the first look. */
    if (side_log_is_damaged(path) && side_log_is_damaged(path))
        return error_set(err, -EBADMSG, "database %s-wal: damaged: the last changes are lost",
                         path);
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK
                   ? check_format(db, path, err)
                   : sql_error(db, path, err);
    if (code == 0)
        code = sql_check(db, path, err);
    sqlite3_close(db);
    return code;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int try_open(const struct side_plan *plan, sqlite3 **ret, struct error *err)
{
    sqlite3 *db = NULL;

    if (is_folder(plan->path))
        return error_set(err, -EBADMSG, "database %s: a folder", plan->path);
    int code = sql_open(plan->path, &db, err);
    if (code == 0)
        code = set_up(db, plan, err);
    if (code == 0) {
        *ret = db;
        return 0;
    }
    if (db) /* what is kept is as it was found */
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(db);
    return code;
}

int side_open(const struct side_plan *plan, sqlite3 **ret, struct error *err)
{
    struct error why;

    keep_damaged_log(plan->path);
    int code = try_open(plan, ret, &why);
    if (code == -EBADMSG || code == -EPROTONOSUPPORT) {
        code = put_aside(plan->path, code == -EBADMSG ? damaged : newer, why.text, err);
        return code < 0 ? code : try_open(plan, ret, err);
    }
    return code < 0 ? error_set(err, code, "%s", why.text) : 0;
}
