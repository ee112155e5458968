/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/forward.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../sched/lab.h"
#include "core/job/own_speed.h"
#include "forecast/forecast.h"
#include "forecast/outlook.h"
#include "forecast/rehearse.h"

#define SECONDS(n) ((usec_t)(n)*USEC_PER_SEC)

/* A machine of four GPUs at a time that is not 0. */
static struct lab *small_lab(void)
{
    struct lab *lab = lab_create();

    lab->now = SECONDS(1000);
    lab_node(lab, "a", 64000, 64000);
    lab_gpus(lab, "a", "h100", 80000, 4);
    return lab;
}

/* Started at once when there is room. */
static uint64_t submit_more(struct lab *lab, uint32_t gpus, usec_t estimate, bool is_preemptible,
                            int32_t priority)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = lab->state->next_id,
                                       .name = "job",
                                       .user = "ana",
                                       .queue = "default",
                                       .estimate = estimate,
                                       .priority = priority,
                                       .preemptible = is_preemptible,
                                       .restart_cost = is_preemptible ? SECONDS(10) : 0 } };
    struct request *request = &event.submit.request;

    request_default(request);
    request->gpu_alternatives = 1;
    request->gpus[0].count = (uint16_t)gpus;
    request->gpus[0].milli = GPU_MILLI;
    request->max_duration = estimate > 0 ? SECONDS(3600) : USEC_NEVER;
    lab_tell(lab, &event);
    lab_settle(lab);
    if (lab_job(lab, event.submit.id)->state == JOB_GRANTED)
        lab_started(lab, event.submit.id);
    return event.submit.id;
}

static uint64_t submit(struct lab *lab, uint32_t gpus, usec_t estimate)
{
    return submit_more(lab, gpus, estimate, false, 0);
}

static struct forward *forward_of(struct lab *lab)
{
    return forward_create(
        &(struct forward_options){ .state = lab->state, .brain = lab->brain, .now = lab->now });
}

