/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { BATCH = 7, KILL_ROUNDS = 50, PATIENCE_MS = 60000 };

static char *record_text(char *buffer, size_t size, uint64_t sequence)
{
    snprintf(buffer, size, "record %" PRIu64 " of batch %" PRIu64, sequence,
             (sequence - 1) / BATCH);
    return buffer;
}

/* Commit batches without end, and say on the pipe after each how many records are safe. */
static void write_for_ever(const char *dir, int ack_fd)
{
    struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    char text[80], blob[1000] = "";

    for (;;) {
        uint64_t last = journal_last(journal);
        for (uint64_t i = 1; i <= BATCH; i++) {
            record_text(text, sizeof(text), last + i);
            journal_append(journal, text, strlen(text));
            snprintf(blob, sizeof(blob), "blob %" PRIu64, last + i);
            journal_blob_add(journal, blob, sizeof(blob));
        }
        commit(journal);
        last = journal_last(journal);
        if (last % (BATCH * 10) == 0)
            journal_snapshot_save(journal, last, text, sizeof(text), NULL);
        if (last % (BATCH * 15) == 0)
            journal_idle(journal);
        if (write(ack_fd, &last, sizeof(last)) != (ssize_t)sizeof(last))
            _exit(1);
    }
}

struct reading {
    uint64_t count;
    bool is_wrong;
};

static int check_record(void *user, const struct journal_record *record, struct error *err)
{
    struct reading *reading = user;
    char text[80];

    (void)err;
    record_text(text, sizeof(text), record->sequence);
    if (record->length != strlen(text) || memcmp(record->bytes, text, record->length) != 0)
        reading->is_wrong = true;
    reading->count++;
    return 0;
}

static void check_after_kill(const char *dir, enum journal_mode mode, uint64_t acked)
{
    AUTO(journal) struct journal *journal = journal_of(dir, mode);
    struct reading reading = { 0 };
    struct error err = { "" };

    if (journal_read(journal, 1, check_record, &reading, &err) < 0)
        fail_msg("%s", err.text);
    assert_false(reading.is_wrong);
    assert_true(reading.count >= acked);
    assert_int_equal(reading.count % BATCH, 0);
    for (uint64_t id = 1; id <= reading.count; id += reading.count / 20 + 1) {
        AUTO_RELEASE(text) struct text blob = { 0 };
        char expected[32];

        assert_int_equal(journal_blob_get(journal, id, &blob, &err), 0);
        snprintf(expected, sizeof(expected), "blob %" PRIu64, id);
        assert_string_equal(text_string(&blob), expected);
    }
}

static void what_was_acknowledged_survives_kill_and_no_batch_is_halved(void **state)
{
    char *dir = scratch_create();
    unsigned seed = (unsigned)time(NULL);
    uint64_t acked = 0;

    (void)state;
    print_message("seed %u\n", seed);
    srandom(seed);
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int acks[2];
        uint64_t last;

        assert_int_equal(pipe(acks), 0);
        pid_t pid = fork();
        if (pid == 0) {
            close(acks[0]);
            write_for_ever(dir, acks[1]);
        }
        assert_true(pid > 0);
        close(acks[1]);
        if (round % 2 ==
            0) /* also where a process takes long to begin: something is acknowledged */
            poll(&(struct pollfd){ .fd = acks[0], .events = POLLIN }, 1, PATIENCE_MS);
        usleep((useconds_t)(random() % 30000));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        while (read(acks[0], &last, sizeof(last)) == (ssize_t)sizeof(last))
            acked = last;
        close(acks[0]);
        check_after_kill(dir, round % 2 ? JOURNAL_READ : JOURNAL_WRITE, acked);
    }
    assert_true(acked > 0);
    scratch_destroy(dir);
}

static int count_record(void *user, const struct journal_record *record, struct error *err)
{
    (void)record, (void)err;
    ++*(uint64_t *)user;
    return 0;
}

static uint64_t record_count(struct journal *journal)
{
    struct error err = { "" };
    uint64_t count = 0;

    if (journal_read(journal, 1, count_record, &count, &err) < 0)
        fail_msg("%s", err.text);
    return count;
}

/* A small file system of its own; skips the test where we may not mount one. */
static char *mount_small(const char *options)
{
    char *dir = scratch_create();

    if (mount("tarn-test", dir, "tmpfs", 0, options) < 0) {
        print_message("skipped: can't mount a tmpfs: %s\n", strerror(errno));
        scratch_destroy(dir);
        skip();
    }
    return dir;
}

static void unmount(char *dir)
{
    assert_int_equal(umount2(dir, MNT_DETACH), 0);
    scratch_destroy(dir);
}

