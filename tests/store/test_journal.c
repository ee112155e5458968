/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int set_up(void **state)
{
    *state = scratch_create();
    return 0;
}

static int tear_down(void **state)
{
    scratch_destroy(*state);
    return 0;
}

static int collect(void *user, const struct journal_record *record, struct error *err)
{
    (void)err;
    text_printf(user, "%" PRIu64 "=%.*s ", record->sequence, (int)record->length,
                (const char *)record->bytes);
    return 0;
}

static void assert_records(struct journal *journal, uint64_t from, const char *expected)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err = { "" };

    if (journal_read(journal, from, collect, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(text_string(&text), expected);
}

static void assert_blob(struct journal *journal, uint64_t id, const void *bytes, size_t length)
{
    AUTO_RELEASE(text) struct text blob = { 0 };

    assert_int_equal(journal_blob_get(journal, id, &blob, NULL), 0);
    assert_int_equal(blob.length, length);
    assert_int_equal(memcmp(text_string(&blob), bytes, length), 0);
}

static void records_are_numbered_from_one_and_read_back(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);

    assert_int_equal(journal_last(journal), 0);
    assert_true(journal_batch_is_empty(journal));
    assert_int_equal(journal_append(journal, "a", 1), 1);
    assert_int_equal(journal_append(journal, "", 0), 2);
    assert_false(journal_batch_is_empty(journal));
    assert_records(journal, 1, "");
    commit(journal);
    assert_int_equal(journal_append(journal, "c", 1), 3);
    commit(journal);
    commit(journal);
    assert_int_equal(journal_last(journal), 3);
    assert_records(journal, 0, "1=a 2= 3=c ");
    assert_records(journal, 3, "3=c ");
    assert_records(journal, 4, "");

    journal_close(TAKE(journal));
    journal = journal_of(dir, JOURNAL_WRITE);
    assert_int_equal(journal_last(journal), 3);
    assert_int_equal(journal_append(journal, "d", 1), 4);
    assert_records(journal, 1, "1=a 2= 3=c ");
}

static void a_discarded_batch_gives_its_numbers_back(void **state)
{
    AUTO(journal) struct journal *journal = journal_of(*state, JOURNAL_WRITE);
    AUTO_RELEASE(text) struct text value = { 0 };

    journal_append(journal, "a", 1);
    assert_int_equal(journal_blob_add(journal, "x", 1), 1);
    commit(journal);
    assert_int_equal(journal_append(journal, "b", 1), 2);
    assert_int_equal(journal_blob_add(journal, "y", 1), 2);
    journal_meta_set(journal, "boot", "1");
    journal_discard(journal);

    assert_true(journal_batch_is_empty(journal));
    assert_int_equal(journal_blob_get(journal, 2, &value, NULL), -ENOENT);
    assert_int_equal(journal_meta_get(journal, "boot", &value, NULL), 0);
    assert_int_equal(value.length, 0);
    assert_int_equal(journal_append(journal, "c", 1), 2);
    assert_int_equal(journal_blob_add(journal, "z", 1), 2);
    commit(journal);
    assert_records(journal, 1, "1=a 2=c ");
    assert_blob(journal, 2, "z", 1);
}

static int stop_at_two(void *user, const struct journal_record *record, struct error *err)
{
    (void)user;
    if (record->sequence == 2)
        return error_set(err, -EBADF, "record 2: enough");
    return 0;
}

static int stop_kindly(void *user, const struct journal_record *record, struct error *err)
{
    (void)err;
    *(uint64_t *)user = record->sequence;
    return 7;
}

static void a_reader_may_stop(void **state)
{
    AUTO(journal) struct journal *journal = journal_of(*state, JOURNAL_WRITE);
    struct error err = { "" };
    uint64_t seen = 0;

    for (int i = 0; i < 3; i++)
        journal_append(journal, "a", 1);
    commit(journal);
    assert_int_equal(journal_read(journal, 1, stop_at_two, NULL, &err), -EBADF);
    assert_string_equal(err.text, "record 2: enough");
    assert_int_equal(journal_read(journal, 1, stop_kindly, &seen, &err), 7);
    assert_int_equal(seen, 1);
}