static void go(struct forward *forward)
{
    struct error err;

    if (forward_go(forward, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct forward_job *find(const struct forward *forward, uint64_t id)
{
    for (size_t i = 0; i < forward->jobs.count; i++) {
        if (forward->jobs.items[i].id == id)
            return &forward->jobs.items[i];
    }
    fail_msg("job %llu is not there", (unsigned long long)id);
    return NULL;
}

static void those_that_wait_start_when_those_that_run_are_expected_to_end(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    uint64_t runs = submit(lab, 4, SECONDS(100));
    uint64_t first = submit(lab, 3, SECONDS(30)), second = submit(lab, 4, SECONDS(5));
    (void)unused;

    lab->now += SECONDS(40);
    AUTO(forward) struct forward *forward = forward_of(lab);
    go(forward);
    assert_true(find(forward, runs)->was_active);
    assert_int_equal(find(forward, runs)->start, -1);
    assert_int_equal(find(forward, first)->start, lab->now + SECONDS(60));
    assert_int_equal(find(forward, second)->start, lab->now + SECONDS(90));
    assert_int_equal(forward->drained, lab->now + SECONDS(90));
    assert_int_equal(forward->horizon, USEC_NEVER);
    assert_false(find(forward, second)->was_active);
}

/* Without predictions. On the k80, the first runs for 400 s, and the second afterwards. */
static void those_that_state_their_speeds_run_by_their_model(void **unused)
{
    AUTO(lab) struct lab *lab = lab_create();
    struct own_speed speeds[] = { { "a100", 1000 }, { "k80", 250 } };
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .name = "job", .user = "ana", .queue = "default", .estimate = SECONDS(100) }
    };
    struct request *request = &event.submit.request;
    struct start_estimate start;
    uint64_t ids[2];
    (void)unused;

    lab->now = SECONDS(1000);
    lab_node(lab, "a", 64000, 64000);
    lab_gpus(lab, "a", "a100", 80000, 1);
    lab_gpus(lab, "a", "k80", 80000, 1);
    request_default(request);
    request->gpu_alternatives = 1;
    request->gpus[0] = (struct gpu_ask){ .count = 1, .milli = GPU_MILLI, .model = "k80" };
    request->max_duration = SECONDS(3600);
    request->speeds = speeds;
    request->speeds_count = 2;
    for (int i = 0; i < 2; i++) {
        ids[i] = event.submit.id = lab->state->next_id;
        lab_tell(lab, &event);
        lab_settle(lab);
        memset(request->gpus[0].model, 0, sizeof(request->gpus[0].model));
        submit(lab, 1, SECONDS(1000)); /* on the other one */
    }
    assert_int_equal(lab_job(lab, ids[0])->state, JOB_GRANTED);
    lab_started(lab, ids[0]);
    lab->now += SECONDS(200);
    sched_estimate_start(lab->brain, lab->inquiry, lab_job(lab, ids[1]), &start);
    assert_int_equal(start.median, lab->now + SECONDS(200));
    AUTO(forward) struct forward *forward = forward_of(lab);
    go(forward);
    assert_int_equal(find(forward, ids[1])->start, lab->now + SECONDS(200));
    assert_int_equal(find(forward, ids[1])->end, lab->now + SECONDS(600));
}

static void behind_one_without_an_end_nobody_ever_starts(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    uint64_t first, second;
    (void)unused;

    submit(lab, 1, 0);
    first = submit(lab, 3, SECONDS(30));
    second = submit(lab, 4, SECONDS(30));
    AUTO(forward) struct forward *forward = forward_of(lab);
    go(forward);
    assert_true(find(forward, first)->was_active);
    assert_int_equal(find(forward, second)->start, -1);
    assert_int_equal(forward->drained, lab->now);
}

static void what_was_granted_and_not_yet_started_starts(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    uint64_t granted = lab_submit(lab, "4", SECONDS(50));
    uint64_t waits = lab_submit(lab, "4", SECONDS(50));
    (void)unused;

    lab_settle(lab);
    assert_int_equal(lab_job(lab, granted)->state, JOB_GRANTED);
    AUTO(forward) struct forward *forward = forward_of(lab);
    go(forward);
    assert_int_equal(lab_job(lab, granted)->result, RESULT_OK);
    assert_int_equal(find(forward, waits)->start, lab->now + SECONDS(50));
}

/* Its attempt, and with it the lease, ends with the member that still runs: the first or the last.
 */
static void a_gang_ends_though_a_member_of_it_ended_before(void **unused)
{
    (void)unused;

    for (uint32_t rank = 0; rank < 2; rank++) {
        AUTO(lab) struct lab *lab = small_lab();
        struct event submitted = { .kind = EVENT_SUBMIT,
                                   .submit = { .id = lab->state->next_id,
                                               .name = "gang",
                                               .user = "ana",
                                               .queue = "default",
                                               .estimate = SECONDS(50) } };
        request_default(&submitted.submit.request);
        submitted.submit.request.members = 2;
        submitted.submit.request.gpu_alternatives = 1;
        submitted.submit.request.gpus[0] = (struct gpu_ask){ .count = 2, .milli = GPU_MILLI };
        submitted.submit.request.max_duration = SECONDS(50);
        lab_tell(lab, &submitted);
        uint64_t gang = submitted.submit.id, waits = lab_submit(lab, "4", SECONDS(50));
        lab_settle(lab);
        lab_started(lab, gang);
        lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                       .ended = { .job = gang,
                                                  .attempt = lab_job(lab, gang)->run->attempt,
                                                  .rank = rank,
                                                  .kind = ENGINE_ENDED,
                                                  .reason = "" } });
        assert_int_equal(lab_job(lab, gang)->state, JOB_RUNNING);
        AUTO(forward) struct forward *forward = forward_of(lab);
        go(forward);
        assert_int_equal(lab_job(lab, gang)->result, RESULT_OK);
        assert_int_equal(find(forward, waits)->start, lab->now + SECONDS(50));
    }
}

