/* SPDX-License-Identifier: Apache-2.0 */

/* What an older tarn wrote is still read: old/journal-0.1.db has 255 records of a daemon that was
 * given every section of a configuration, ran jobs, took a change back and applied another;
 * old/snapshot-0.1.bin is what that program saved of the state that those records fold to. */
#include "scratch.h"

#include "core/snapshot/snapshot.h"
#include "core/state/state.h"

static const char *folder; /* old/ */

static int fold(void *user, const struct journal_record *record, struct error *err)
{
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct event event;

    int code = event_decode(record->bytes, record->length, &arena, &event, err);
    return code < 0 ? code : state_apply(user, &event, err);
}

static void read_whole(const char *name, struct text *ret)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    char bytes[4096];
    size_t length;
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    while ((length = fread(bytes, 1, sizeof(bytes), file)) > 0)
        text_add_bytes(ret, bytes, length);
    fclose(file);
}

static struct state *folded(void)
{
    char *scratch = scratch_create();
    AUTO_FREE char *path = mem_printf("%s/journal.db", scratch);
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct state *state = state_create();
    struct error err = { "" };

    read_whole("journal-0.1.db", &bytes);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.bytes, 1, bytes.length, file), bytes.length);
    fclose(file);
    AUTO(journal) struct journal *journal = journal_of(scratch, JOURNAL_WRITE);
    if (journal_read(journal, 1, fold, state, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(journal_last(journal), 255);
    scratch_destroy(scratch);
    return state;
}

/* What the old version did not keep. */
static void forget_news(struct state *state)
{
    for (uint64_t id = 1; id < 1000; id++) {
        struct job *job = state_job(state, id);

        if (job && job->run->place)
            free(TAKE(job_claim_run(job)->place));
    }
}

static void an_old_journal_and_an_old_snapshot_are_the_same_state(void **unused)
{
    (void)unused;
    AUTO(state) struct state *by_events = folded();
    AUTO(state) struct state *by_snapshot = NULL;
    AUTO_RELEASE(text) struct text old = { 0 }, first = { 0 }, second = { 0 };
    struct error err = { "" };

    read_whole("snapshot-0.1.bin", &old);
    if (snapshot_load(old.bytes, old.length, &by_snapshot, &err) < 0)
        fail_msg("%s", err.text);
    forget_news(by_events);
    snapshot_save(by_events, &first);
    snapshot_save(by_snapshot, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.bytes, second.bytes, first.length);
}

static const struct payer *payer_of(const struct state *state, const struct queue *queue)
{
    return &state->payers.items.items[queue->payer];
}

static void quotas_of_an_old_journal_are_what_they_were(void **unused)
{
    (void)unused;
    AUTO(state) struct state *state = folded();
    const struct queue *research = &state->queues.items[state_find_queue(state, "research")];
    const struct queue *prod = &state->queues.items[state_find_queue(state, "prod")];
    const struct pool *pool = &state->pools.items[state_find_pool(state, "inference")];

    assert_int_equal(prod->base[RESOURCE_GPUS].guarantee, 1000);
    assert_int_equal(prod->base[RESOURCE_GPUS].limit, 4000);
    assert_int_equal(prod->base[RESOURCE_GPUS].borrow, 2000);
    assert_int_equal(prod->base[RESOURCE_GPUS].lend, 0);
    assert_int_equal(prod->base[RESOURCE_CPUS].limit, 64000);
    assert_int_equal(prod->base[RESOURCE_CPUS].borrow, QUOTA_NONE);
    assert_int_equal(research->base[RESOURCE_GPUS].lend, QUOTA_NONE);
    assert_int_equal(research->during.count, 3);
    assert_int_equal(research->during.items[0].quota.guarantee, ABSENT);
    assert_int_equal(research->during.items[0].quota.limit, 4000);
    assert_int_equal(research->during.items[0].quota.borrow, 1000);
    assert_int_equal(research->during.items[2].quota.guarantee, 2000);
    assert_int_equal(payer_of(state, research)->accounts[ACCOUNT_MONEY].most, 5000500000);
    assert_int_equal(payer_of(state, prod)->accounts[ACCOUNT_MONEY].most, ACCOUNT_NO_BUDGET);
    assert_int_equal(pool->during.items[0].milli_min, 0);
    assert_int_equal(pool->during.items[1].milli_min, ABSENT);
    assert_int_equal(pool->during.items[1].milli_max, 2000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_journal_and_an_old_snapshot_are_the_same_state),
        cmocka_unit_test(quotas_of_an_old_journal_are_what_they_were),
    };

    folder = argc > 1 ? argv[1] : "old";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
