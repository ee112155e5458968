/* SPDX-License-Identifier: Apache-2.0 */
/* A database beside the journal that cannot be used is kept, said, and begun anew. */
#include "scratch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "io/log.h"
#include "store/side.h"
#include "store/sql.h"

static char said[1024];
static unsigned warnings;

void log_line(int priority, const char *format, ...)
{
    va_list list;

    warnings += priority == LOG_WARNING;
    va_start(list, format);
    vsnprintf(said, sizeof(said), format, list);
    va_end(list);
}

enum { ROWS = 40, PAGE = 4096 };

static sqlite3 *open_side(const char *dir)
{
    AUTO_FREE char *path = mem_printf("%s/test.db", dir);
    const struct side_plan plan = {
        .path = path,
        .schema = "PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS row(id INTEGER, text TEXT);"
                  "CREATE INDEX IF NOT EXISTS by_text ON row(text);",
        .probe = "INSERT INTO row VALUES(?, ?)",
    };
    struct error err = { "" };
    sqlite3 *db = NULL;

    said[0] = '\0';
    warnings = 0;
    if (side_open(&plan, &db, &err) < 0)
        fail_msg("%s", err.text);
    return db;
}

/* Each row is a transaction, and takes most of a page. */
static void fill(sqlite3 *db)
{
    for (int i = 0; i < ROWS; i++) {
        AUTO_FREE char *add = mem_printf("INSERT INTO row VALUES(%d, '%03000d')", i, i);
        assert_int_equal(sqlite3_exec(db, add, NULL, NULL, NULL), SQLITE_OK);
    }
}

static int64_t rows_of(sqlite3 *db)
{
    struct error err = { "" };
    int64_t count = -1;

    if (sql_number(db, "test.db", "SELECT count(*) FROM row", &count, &err) < 0)
        fail_msg("%s", err.text);
    return count;
}

static void close_without_checkpoint(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(db);
}