static void who_is_stopped_for_others_goes_on_later_and_pays_for_it(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    struct error err;
    (void)unused;

    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .order = ORDER_DEFAULT, .backfill_depth = 1 } });
    uint64_t low = submit_more(lab, 4, SECONDS(100), true, 0);
    lab->now += SECONDS(50);
    AUTO(forward) struct forward *forward = forward_of(lab);
    struct event high = { .kind = EVENT_SUBMIT,
                          .submit = { .id = lab->state->next_id,
                                      .name = "high",
                                      .user = "ben",
                                      .queue = "default",
                                      .estimate = SECONDS(20),
                                      .priority = 100 } };
    struct event last = high;
    request_default(&high.submit.request);
    high.submit.request.gpu_alternatives = 1;
    high.submit.request.gpus[0] = (struct gpu_ask){ .count = 4, .milli = GPU_MILLI };
    high.submit.request.max_duration = SECONDS(3600);
    last.submit.request = high.submit.request;
    last.submit.id++;
    last.submit.priority = -1;
    assert_int_equal(forward_tell(forward, &high, &err), 0);
    assert_int_equal(forward_tell(forward, &last, &err), 0);
    go(forward);
    assert_int_equal(find(forward, high.submit.id)->start, lab->now);
    assert_true(find(forward, high.submit.id)->is_new);
    assert_int_equal(find(forward, low)->preemptions, 1);
    assert_int_equal(find(forward, low)->lost, SECONDS(10));
    /* 20 of the other one, then the 50 that are left and the 10 that it pays. */
    assert_int_equal(find(forward, last.submit.id)->start, lab->now + SECONDS(20 + 60));
}

static void what_waits_for_others_and_for_its_time_starts_then(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    uint64_t first = submit(lab, 1, SECONDS(100));
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = first + 1,
                                       .name = "then",
                                       .user = "ana",
                                       .queue = "default",
                                       .estimate = SECONDS(5),
                                       .need_count = 1 } };
    struct event timed = event;
    (void)unused;

    request_default(&event.submit.request);
    lab_tell(lab, &event);
    lab_tell(lab, &(struct event){ .kind = EVENT_NEED, .need = { .job = first + 1, .on = first } });
    timed.submit.id = first + 2;
    timed.submit.need_count = 0;
    timed.submit.begin = lab->now + SECONDS(33);
    request_default(&timed.submit.request);
    lab_tell(lab, &timed);
    lab_settle(lab);
    AUTO(forward) struct forward *forward = forward_of(lab);
    go(forward);
    assert_int_equal(find(forward, first + 1)->start, lab->now + SECONDS(100));
    assert_int_equal(find(forward, first + 2)->start, lab->now + SECONDS(33));
}

static void with_a_grain_only_those_that_wait_start_late(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    uint64_t waits, last;
    (void)unused;

    submit(lab, 3, SECONDS(33));
    waits = submit(lab, 4, SECONDS(10));
    last = submit(lab, 4, SECONDS(10));
    AUTO(forward)
    struct forward *forward = forward_create(&(struct forward_options){
        .state = lab->state, .brain = lab->brain, .now = lab->now, .grain = SECONDS(20) });
    go(forward);
    assert_int_equal(find(forward, waits)->start, lab->now + SECONDS(33)); /* 20 had passed */
    assert_int_equal(find(forward, last)->start, lab->now + SECONDS(53));  /* not 43 */
}

static void it_ends_when_it_has_taken_its_time(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    (void)unused;

    for (int i = 0; i < 2000; i++)
        submit(lab, 4, SECONDS(10));
    AUTO(forward)
    struct forward *forward = forward_create(&(struct forward_options){
        .state = lab->state, .brain = lab->brain, .now = lab->now, .processor = 1 });
    go(forward);
    assert_true(forward->horizon >= lab->now && forward->horizon < lab->now + SECONDS(20000));
    size_t started = 0;
    for (size_t i = 0; i < forward->jobs.count; i++)
        started += forward->jobs.items[i].start >= 0;
    assert_in_range(started, 1, 200);
}

/* ---- twice, and side by side ---- */

static int more_machines(void *user, struct forward *forward, bool is_change, struct error *err)
{
    struct event node = { .kind = EVENT_NODE,
                          .node = { .name = "b", .cpu_milli = 64000, .memory_mib = 64000 } };
    int code = 0;

    (void)user;
    if (!is_change)
        return 0;
    code = forward_tell(forward, &node, err);
    for (uint32_t i = 0; i < 4 && code == 0; i++) {
        AUTO_FREE char *uuid = mem_printf("b.%u", i);
        struct event device = { .kind = EVENT_DEVICE,
                                .device = { .node = "b",
                                            .uuid = uuid,
                                            .model = "h100",
                                            .index = i,
                                            .memory_mib = 80000 } };
        code = forward_tell(forward, &device, err);
    }
    return code;
}