static void a_blob_is_stored_once_per_content(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    static char large[100000], noise[5000];
    uint32_t random = 1;

    memset(large, 'x', sizeof(large));
    for (size_t i = 0; i < sizeof(noise); i++) {
        random = random * 1664525 + 1013904223;
        noise[i] = (char)(random >> 24);
    }
    assert_int_equal(journal_blob_add(journal, "one", 3), 1);
    assert_int_equal(journal_blob_add(journal, large, sizeof(large)), 2);
    assert_int_equal(journal_blob_add(journal, "", 0), 3);
    assert_int_equal(journal_blob_add(journal, noise, sizeof(noise)), 4);
    assert_int_equal(journal_blob_add(journal, "one", 3), 1);
    assert_blob(journal, 2, large, sizeof(large));
    commit(journal);
    assert_int_equal(journal_blob_add(journal, large, sizeof(large)), 2);
    assert_int_equal(journal_blob_add(journal, "", 0), 3);
    assert_true(journal_batch_is_empty(journal));
    assert_int_equal(journal_blob_add(journal, "on", 2), 5);
    journal_close(TAKE(journal));

    journal = journal_of(dir, JOURNAL_WRITE);
    assert_int_equal(journal_blob_add(journal, noise, sizeof(noise)), 4);
    assert_int_equal(journal_blob_add(journal, "new", 3), 5);
    assert_blob(journal, 1, "one", 3);
    assert_blob(journal, 2, large, sizeof(large));
    assert_blob(journal, 3, "", 0);
    assert_blob(journal, 4, noise, sizeof(noise));
    assert_true(journal_size(journal) < 90000);
}

static void equal_hashes_are_not_taken_for_equal_blobs(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);

    journal_blob_add(journal, "abc", 3);
    commit(journal);
    journal_close(TAKE(journal));
    meddle(dir, "UPDATE blob SET bytes = x'787878'");

    journal = journal_of(dir, JOURNAL_WRITE);
    assert_int_equal(journal_blob_add(journal, "abc", 3), 2);
    commit(journal);
    assert_blob(journal, 1, "xxx", 3);
    assert_blob(journal, 2, "abc", 3);
    assert_int_equal(journal_blob_add(journal, "abc", 3), 2);
}

static void a_blob_that_is_not_there_or_damaged_says_so(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    AUTO_RELEASE(text) struct text blob = { 0 };
    struct error err;
    char large[2000] = "";

    assert_int_equal(journal_blob_get(journal, 1, &blob, &err), -ENOENT);
    assert_words(&err, dir, "journal DIR/journal.db: no blob 1");
    journal_blob_add(journal, large, sizeof(large));
    journal_blob_add(journal, "ab", 2);
    journal_blob_add(journal, "cd", 2);
    commit(journal);
    journal_close(TAKE(journal));
    meddle(dir, "UPDATE blob SET bytes = x'01' WHERE id < 3;"
                "UPDATE blob SET codec = 9 WHERE id = 3");

    journal = journal_of(dir, JOURNAL_READ);
    assert_int_equal(journal_blob_get(journal, 1, &blob, &err), -EBADMSG);
    assert_words(&err, dir, "journal DIR/journal.db: damaged: blob 1 cannot be read");
    assert_int_equal(journal_blob_get(journal, 2, &blob, &err), -EBADMSG);
    assert_int_equal(journal_blob_get(journal, 3, &blob, &err), -EBADMSG);
    assert_int_equal(blob.length, 0);
}

static void meta_is_part_of_the_batch(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    AUTO_RELEASE(text) struct text value = { 0 };

    journal_meta_set(journal, "boot", "a");
    journal_meta_set(journal, "boot", "b");
    assert_int_equal(journal_meta_get(journal, "boot", &value, NULL), 0);
    assert_string_equal(text_string(&value), "b");
    commit(journal);
    journal_meta_set(journal, "boot", "lost");
    journal_close(TAKE(journal));

    journal = journal_of(dir, JOURNAL_READ);
    text_clear(&value);
    assert_int_equal(journal_meta_get(journal, "boot", &value, NULL), 0);
    assert_string_equal(text_string(&value), "b");
    text_clear(&value);
    assert_int_equal(journal_meta_get(journal, "tarn", &value, NULL), 0);
    assert_string_equal(text_string(&value), TARN_VERSION);
}

