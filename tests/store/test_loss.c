/* SPDX-License-Identifier: Apache-2.0 */
/* Durable records that are missing are found out, and a whole copy is found intact. */
#include "scratch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/sql.h"

enum { RECORDS = 60 };

static void copy_file(const char *from_dir, const char *to_dir, const char *name)
{
    AUTO_FREE char *from = mem_printf("%s/%s", from_dir, name);
    AUTO_FREE char *to = mem_printf("%s/%s", to_dir, name);
    static char bytes[4 << 20];

    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    assert_non_null(in);
    assert_non_null(out);
    size_t length = fread(bytes, 1, sizeof(bytes), in);
    assert_true(length < sizeof(bytes));
    assert_int_equal(fwrite(bytes, 1, length, out), length);
    fclose(in);
    fclose(out);
}

/* The directory of a daemon that was killed after RECORDS commits: the log holds most of them. */
static char *killed_daemon(void)
{
    char *dir = scratch_create(), *left = scratch_create();
    struct journal *journal = journal_of(dir, JOURNAL_WRITE);

    for (int i = 1; i <= RECORDS; i++) {
        char text[300] = "";
        int length = snprintf(text, sizeof(text), "record %d", i);
        journal_append(journal, text, (size_t)length);
        journal_blob_add(journal, text, sizeof(text) - (size_t)i);
        commit(journal);
    }
    journal_snapshot_save(journal, RECORDS, "state", 5, NULL);
    copy_file(dir, left, "journal.db");
    copy_file(dir, left, "journal.db-wal");
    copy_file(dir, left, "journal.last");
    journal_close(journal);
    scratch_destroy(dir);
    return left;
}