/* Take all room that is left. */
static void fill(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char zeros[4096] = "";

    assert_true(fd >= 0);
    while (write(fd, zeros, sizeof(zeros)) > 0)
        continue;
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

enum { NOISE_BYTES = 200000 };

/* Bytes that cannot be compressed. */
static char *noise_of(uint32_t seed)
{
    char *bytes = mem_zero(1, NOISE_BYTES);

    for (size_t i = 0; i < NOISE_BYTES; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (char)(seed >> 24);
    }
    return bytes;
}

static void a_full_disk_fails_the_commit_and_a_later_one_succeeds(void **state)
{
    char *dir = mount_small("size=2m");
    AUTO_FREE char *ballast = mem_printf("%s/ballast", dir);
    AUTO_FREE char *bytes = mem_zero(1, 3000);
    AUTO_FREE char *noise = noise_of(7);
    AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
    struct error err = { "" };
    int code = 0;

    (void)state;
    journal_append(journal, bytes, 3000);
    commit(journal);
    fill(ballast);
    uint64_t acked = journal_last(journal);
    while (code == 0) {
        acked = journal_last(journal);
        for (int i = 0; i < 10; i++)
            journal_append(journal, bytes, 3000);
        journal_blob_add(journal, "full", 4);
        code = journal_commit(journal, &err);
    }
    assert_int_equal(code, -ENOSPC);
    assert_words(&err, dir, "journal DIR/journal.db: the disk is full");
    assert_int_equal(journal_last(journal), acked);
    assert_int_equal(record_count(journal), acked);
    assert_false(journal_batch_is_empty(journal));
    assert_int_equal(journal_commit(journal, &err), -ENOSPC);
    assert_int_equal(journal_snapshot_save(journal, 1, noise, NOISE_BYTES, &err), -ENOSPC);

    assert_int_equal(unlink(ballast), 0);
    commit(journal);
    assert_int_equal(journal_last(journal), acked + 10);
    assert_int_equal(journal_append(journal, "a", 1), acked + 11);
    commit(journal);
    journal_close(TAKE(journal));

    journal = journal_of(dir, JOURNAL_WRITE);
    assert_int_equal(record_count(journal), acked + 11);
    journal_close(TAKE(journal));
    unmount(dir);
}

static void a_full_disk_at_the_start_says_so_and_spoils_nothing(void **state)
{
    char *dir = mount_small("size=1m");
    AUTO_FREE char *ballast = mem_printf("%s/ballast", dir);
    AUTO(journal) struct journal *journal = NULL;
    struct error err = { "" };

    (void)state;
    fill(ballast);
    assert_int_equal(journal_open(dir, JOURNAL_WRITE, &journal, &err), -ENOSPC);
    assert_words(&err, dir, "journal DIR/journal.db: the disk is full");
    assert_int_equal(unlink(ballast), 0);
    journal = journal_of(dir, JOURNAL_WRITE);
    journal_append(journal, "a", 1);
    commit(journal);
    journal_close(TAKE(journal));
    unmount(dir);
}

/* The files as they are while a daemon works, or after it was killed. */
static void copy_files(const char *from, const char *to, bool with_shm)
{
    AUTO_FREE char *command =
        mem_printf("cd %s && cp journal.db journal.db-wal journal.last %s %s/", from,
                   with_shm ? "journal.db-shm" : "lock", to);

    assert_int_equal(system(command), 0);
}

static void a_copy_on_a_read_only_file_system_can_be_read(void **state)
{
    (void)state;
    for (int with_shm = 0; with_shm < 2; with_shm++) {
        char *dir = scratch_create();
        char *copy = mount_small("size=2m");
        AUTO(journal) struct journal *journal = journal_of(dir, JOURNAL_WRITE);
        AUTO(journal) struct journal *reader = NULL;
        struct error err = { "" };

        for (int i = 0; i < 30; i++)
            journal_append(journal, "a", 1);
        commit(journal);
        copy_files(dir, copy, with_shm);
        assert_int_equal(mount(NULL, copy, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);

        reader = journal_of(copy, JOURNAL_READ);
        assert_int_equal(journal_last(reader), 30);
        assert_int_equal(record_count(reader), 30);
        journal_close(TAKE(reader));
        assert_int_equal(journal_open(copy, JOURNAL_WRITE, &reader, &err), -EROFS);
        journal_close(TAKE(journal));
        unmount(copy);
        scratch_destroy(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_acknowledged_survives_kill_and_no_batch_is_halved),
        cmocka_unit_test(a_full_disk_fails_the_commit_and_a_later_one_succeeds),
        cmocka_unit_test(a_full_disk_at_the_start_says_so_and_spoils_nothing),
        cmocka_unit_test(a_copy_on_a_read_only_file_system_can_be_read),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