static void the_newest_two_snapshots_are_kept(void **state)
{
    AUTO(journal) struct journal *journal = journal_of(*state, JOURNAL_WRITE);
    AUTO_RELEASE(text) struct text bytes = { 0 };
    static char large[1000000];
    struct error err;
    uint64_t sequence = 9;

    assert_int_equal(journal_snapshot_load(journal, &bytes, &sequence, &err), 0);
    assert_int_equal(sequence, 0);
    for (int i = 0; i < 5; i++)
        journal_append(journal, "a", 1);
    commit(journal);

    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = (char)(i * i >> 7);
    assert_int_equal(journal_snapshot_save(journal, 1, "one", 3, &err), 0);
    assert_int_equal(journal_snapshot_save(journal, 3, "three", 5, &err), 0);
    assert_int_equal(journal_snapshot_save(journal, 5, "five", 4, &err), 0);
    assert_int_equal(journal_snapshot_save(journal, 5, large, sizeof(large), &err), 0);
    assert_int_equal(journal_snapshot_load(journal, &bytes, &sequence, &err), 0);
    assert_int_equal(sequence, 5);
    assert_int_equal(bytes.length, sizeof(large));
    assert_memory_equal(bytes.bytes, large, sizeof(large));
    assert_records(journal, 1, "1=a 2=a 3=a 4=a 5=a ");

    journal_close(TAKE(journal));
    meddle(*state, "DELETE FROM snapshot WHERE sequence = 5");
    journal = journal_of(*state, JOURNAL_READ);
    assert_int_equal(journal_snapshot_load(journal, &bytes, &sequence, &err), 0);
    assert_int_equal(sequence, 3);
    assert_string_equal(text_string(&bytes), "three");
}

static void a_snapshot_that_cannot_be_is_refused(void **state)
{
    AUTO(journal) struct journal *journal = journal_of(*state, JOURNAL_WRITE);
    struct error err;

    journal_append(journal, "a", 1);
    commit(journal);
    journal_append(journal, "b", 1);
    assert_int_equal(journal_snapshot_save(journal, 2, "x", 1, &err), -EINVAL);
    assert_string_equal(err.text, "snapshot of record 2: not a durable record; the last is 1");
    assert_int_equal(journal_snapshot_save(journal, 0, "x", 1, &err), -EINVAL);
    assert_string_equal(err.text, "snapshot of record 0: not a durable record; the last is 1");
    assert_int_equal(
        journal_snapshot_save(journal, 1, "x", (size_t)JOURNAL_SNAPSHOT_BYTES_MAX + 1, &err),
        -EFBIG);
    assert_string_equal(err.text, "snapshot of record 1: 1073741825 bytes, more than 1073741824");
}

static void a_damaged_snapshot_falls_back_to_the_older(void **state)
{
    static const char *const damages[] = {
        "UPDATE snapshot_part SET bytes = x'00' WHERE sequence = 2 AND part = 1",
        "UPDATE snapshot_part SET bytes = zeroblob(length(bytes)) WHERE sequence = 2 AND part = 0",
        "UPDATE snapshot_part SET size = size - 1 WHERE sequence = 2 AND part = 0",
        "DELETE FROM snapshot_part WHERE sequence = 2 AND part = 1",
        "DELETE FROM snapshot_part WHERE sequence = 2 AND part = 2",
        "UPDATE snapshot SET hash = x'00' WHERE sequence = 2",
        "UPDATE snapshot SET size = 5 WHERE sequence = 2",
    };
    static char large[600000];

    memset(large, 'x', sizeof(large));
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        char *dir = scratch_create();
        AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
        AUTO_RELEASE(text) struct text bytes = { 0 };
        uint64_t sequence;

        journal_append(journal, "a", 1);
        journal_append(journal, "b", 1);
        commit(journal);
        assert_int_equal(journal_snapshot_save(journal, 1, "old", 3, NULL), 0);
        assert_int_equal(journal_snapshot_save(journal, 2, large, sizeof(large), NULL), 0);
        journal_close(TAKE(journal));
        meddle(dir, damages[i]);

        journal = journal_of(dir, JOURNAL_WRITE);
        assert_int_equal(journal_snapshot_load(journal, &bytes, &sequence, NULL), 0);
        assert_int_equal(sequence, 1);
        assert_string_equal(text_string(&bytes), "old");
        scratch_destroy(dir);
    }
    (void)state;
}