static void change_byte(const char *dir, const char *name, long at)
{
    AUTO_FREE char *path = mem_printf("%s/%s", dir, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (char)(byte ^ 0x5a);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static long size_of(const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", dir, name);
    struct stat status;

    return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

static int open_as(const char *dir, enum journal_mode mode, struct journal **ret)
{
    struct error err = { "" };

    *ret = NULL;
    int code = journal_open(dir, mode, ret, &err);
    if (code == -EBADMSG)
        assert_non_null(strstr(err.text, " to 60 are missing"));
    return code;
}

static void after_a_kill_nothing_is_missing(void **state)
{
    char *dir = killed_daemon();
    struct journal_counts counts;
    struct error err = { "" };

    (void)state;
    struct journal *journal = journal_of(dir, JOURNAL_READ);
    assert_int_equal(journal_last(journal), RECORDS);
    assert_int_equal(journal_verify(journal, &counts, &err), 0);
    assert_int_equal(counts.blobs, RECORDS);
    assert_int_equal(counts.snapshots, 1);
    assert_int_equal(counts.snapshots_damaged, 0);
    journal_close(journal);
    journal = journal_of(dir, JOURNAL_WRITE);
    assert_int_equal(journal_last(journal), RECORDS);
    journal_close(journal);
    scratch_destroy(dir);
}

static void a_damaged_log_is_refused_and_left_as_it_is(void **state)
{
    (void)state;
    for (long part = 1; part < 10; part++) {
        char *dir = killed_daemon();
        long size = size_of(dir, "journal.db-wal");
        struct journal *journal;

        change_byte(dir, "journal.db-wal", size * part / 10);
        assert_int_equal(open_as(dir, JOURNAL_READ, &journal), -EBADMSG);
        assert_int_equal(open_as(dir, JOURNAL_WRITE, &journal), -EBADMSG);
        assert_int_equal(open_as(dir, JOURNAL_WRITE, &journal), -EBADMSG);
        assert_int_equal(size_of(dir, "journal.db-wal"), size);

        change_byte(dir, "journal.db-wal", size * part / 10); /* repaired */
        assert_int_equal(open_as(dir, JOURNAL_WRITE, &journal), 0);
        assert_int_equal(journal_last(journal), RECORDS);
        journal_close(journal);
        scratch_destroy(dir);
    }
}

static void a_log_or_a_database_that_was_removed_is_a_loss(void **state)
{
    static const char *const removed[] = { "journal.db-wal", "journal.db" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *dir = killed_daemon();
        AUTO_FREE char *path = mem_printf("%s/%s", dir, removed[i]);
        struct journal *journal;

        assert_int_equal(unlink(path), 0);
        assert_int_equal(open_as(dir, JOURNAL_WRITE, &journal), -EBADMSG);
        scratch_destroy(dir);
    }
}

static void a_loss_that_is_accepted_is_not_reported_again(void **state)
{
    char *dir = killed_daemon();
    struct journal *journal;

    (void)state;
    change_byte(dir, "journal.db-wal", size_of(dir, "journal.db-wal") / 2);
    assert_int_equal(open_as(dir, JOURNAL_WRITE_WITH_LOSS, &journal), 0);
    uint64_t left = journal_last(journal);
    assert_true(left > 0 && left < RECORDS);
    journal_close(journal);
    journal = journal_of(dir, JOURNAL_WRITE);
    assert_int_equal(journal_last(journal), left);
    journal_append(journal, "next", 4);
    commit(journal);
    journal_close(journal);
    scratch_destroy(dir);
}

/* Put a text in place of the mark; NULL: nothing. */
static void replace_mark(const char *dir, const char *text)
{
    AUTO_FREE char *path = mem_printf("%s/journal.last", dir);

    assert_int_equal(unlink(path), 0);
    FILE *mark = text ? fopen(path, "we") : NULL;
    if (mark) {
        fputs(text, mark);
        fclose(mark);
    }
}

static void assert_cannot_tell(const char *dir, const char *why)
{
    AUTO_FREE char *words = mem_printf(
        "journal DIR/journal.db: damaged: whether durable records are missing cannot be told: %s; "
        "put journal.last back, or: tarn restore restores a backup, tarn check --accept-loss "
        "continues without it",
        why);
    long size = size_of(dir, "journal.db-wal");
    struct journal *journal = NULL;
    struct error err = { "" };

    assert_int_equal(journal_open(dir, JOURNAL_READ, &journal, &err), -EBADMSG);
    assert_words(&err, dir, words);
    assert_int_equal(journal_open(dir, JOURNAL_WRITE, &journal, &err), -EBADMSG);
    assert_words(&err, dir, words);
    assert_true(size <= 0 || size_of(dir, "journal.db-wal") == size);
}

/* Whatever becomes of the log: without its beginning, only the database knows of the mark. */
static void without_its_mark_a_journal_is_refused(void **state)
{
    static const long changed[] = { -1, 100, 30000 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        char *dir = killed_daemon();
        struct journal *journal;

        replace_mark(dir, NULL);
        if (changed[i] >= 0)
            change_byte(dir, "journal.db-wal", changed[i]);
        assert_cannot_tell(dir, "journal.last is missing");
        assert_int_equal(open_as(dir, JOURNAL_WRITE_WITH_LOSS, &journal), 0);
        journal_close(journal);
        journal_close(journal_of(dir, JOURNAL_WRITE));
        scratch_destroy(dir);
    }
}

static char *name_with(const char *dir, const char *start)
{
    DIR *files = opendir(dir);
    char *name = NULL;

    for (struct dirent *file = readdir(files); file && !name; file = readdir(files)) {
        if (string_starts(file->d_name, start))
            name = mem_printf("%s/%s", dir, file->d_name);
    }
    closedir(files);
    return name;
}

static void a_mark_that_is_damaged_is_refused_and_kept(void **state)
{
    static const char *const marks[] = { "",
                                         "12",
                                         "00000000000000000099",
                                         "x0000000000000000099\n",
                                         "00000000000000000001 0123456789abcdef\n",
                                         "\377\377\377" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        char *dir = killed_daemon();
        struct journal *journal;

        replace_mark(dir, marks[i]);
        assert_cannot_tell(dir,
                           "DIR/journal.last: damaged: expected the number of the last record");
        assert_int_equal(open_as(dir, JOURNAL_WRITE_WITH_LOSS, &journal), 0);
        assert_int_equal(journal_last(journal), RECORDS);
        journal_close(journal);
        AUTO_FREE char *kept = name_with(dir, "journal.last.damaged-");
        assert_non_null(kept);
        journal_close(journal_of(dir, JOURNAL_WRITE));
        scratch_destroy(dir);
    }
}

static void a_folder_in_place_of_the_mark_is_refused(void **state)
{
    char *dir = killed_daemon();
    AUTO_FREE char *path = mem_printf("%s/journal.last", dir);
    struct journal *journal;

    (void)state;
    replace_mark(dir, NULL);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_cannot_tell(dir, "DIR/journal.last: damaged: Is a directory");
    assert_int_equal(open_as(dir, JOURNAL_WRITE_WITH_LOSS, &journal), 0);
    journal_close(journal);
    AUTO_FREE char *kept = name_with(dir, "journal.last.damaged-");
    assert_non_null(kept);
    assert_int_equal(rmdir(kept), 0);
    assert_true(size_of(dir, "journal.last") > 0);
    scratch_destroy(dir);
}

/* A write that was cut short: the other line counts. */
static void a_mark_of_which_a_line_is_torn_is_read(void **state)
{
    static const long changed[] = { 3, 20, 30, 37, 38, 75 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        char *dir = killed_daemon();
        long middle = size_of(dir, "journal.db-wal") / 2;
        struct journal *journal;

        change_byte(dir, "journal.last", changed[i]);
        change_byte(dir, "journal.db-wal", middle);
        assert_int_equal(journal_open(dir, JOURNAL_WRITE, &journal, NULL), -EBADMSG);
        change_byte(dir, "journal.db-wal", middle); /* repaired */
        assert_int_equal(open_as(dir, JOURNAL_WRITE, &journal), 0);
        journal_close(journal);
        scratch_destroy(dir);
    }
}

/* A journal of an earlier version has no mark, or one that is the number alone. */
static void a_journal_of_an_earlier_version_gets_its_mark(void **state)
{
    static const struct {
        const char *mark;
        int code;
    } cases[] = { { NULL, 0 },
                  { "00000000000000000060\n", 0 },
                  { "00000000000000000059\n", 0 },
                  { "00000000000000000061\n", -EBADMSG } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *dir = killed_daemon();
        struct journal *journal = NULL;

        meddle(dir, "DELETE FROM meta WHERE key = 'mark'");
        replace_mark(dir, cases[i].mark);
        assert_int_equal(journal_open(dir, JOURNAL_WRITE, &journal, NULL), cases[i].code);
        journal_close(journal);
        if (cases[i].code == 0) {
            assert_int_equal(size_of(dir, "journal.last"), 76);
            replace_mark(dir, NULL);
            assert_cannot_tell(dir, "journal.last is missing");
        }
        scratch_destroy(dir);
    }
}

/* A daemon that was killed while it made its first files has confirmed nothing. */
static void a_first_start_that_was_interrupted_is_repeated(void **state)
{
    static const char *const left[] = { "journal.db", "journal.last" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        char *dir = scratch_create();
        struct journal *journal;

        journal_close(journal_of(dir, JOURNAL_WRITE));
        AUTO_FREE char *other = mem_printf("%s/%s", dir, left[!i]);
        assert_int_equal(unlink(other), 0);
        if (i == 0) {
            AUTO_FREE char *path = mem_printf("%s/%s", dir, left[i]);
            assert_int_equal(truncate(path, 0), 0);
        }
        assert_int_equal(open_as(dir, JOURNAL_READ, &journal), -ENOENT);
        assert_int_equal(open_as(dir, JOURNAL_WRITE, &journal), 0);
        journal_close(journal);
        scratch_destroy(dir);
    }
}

static void a_copy_of_a_journal_in_use_is_whole(void **state)
{
    char *dir = scratch_create(), *copy = scratch_create();
    AUTO_FREE char *from = mem_printf("%s/journal.db", dir);
    AUTO_FREE char *to = mem_printf("%s/journal.db", copy);
    struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    struct journal_counts counts;
    struct error err = { "" };

    (void)state;
    journal_append(journal, "a", 1);
    journal_blob_add(journal, "blob", 4);
    commit(journal);
    copy_file(dir, copy, "journal.last");
    journal_append(journal, "not yet", 7);
    if (sql_copy(from, to, &err) < 0)
        fail_msg("%s", err.text);
    commit(journal);
    assert_int_equal(size_of(copy, "journal.db-wal"), -1);
    struct journal *other = journal_of(copy, JOURNAL_READ);
    assert_int_equal(journal_last(other), 1);
    assert_int_equal(journal_verify(other, &counts, &err), 0);
    assert_int_equal(counts.blobs, 1);
    journal_close(other);
    journal_close(journal);
    scratch_destroy(dir);
    scratch_destroy(copy);
}

static void a_blob_or_a_snapshot_that_was_changed_is_found(void **state)
{
    char *dir = killed_daemon();
    struct journal *journal;
    struct journal_counts counts;
    struct error err = { "" };

    (void)state;
    meddle(dir, "UPDATE snapshot_part SET bytes = X'00'");
    journal = journal_of(dir, JOURNAL_READ);
    assert_int_equal(journal_verify(journal, &counts, &err), 0);
    assert_int_equal(counts.snapshots_damaged, 1);
    journal_close(journal);

    meddle(dir, "UPDATE blob SET bytes = X'0011', codec = 0, size = 2 WHERE id = 7");
    journal = journal_of(dir, JOURNAL_READ);
    assert_int_equal(journal_verify(journal, &counts, &err), -EBADMSG);
    assert_words(&err, dir, "journal DIR/journal.db: damaged: blob 7 is not what was written");
    journal_close(journal);

    meddle(dir, "DELETE FROM blob WHERE id = 5");
    journal = journal_of(dir, JOURNAL_READ);
    assert_int_equal(journal_verify(journal, &counts, &err), -EBADMSG);
    assert_words(&err, dir, "journal DIR/journal.db: damaged: blob 5 is missing");
    journal_close(journal);
    scratch_destroy(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_kill_nothing_is_missing),
        cmocka_unit_test(a_damaged_log_is_refused_and_left_as_it_is),
        cmocka_unit_test(a_log_or_a_database_that_was_removed_is_a_loss),
        cmocka_unit_test(a_loss_that_is_accepted_is_not_reported_again),
        cmocka_unit_test(without_its_mark_a_journal_is_refused),
        cmocka_unit_test(a_mark_that_is_damaged_is_refused_and_kept),
        cmocka_unit_test(a_folder_in_place_of_the_mark_is_refused),
        cmocka_unit_test(a_mark_of_which_a_line_is_torn_is_read),
        cmocka_unit_test(a_journal_of_an_earlier_version_gets_its_mark),
        cmocka_unit_test(a_first_start_that_was_interrupted_is_repeated),
        cmocka_unit_test(a_copy_of_a_journal_in_use_is_whole),
        cmocka_unit_test(a_blob_or_a_snapshot_that_was_changed_is_found),
    };

    return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