static void change_byte(const char *dir, const char *name, long at)
{
    AUTO_FREE char *path = mem_printf("%s/%s", dir, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (char)(byte ^ 0x5a);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

struct aside {
    unsigned count;
    char name[256], why[16];
};

static void take_aside(void *user, const char *name, const char *why)
{
    struct aside *aside = user;

    aside->count++;
    snprintf(aside->name, sizeof(aside->name), "%s", name);
    snprintf(aside->why, sizeof(aside->why), "%s", why);
}

static struct aside asides_of(const char *dir)
{
    struct aside aside = { 0 };

    side_each_aside(dir, take_aside, &aside);
    return aside;
}

static char *filled(void)
{
    char *dir = scratch_create();
    sqlite3 *db = open_side(dir);

    fill(db);
    sqlite3_close(db);
    return dir;
}

static int check(const char *dir)
{
    AUTO_FREE char *path = mem_printf("%s/test.db", dir);
    struct error err;

    return side_check(path, &err);
}

static void check_kept(char *dir, const char *why, const char *words)
{
    sqlite3 *db = open_side(dir);

    assert_int_equal(warnings, 1);
    assert_non_null(strstr(said, "a database is not used, and is kept"));
    assert_non_null(strstr(said, words));
    assert_int_equal(rows_of(db), 0);
    sqlite3_close(db);
    struct aside aside = asides_of(dir);
    assert_int_equal(aside.count, 1);
    assert_string_equal(aside.why, why);
    assert_non_null(strstr(said, aside.name));
    db = open_side(dir); /* said once */
    assert_int_equal(warnings, 0);
    sqlite3_close(db);
}

static void what_is_intact_is_used(void **state)
{
    char *dir = filled();
    (void)state;

    sqlite3 *db = open_side(dir);
    assert_int_equal(rows_of(db), ROWS);
    close_without_checkpoint(db);
    db = open_side(dir);
    fill(db);
    close_without_checkpoint(db);
    db = open_side(dir);
    assert_int_equal(rows_of(db), 2 * ROWS);
    assert_int_equal(warnings, 0);
    assert_int_equal(asides_of(dir).count, 0);
    sqlite3_close(db);
    scratch_destroy(dir);
}

static void a_damaged_file_is_kept(void **state)
{
    static const long changed[] = { 0, PAGE + 3, 5 * PAGE };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        char *dir = filled();
        assert_int_equal(check(dir), 0);
        change_byte(dir, "test.db", changed[i]);
        assert_int_equal(check(dir), -EBADMSG);
        check_kept(dir, "damaged", "test.db");
        scratch_destroy(dir);
    }
}

static void a_file_of_a_newer_version_is_kept(void **state)
{
    char *dir = filled();
    AUTO_FREE char *path = mem_printf("%s/test.db", dir);
    sqlite3 *db;
    (void)state;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(check(dir), -EPROTONOSUPPORT);
    check_kept(dir, "newer", "format 2, of a later version; this tarn knows up to 1");
    struct aside aside = asides_of(dir);
    AUTO_FREE char *kept = mem_printf("%s/%s", dir, aside.name);
    assert_int_equal(sqlite3_open(kept, &db), SQLITE_OK); /* whole */
    assert_int_equal(rows_of(db), ROWS);
    sqlite3_close(db);
    scratch_destroy(dir);
}

static void a_database_of_something_else_and_a_folder_are_kept(void **state)
{
    char *dir = scratch_create();
    AUTO_FREE char *path = mem_printf("%s/test.db", dir);
    sqlite3 *db;
    (void)state;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE row(other TEXT)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    check_kept(dir, "damaged", "not a database of tarn");
    scratch_destroy(dir);

    dir = scratch_create();
    AUTO_FREE char *folder = mem_printf("%s/test.db", dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    check_kept(dir, "damaged", "a folder");
    struct aside aside = asides_of(dir);
    AUTO_FREE char *kept = mem_printf("%s/%s", dir, aside.name);
    assert_int_equal(rmdir(kept), 0);
    scratch_destroy(dir);
}

/* SQLite drops what is behind the damage without an error. */
static void a_damaged_log_is_kept_and_what_is_before_the_damage_counts(void **state)
{
    static const int parts[] = { 0, 1, 50, 90 }; /* percent; 0: the salt of the first frame */
    (void)state;

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char *dir = scratch_create();
        AUTO_FREE char *log = mem_printf("%s/test.db-wal", dir);
        struct stat status;
        sqlite3 *db = open_side(dir);

        fill(db);
        close_without_checkpoint(db);
        assert_int_equal(stat(log, &status), 0);
        change_byte(dir, "test.db-wal", parts[i] ? status.st_size * parts[i] / 100 : 40);
        assert_int_equal(check(dir), -EBADMSG);
        db = open_side(dir);
        assert_int_equal(warnings, 1);
        assert_non_null(strstr(said, "the changes after the damage are lost"));
        assert_in_range(rows_of(db), 0, ROWS - 1);
        sqlite3_close(db);
        struct aside aside = asides_of(dir);
        assert_int_equal(aside.count, 1);
        assert_true(string_starts(aside.name, "test.db-wal.damaged-"));
        db = open_side(dir);
        assert_int_equal(warnings, 0);
        sqlite3_close(db);
        scratch_destroy(dir);
    }
}

/* These databases are not synchronized: what the last minute wrote may be there in any order. */
static void a_log_from_before_a_restart_of_the_machine_is_not_kept(void **state)
{
    static const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    char *dir = scratch_create();
    AUTO_FREE char *log = mem_printf("%s/test.db-wal", dir);
    struct stat status;
    sqlite3 *db = open_side(dir);
    (void)state;

    fill(db);
    close_without_checkpoint(db);
    assert_int_equal(stat(log, &status), 0);
    change_byte(dir, "test.db-wal", status.st_size / 2);
    assert_int_equal(utimensat(AT_FDCWD, log, long_ago, 0), 0);
    db = open_side(dir);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(said, "the machine stopped before the last changes were stored"));
    assert_in_range(rows_of(db), 0, ROWS - 1);
    sqlite3_close(db);
    assert_int_equal(asides_of(dir).count, 0);
    scratch_destroy(dir);
}

/* Of a program that was killed within a transaction. */
static void a_log_that_ends_within_a_transaction_is_not_damaged(void **state)
{
    (void)state;
    for (long cut = 1; cut < 2 * PAGE; cut += 1500) {
        char *dir = scratch_create();
        AUTO_FREE char *log = mem_printf("%s/test.db-wal", dir);
        struct stat status;
        sqlite3 *db = open_side(dir);

        fill(db);
        close_without_checkpoint(db);
        assert_int_equal(stat(log, &status), 0);
        assert_int_equal(truncate(log, status.st_size - cut), 0);
        db = open_side(dir);
        assert_int_equal(warnings, 0);
        assert_in_range(rows_of(db), ROWS - 3, ROWS);
        sqlite3_close(db);
        scratch_destroy(dir);
    }
}

static void other_names_are_not_listed(void **state)
{
    static const char *const names[] = { "test.db",       "a.damaged-", "a.damaged-1x",
                                         "a.newer-5-wal", "a.lost-5",   "damaged-5" };
    char *dir = scratch_create();
    (void)state;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, names[i]);
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fclose(file);
    }
    assert_int_equal(asides_of(dir).count, 0);
    scratch_destroy(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_intact_is_used),
        cmocka_unit_test(a_damaged_file_is_kept),
        cmocka_unit_test(a_file_of_a_newer_version_is_kept),
        cmocka_unit_test(a_database_of_something_else_and_a_folder_are_kept),
        cmocka_unit_test(a_damaged_log_is_kept_and_what_is_before_the_damage_counts),
        cmocka_unit_test(a_log_from_before_a_restart_of_the_machine_is_not_kept),
        cmocka_unit_test(a_log_that_ends_within_a_transaction_is_not_damaged),
        cmocka_unit_test(other_names_are_not_listed),
    };

    return cmocka_run_group_tests_name("side", tests, NULL, NULL);
}