static void a_damaged_record_is_found(void **state)
{
    static const struct {
        const char *damage;
        const char *text;
    } cases[] = {
        { "UPDATE record SET bytes = x'62' WHERE sequence = 2",
          "journal DIR/journal.db: damaged: record 2 is not what was written" },
        { "DELETE FROM record WHERE sequence = 2",
          "journal DIR/journal.db: damaged: record 2 is missing" },
        { "UPDATE record SET bytes = x'' WHERE sequence = 2",
          "journal DIR/journal.db: damaged: record 2 is not what was written" },
        { "UPDATE record SET sequence = 9 WHERE sequence = 1; UPDATE record SET sequence = 1 WHERE "
          "sequence = 2; UPDATE record SET sequence = 2 WHERE sequence = 9",
          "journal DIR/journal.db: damaged: record 1 is not what was written" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *dir = scratch_create();
        AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
        AUTO_RELEASE(text) struct text text = { 0 };
        struct error err;

        for (int k = 0; k < 3; k++)
            journal_append(journal, "a", 1);
        commit(journal);
        journal_close(TAKE(journal));
        meddle(dir, cases[i].damage);
        journal = journal_of(dir, JOURNAL_READ);
        assert_int_equal(journal_read(journal, 1, collect, &text, &err), -EBADMSG);
        assert_words(&err, dir, cases[i].text);
        scratch_destroy(dir);
    }
    (void)state;
}

static void a_file_with_a_torn_page_is_damaged_and_not_believed(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    AUTO_FREE char *path = mem_printf("%s/journal.db", dir);
    AUTO_FREE char *zeros = mem_zero(1, 4096);
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err = { "" };
    struct stat info;

    for (int i = 0; i < 5000; i++)
        journal_append(journal, "some words of a record", 22);
    commit(journal);
    journal_close(TAKE(journal));

    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(pwrite(fd, zeros, 4096, info.st_size / 8192 * 4096), 4096);
    close(fd);
    journal = journal_of(dir, JOURNAL_READ);
    assert_int_equal(journal_read(journal, 1, collect, &text, &err), -EBADMSG);
    assert_words(&err, dir, "journal DIR/journal.db: damaged: database disk image is malformed");
}

static void a_newer_format_is_refused_unless_it_allows_ours(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    struct error err;

    journal_close(TAKE(journal));
    meddle(dir, "PRAGMA user_version = 9; UPDATE meta SET value = '9' WHERE key = 'needs';"
                "UPDATE meta SET value = '7.1' WHERE key = 'tarn'");
    for (int mode = JOURNAL_READ; mode <= JOURNAL_WRITE; mode++) {
        assert_int_equal(journal_open(dir, (enum journal_mode)mode, &journal, &err),
                         -EPROTONOSUPPORT);
        assert_words(
            &err, dir,
            "journal DIR/journal.db: format 9, written by tarn 7.1; this tarn knows up to 1");
    }
    meddle(dir, "ALTER TABLE meta RENAME TO facts");
    assert_int_equal(journal_open(dir, JOURNAL_READ, &journal, &err), -EPROTONOSUPPORT);
    assert_words(&err, dir,
                 "journal DIR/journal.db: format 9, written by tarn of a later version; this tarn "
                 "knows up to 1");
    meddle(dir,
           "ALTER TABLE facts RENAME TO meta; UPDATE meta SET value = '1' WHERE key = 'needs'");
    journal = journal_of(dir, JOURNAL_READ);
}

static void write_file(const char *dir, const char *content)
{
    AUTO_FREE char *path = mem_printf("%s/journal.db", dir);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void what_is_not_a_journal_is_refused_and_left_alone(void **state)
{
    const char *dir = *state;
    struct journal *journal = NULL;
    struct error err;

    assert_int_equal(journal_open("/nonexistent/state", JOURNAL_WRITE, &journal, &err), -ENOENT);
    assert_string_equal(err.text,
                        "state /nonexistent/state: cannot be used: No such file or directory");
    assert_int_equal(journal_open(dir, JOURNAL_READ, &journal, &err), -ENOENT);
    assert_words(&err, dir, "journal DIR/journal.db: there is none");

    write_file(dir,
               "This is a diary and not a journal; it has more words than a header has bytes.\n"
               "It goes on for a while, so that nobody takes it for a file that was cut off.\n");
    for (int mode = JOURNAL_READ; mode <= JOURNAL_WRITE; mode++) {
        assert_int_equal(journal_open(dir, (enum journal_mode)mode, &journal, &err), -EBADMSG);
        assert_words(&err, dir, "journal DIR/journal.db: not a tarn journal: no database");
    }

    write_file(dir, "");
    meddle(dir, "CREATE TABLE holiday(day)");
    for (int mode = JOURNAL_READ; mode <= JOURNAL_WRITE; mode++) {
        assert_int_equal(journal_open(dir, (enum journal_mode)mode, &journal, &err), -EBADMSG);
        assert_words(&err, dir,
                     "journal DIR/journal.db: not a tarn journal: a database of another kind");
    }
    meddle(dir, "INSERT INTO holiday VALUES(1)");
    assert_null(journal);
}

static void a_creation_that_was_cut_short_is_done_again(void **state)
{
    AUTO(journal) struct journal *journal = NULL;
    struct error err;

    write_file(*state, "");
    assert_int_equal(journal_open(*state, JOURNAL_READ, &journal, &err), -ENOENT);
    assert_words(&err, *state, "journal DIR/journal.db: there is none");
    journal = journal_of(*state, JOURNAL_WRITE);
    assert_int_equal(journal_append(journal, "a", 1), 1);
    commit(journal);
}

static void a_second_writer_is_refused_and_told_who_writes(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    AUTO_FREE char *expected =
        mem_printf("state DIR: the tarn daemon with pid %ld uses it", (long)getpid());
    struct journal *second = NULL;
    struct error err;

    assert_int_equal(journal_open(dir, JOURNAL_WRITE, &second, &err), -EBUSY);
    assert_words(&err, dir, expected);

    AUTO_FREE char *path = mem_printf("%s/lock", dir);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(journal_open(dir, JOURNAL_WRITE, &second, &err), -EBUSY);
    assert_words(&err, dir, "state DIR: another tarn daemon uses it");
    assert_null(second);

    journal_close(TAKE(journal));
    journal = journal_of(dir, JOURNAL_WRITE);
}

static void readers_see_what_is_committed_while_a_writer_works(void **state)
{
    AUTO(journal) struct journal *writer = journal_of(*state, JOURNAL_WRITE);
    AUTO(journal) struct journal *reader = journal_of(*state, JOURNAL_READ);

    journal_append(writer, "a", 1);
    assert_int_equal(journal_last(reader), 0);
    commit(writer);
    assert_int_equal(journal_last(reader), 1);
    assert_records(reader, 1, "1=a ");
    journal_append(writer, "b", 1);
    commit(writer);
    journal_idle(writer);
    assert_records(reader, 1, "1=a 2=b ");
}

static void nobody_else_may_read_the_files(void **state)
{
    static const char *const names[] = { "journal.db", "journal.db-wal", "journal.db-shm", "lock" };
    AUTO(journal) struct journal *journal = journal_of(*state, JOURNAL_WRITE);

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", (const char *)*state, names[i]);
        struct stat info;

        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_mode & 0777, 0600);
    }
    assert_true(journal_size(journal) > 4096);
}