static void a_forecast_without_jobs_is_empty(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    struct forecast forecast;
    (void)unused;

    forecast_make(
        &(struct forecast_ask){ .state = lab->state, .brain = lab->brain, .now = lab->now },
        &forecast);
    assert_int_equal(forecast.samples, FORECAST_SAMPLES_MAX);
    assert_int_equal(forecast.rows.count, 0);
    assert_null(forecast_find(&forecast, 1));
    forecast_release(&forecast);
}

/* A job of an hour on the whole machine, each two hours from `first` on. */
struct repeating {
    struct lab *lab;
    usec_t due;
    uint32_t submitted;
};

static usec_t next_repeating(void *user)
{
    return ((struct repeating *)user)->due;
}

static int come_repeating(void *user, struct forward *forward, usec_t now, struct error *err)
{
    struct repeating *repeating = user;
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = forward->state->next_id,
                                       .name = "r",
                                       .user = "ana",
                                       .queue = "default",
                                       .external = "",
                                       .priority = 1,
                                       .estimate = USEC_PER_HOUR,
                                       .request = { .gpu_alternatives = 1,
                                                    .gpus = { { .count = 4 } },
                                                    .members = 1,
                                                    .nodes_min = 1,
                                                    .nodes_max = 1,
                                                    .max_duration = USEC_PER_HOUR } } };

    repeating->due = now + 2 * USEC_PER_HOUR;
    repeating->submitted++;
    return forward_tell(forward, &event, err);
}

static void jobs_that_are_planned_run_before_those_that_wait_and_do_not_go_on(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    struct repeating repeating = { .lab = lab, .due = lab->now + SECONDS(60) };
    struct forward_options options = { .state = lab->state,
                                       .brain = lab->brain,
                                       .now = lab->now,
                                       .user = &repeating,
                                       .next = next_repeating,
                                       .come = come_repeating,
                                       .is_ambient = true };
    struct outlook_side side = { 0 };
    struct error err;
    (void)unused;

    submit(lab, 4, SECONDS(100));
    submit(lab, 4, SECONDS(50));
    lab_settle(lab);
    AUTO(forward) struct forward *forward = forward_create(&options);
    assert_int_equal(forward_go(forward, &err), 0);
    assert_int_equal(repeating.submitted, 1);
    assert_int_equal(forward->jobs.items[1].start, lab->now + SECONDS(100) + USEC_PER_HOUR);
    outlook_take(forward, &side);
    assert_int_equal(side.jobs.count, 2);
    outlook_side_release(&side);
}

static void describe(void *user, uint64_t id, json_t *view)
{
    (void)user;
    json_object_set_new(view, "label", json_integer((json_int_t)id));
}

static double number(const json_t *view, const char *key, const char *side)
{
    return json_number_value(json_object_get(json_object_get(view, key), side));
}

