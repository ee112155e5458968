/* SPDX-License-Identifier: Apache-2.0 */
/* tarn replay --verify, on journals with a snapshot, without one, and with one of another state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../store/scratch.h"
#include "chaos.h"
#include "cli/command.h"
#include "core/snapshot/snapshot.h"

/* Some life, recorded. Returns how many records there are; the snapshot is after `until` steps. */
static uint64_t record_life(struct journal *journal, int steps, int until, struct text *snapshot,
                            uint64_t *ret_sequence)
{
    AUTO(chaos) struct chaos *chaos = chaos_create(7, CHAOS_ANY);
    uint64_t last = 0;

    for (int i = 1; i <= steps; i++) {
        chaos_step(chaos);
        if (i != until)
            continue;
        lab_save(chaos->lab, snapshot);
        *ret_sequence = chaos->lab->records.count;
    }
    for (size_t i = 0; i < chaos->lab->records.count; i++)
        last = journal_append(journal, chaos->lab->records.items[i].bytes,
                              chaos->lab->records.items[i].length);
    commit(journal);
    return last;
}

static void keep_snapshot(struct journal *journal, uint64_t sequence, const struct text *bytes)
{
    struct error err;

    if (journal_snapshot_save(journal, sequence, bytes->bytes, bytes->length, &err) < 0)
        fail_msg("%s", err.text);
}

/* What replay --verify says to stderr. */
static int verify(char *dir, char *words, size_t size)
{
    const struct options options = { .values = { "", NULL, dir } };
    AUTO_FREE char *path = mem_printf("%s/stderr", dir);
    int kept = dup(STDERR_FILENO);

    FILE *file = fopen(path, "w+");
    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    int status = run_replay(&options);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    words[fread(words, 1, size - 1, file)] = '\0';
    fclose(file);
    return status;
}

static void a_snapshot_is_compared_with_what_the_records_give(void **state)
{
    static const struct {
        int until;          /* steps before the snapshot; 0: there is none */
        uint64_t too_early; /* records: for how many fewer the snapshot claims to be */
        int status;
    } cases[] = { { 0, 0, 0 }, { 60, 0, 0 }, { 120, 0, 0 }, { 60, 20, 1 } };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text snapshot = { 0 };
        char *dir = scratch_create(), words[512];
        uint64_t sequence = 0;

        struct journal *journal = journal_of(dir, JOURNAL_WRITE);
        uint64_t last = record_life(journal, 120, cases[i].until, &snapshot, &sequence);
        assert_true(last > 100 && sequence <= last);
        if (cases[i].until > 0)
            keep_snapshot(journal, sequence - cases[i].too_early, &snapshot);
        journal_close(journal);

        assert_int_equal(verify(dir, words, sizeof(words)), cases[i].status);
        AUTO_FREE char *expected =
            cases[i].status == 0 ? mem_string("")
                                 : mem_printf("tarn: snapshot of record %" PRIu64
                                              ": differs from the state that the records give\n",
                                              sequence - cases[i].too_early);
        assert_string_equal(words, expected);
        scratch_destroy(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_is_compared_with_what_the_records_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