static void many_commits_do_not_let_the_log_grow_without_end(void **state)
{
    const char *dir = *state;
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    AUTO_FREE char *path = mem_printf("%s/journal.db-wal", dir);
    AUTO_FREE char *bytes = mem_zero(1, 1 << 20);
    struct stat info;

    for (int i = 0; i < 40; i++) {
        journal_append(journal, bytes, 1 << 20);
        commit(journal);
    }
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size < 16 << 20);
    assert_true(journal_size(journal) > 40 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_numbered_from_one_and_read_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_discarded_batch_gives_its_numbers_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_reader_may_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_blob_is_stored_once_per_content, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_hashes_are_not_taken_for_equal_blobs, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_blob_that_is_not_there_or_damaged_says_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(meta_is_part_of_the_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_newest_two_snapshots_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_snapshot_that_cannot_be_is_refused, set_up, tear_down),
        cmocka_unit_test(a_damaged_snapshot_falls_back_to_the_older),
        cmocka_unit_test(a_damaged_record_is_found),
        cmocka_unit_test_setup_teardown(a_file_with_a_torn_page_is_damaged_and_not_believed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_newer_format_is_refused_unless_it_allows_ours, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_a_journal_is_refused_and_left_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_creation_that_was_cut_short_is_done_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_writer_is_refused_and_told_who_writes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(readers_see_what_is_committed_while_a_writer_works, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nobody_else_may_read_the_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_commits_do_not_let_the_log_grow_without_end, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