static void both_are_driven_from_the_same_state(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    struct outlook_side now = { 0 }, change = { 0 };
    struct twice_ask ask = {
        .forward = { .state = lab->state, .brain = lab->brain, .now = lab->now + SECONDS(10) },
        .prepare = more_machines
    };
    struct error err;
    (void)unused;

    submit(lab, 4, SECONDS(100));
    uint64_t first = submit(lab, 4, SECONDS(50)), second = submit(lab, 4, SECONDS(50));
    if (twice_go(&ask, &now, &change, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(now.jobs.count, 3);
    assert_int_equal(now.jobs.items[1].id, first);
    assert_int_equal(now.jobs.items[1].start, lab->now + SECONDS(100));
    assert_int_equal(now.jobs.items[2].start, lab->now + SECONDS(150));
    assert_int_equal(change.jobs.items[1].start, lab->now + SECONDS(10));
    assert_int_equal(change.jobs.items[2].start, lab->now + SECONDS(60));
    assert_string_equal(now.queues.items[1], "default");

    json_t *view = outlook_view(&(struct outlook_ask){ .now = &now,
                                                       .change = &change,
                                                       .describe = describe,
                                                       .from = lab->now + SECONDS(10),
                                                       .shown = 1 });
    assert_int_equal(json_integer_value(json_object_get(view, "job_count")), 2);
    assert_int_equal(json_integer_value(json_object_get(view, "sooner")), 2);
    assert_int_equal(json_integer_value(json_object_get(view, "later")), 0);
    assert_int_equal(json_array_size(json_object_get(view, "jobs")), 1);
    const json_t *job = json_array_get(json_object_get(view, "jobs"), 0);
    assert_int_equal(json_integer_value(json_object_get(job, "id")), first);
    assert_float_equal(json_number_value(json_object_get(job, "later_seconds")), -90, 1e-9);
    const json_t *total = json_object_get(view, "total");
    assert_float_equal(number(total, "wait_mean", "now"), 125, 1e-9);
    assert_float_equal(number(total, "wait_mean", "change"), 35, 1e-9);
    assert_float_equal(number(total, "wait_p95", "now"), 150, 1e-9);
    (void)second;
    json_decref(view);
    outlook_side_release(&now);
    outlook_side_release(&change);
}

static int fail_the_first(void *user, struct forward *forward, bool is_change, struct error *err)
{
    (void)user;
    (void)forward;
    return is_change ? 0 : error_set(err, -EINVAL, "no such thing");
}

static int abort_the_first(void *user, struct forward *forward, bool is_change, struct error *err)
{
    (void)user;
    (void)forward;
    (void)err;
    if (!is_change)
        _Exit(3);
    return 0;
}

static void what_fails_in_the_other_process_is_told_here(void **unused)
{
    static const struct {
        int (*prepare)(void *, struct forward *, bool, struct error *);
        int code;
        const char *words;
    } cases[] = {
        { fail_the_first, -EINVAL, "no such thing" },
        { abort_the_first, -EIO, "the simulation without the change ended early" },
    };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(lab) struct lab *lab = small_lab();
        struct outlook_side now = { 0 }, change = { 0 };
        struct twice_ask ask = {
            .forward = { .state = lab->state, .brain = lab->brain, .now = lab->now },
            .prepare = cases[i].prepare
        };
        struct error err;
        assert_int_equal(twice_go(&ask, &now, &change, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].words);
        outlook_side_release(&now);
        outlook_side_release(&change);
    }
}

static void a_side_survives_its_bytes_and_a_cut_one_is_refused(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct outlook_side side = { 0 }, read = { 0 };
    struct error err;
    (void)unused;

    submit(lab, 4, SECONDS(100));
    submit(lab, 4, SECONDS(100));
    AUTO(forward) struct forward *forward = forward_of(lab);
    go(forward);
    outlook_take(forward, &side);
    outlook_encode(&side, &bytes);
    assert_int_equal(outlook_decode(&bytes, &read, &err), 0);
    assert_int_equal(read.jobs.count, 2);
    assert_memory_equal(read.jobs.items, side.jobs.items, 2 * sizeof(side.jobs.items[0]));
    assert_int_equal(read.queues.count, 2);
    assert_int_equal(read.horizon, USEC_NEVER);
    outlook_side_release(&read);
    for (size_t length = 0; length < bytes.length; length++) {
        struct text cut = { .bytes = bytes.bytes, .length = length };
        struct outlook_side none = { 0 };
        assert_int_equal(outlook_decode(&cut, &none, &err), -EIO);
        outlook_side_release(&none);
    }
    outlook_side_release(&side);
}

/* ---- the past once more ---- */

static struct lab *past;

static int read_past(const char *dir, journal_record_fn *fn, void *user, struct error *err)
{
    int code = 0;

    (void)dir;
    for (size_t i = 0; i < past->records.count && code == 0; i++) {
        struct journal_record record = { .sequence = i + 1,
                                         .bytes = past->records.items[i].bytes,
                                         .length = past->records.items[i].length };
        code = fn(user, &record, err);
    }
    return code;
}

static int set_limit(void *config, struct forward *forward, bool is_change, struct error *err)
{
    struct event event = { .kind = EVENT_QUEUE,
                           .queue = { .name = "default",
                                      .weight = 1,
                                      .gpus = { 0, is_change ? 1000 : QUOTA_NONE, QUOTA_NONE,
                                                QUOTA_NONE } } };

    (void)config;
    return forward_tell(forward, &event, err);
}

static void end_at(struct lab *lab, uint64_t id, usec_t at)
{
    lab->now = at;
    lab_ended(lab, id, 0);
    lab_settle(lab);
    for (struct job *job = lab->state->first_job; job; job = job->next) {
        if (job->state == JOB_GRANTED)
            lab_started(lab, job->id);
    }
}

static json_t *rehearse_past(usec_t last)
{
    json_t *said = NULL;
    struct error err;
    struct rehearsal rehearsal = { .dir = "",
                                   .read_journal = read_past,
                                   .now = past->now,
                                   .last = last,
                                   .shown = 10,
                                   .configure = set_limit };

    if (rehearse(&rehearsal, &said, &err) < 0)
        fail_msg("%s", err.text);
    return said;
}

static void the_past_is_as_it_was_and_otherwise_under_another_limit(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    usec_t from = lab->now;
    (void)unused;

    past = lab;
    uint64_t a = submit(lab, 3, SECONDS(1000)), b = submit(lab, 1, SECONDS(1000));
    uint64_t c = submit(lab, 1, SECONDS(1000)), d = submit(lab, 1, SECONDS(1000));
    end_at(lab, b, from + SECONDS(7)); /* they ran as long as they ran, whatever was said */
    end_at(lab, c, from + SECONDS(10));
    end_at(lab, a, from + SECONDS(30));
    end_at(lab, d, from + SECONDS(31));
    json_t *said = rehearse_past(SECONDS(500));
    const json_t *total = json_object_get(said, "total");
    assert_int_equal(json_integer_value(json_object_get(said, "job_count")), 4);
    /* 0, 0, 7, 10 */
    assert_float_equal(number(total, "wait_mean", "now"), 17.0 / 4, 1e-6);
    assert_float_equal(number(total, "wait_p95", "now"), 10, 1e-6);
    /* a never starts, b runs 7, c 3, d 21, one after another: 0, 7, 10 */
    assert_int_equal(number(total, "never", "change"), 1);
    assert_float_equal(number(total, "wait_mean", "change"), 17.0 / 3, 1e-6);
    json_decref(said);

    /* Of the last 26 seconds none is new: what ran then still runs, and no job counts. */
    said = rehearse_past(SECONDS(26));
    assert_int_equal(json_integer_value(json_object_get(said, "job_count")), 0);
    json_decref(said);
}

static void an_empty_past_has_nothing_to_tell(void **unused)
{
    AUTO(lab) struct lab *lab = small_lab();
    (void)unused;

    past = lab;
    json_t *said = rehearse_past(SECONDS(7 * 86400));
    assert_int_equal(json_integer_value(json_object_get(said, "job_count")), 0);
    json_decref(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_wait_start_when_those_that_run_are_expected_to_end),
        cmocka_unit_test(those_that_state_their_speeds_run_by_their_model),
        cmocka_unit_test(behind_one_without_an_end_nobody_ever_starts),
        cmocka_unit_test(what_was_granted_and_not_yet_started_starts),
        cmocka_unit_test(a_gang_ends_though_a_member_of_it_ended_before),
        cmocka_unit_test(who_is_stopped_for_others_goes_on_later_and_pays_for_it),
        cmocka_unit_test(what_waits_for_others_and_for_its_time_starts_then),
        cmocka_unit_test(with_a_grain_only_those_that_wait_start_late),
        cmocka_unit_test(it_ends_when_it_has_taken_its_time),
        cmocka_unit_test(jobs_that_are_planned_run_before_those_that_wait_and_do_not_go_on),
        cmocka_unit_test(a_forecast_without_jobs_is_empty),
        cmocka_unit_test(both_are_driven_from_the_same_state),
        cmocka_unit_test(what_fails_in_the_other_process_is_told_here),
        cmocka_unit_test(a_side_survives_its_bytes_and_a_cut_one_is_refused),
        cmocka_unit_test(the_past_is_as_it_was_and_otherwise_under_another_limit),
        cmocka_unit_test(an_empty_past_has_nothing_to_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
