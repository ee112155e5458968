/* SPDX-License-Identifier: Apache-2.0 */
#include "control/submit.h"

#include "core/job/role.h"
#include "desk.h"
#include "wire/job/submission.h"

#define JOB "run: 'true', sender_cwd: /"

static void a_job_is_its_senders(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", gpus: 1, name: train}");
    const struct job *job = state_job(desk->state, id);

    assert_non_null(job);
    assert_string_equal(job->name, "train");
    assert_string_equal(state_user(desk->state, job->user), "ana");
    assert_int_equal(job->uid, 1000);
    assert_int_equal(job->gid, 100);
    assert_int_equal(job->queue, QUEUE_DEFAULT);
    assert_int_equal(job->grace, 30 * USEC_PER_SEC);
    assert_int_equal(desk->blobs.count, 2); /* the environment, the launch */
    assert_int_equal(job->launch, 2);
}

static void an_array_is_a_group_of_tasks(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", array: 1-3}");
    const struct group *group = state_group(desk->state, id);

    assert_non_null(group);
    assert_int_equal(group->kind, GROUP_ARRAY);
    assert_int_equal(group->job_count, 3);
    assert_int_equal(group->last, id + 3);
    assert_int_equal(state_job(desk->state, id + 3)->index, 3);
}

static void stages_need_each_other(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana,
                              "{name: p, sender_cwd: /, stages: {one: {run: 'true'}, "
                              "two: {run: 'true', needs: [one]}}}");
    const struct group *pipeline = state_group(desk->state, id);

    assert_int_equal(pipeline->kind, GROUP_PIPELINE);
    assert_int_equal(pipeline->job_count, 2);
    assert_int_equal(state_job(desk->state, id + 2)->state, JOB_QUEUED);
    assert_int_equal(state_job(desk->state, id + 4)->state, JOB_WAITING);
}

static void a_dry_run_emits_nothing(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    unsigned before = desk->emitted;
    struct submit submit;

    ASSERT_DONE(submit_read(&submit, &desk->ana, desk_json("[{" JOB "}, {" JOB "}]"), &err));
    submit.is_dry_run = true;
    ASSERT_DONE(submit_run(&desk->control, &submit, &err));
    assert_int_equal(submit.count, 2);
    assert_int_equal(desk->emitted, before);
    submit_release(&submit);
}

static const char *const named =
    "[{" JOB "}, {" JOB ", array: 1-3}, {" JOB ", schedule: '0 2 * * *'}, "
    "{name: p, sender_cwd: /, stages: {one: {run: 'true'}, "
    "two: {run: 'true', needs: [one]}}}, {" JOB "}]";

/* The numbers of what was submitted under a key. */
static void submit_named(struct desk *desk, const struct identity *who, const char *key,
                         uint64_t fingerprint, uint64_t ret_ids[5], bool *ret_is_repeated)
{
    struct submit submit;

    ASSERT_DONE(submit_read(&submit, who, desk_json(named), &err));
    ASSERT_DONE(submit_name(&submit, key, &err));
    submit.fingerprint = fingerprint;
    ASSERT_DONE(submit_run(&desk->control, &submit, &err));
    assert_int_equal(submit.count, 5);
    memcpy(ret_ids, submit.ids, 5 * sizeof(ret_ids[0]));
    *ret_is_repeated = submit.is_repeated;
    submit_release(&submit);
}

static void a_submission_with_a_key_is_accepted_once(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t first[5], again[5], other[5];
    bool is_repeated;

    submit_named(desk, &desk->ana, "k", 7, first, &is_repeated);
    assert_false(is_repeated);
    assert_int_equal(state_group(desk->state, first[1])->kind, GROUP_ARRAY);
    assert_int_equal(state_group(desk->state, first[3])->kind, GROUP_PIPELINE);
    assert_non_null(state_job(desk->state, first[4]));
    unsigned before = desk->emitted;
    desk_submit(desk, &desk->ana, "{" JOB "}");
    unsigned one = desk->emitted - before;
    submit_named(desk, &desk->ana, "k", 7, again, &is_repeated);
    assert_true(is_repeated);
    assert_int_equal(desk->emitted, before + one);
    assert_memory_equal(first, again, sizeof(first));
    submit_named(desk, &desk->eve, "k", 7, other, &is_repeated);
    assert_false(is_repeated);
    assert_true(other[0] > first[4]);
}

static void a_key_stands_for_one_submission(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t ids[5];
    struct submit submit;
    bool is_repeated;

    submit_named(desk, &desk->ana, "k", 7, ids, &is_repeated);
    ASSERT_DONE(submit_read(&submit, &desk->ana, desk_json("{" JOB "}"), &err));
    ASSERT_DONE(submit_name(&submit, "k", &err));
    ASSERT_REFUSED(desk, submit_run(&desk->control, &submit, &err), REFUSED_CONFLICT,
                   "key 'k': another submission of yours had it; expected the same documents");
    ASSERT_REFUSED(desk, submit_name(&submit, "", &err), REFUSED_BAD,
                   "key of 0 characters; expected 1 to 64");
    ASSERT_REFUSED(desk, submit_name(&submit, "a b", &err), REFUSED_BAD,
                   "key: expected printable characters of ASCII, without spaces");
    submit_release(&submit);
}

static void slurms_partition_is_a_queue_where_no_pool_has_that_name(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {}}");
    uint64_t id = desk_submit(desk, &desk->ana, "{" JOB ", pool: research}");
    assert_string_equal(desk->state->queues.items[state_job(desk->state, id)->queue].name,
                        "research");
}

static const struct request *request_of(struct desk *desk, const char *yaml, const char **ret_queue)
{
    const struct job *job = state_job(desk->state, desk_submit(desk, &desk->ana, yaml));

    *ret_queue = desk->state->queues.items[job->queue].name;
    return state_request(desk->state, job);
}

static void of_several_partitions_the_first_that_can_run_it_counts(void **state)
{
    static const struct {
        const char *yaml, *pool, *queue;
    } cases[] = {
        { "{" JOB ", pool: 'small,big', gpus: 2}", "small", "default" },
        { "{" JOB ", pool: 'small,big', gpus: 3}", "big", "default" },
        { "{" JOB ", pool: 'short,long', max_duration: 30m}", "", "short" },
        { "{" JOB ", pool: 'short,long', max_duration: 2h}", "", "long" },
        { "{" JOB ", pool: 'closed,long'}", "", "long" },
        { "{" JOB ", pool: 'long,small', gpus: 4}", "", "long" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    const char *queue;

    desk_configure(desk, "{pools: {big: {model: h100}, small: {model: a100}}, queues: {short: "
                         "{longest_duration: 1h}, long: {}, closed: {submit: [eve]}}}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(request_of(desk, cases[i].yaml, &queue)->pool, cases[i].pool);
        assert_string_equal(queue, cases[i].queue);
    }
}

static void a_qos_is_a_queue_at_or_below_the_account(void **state)
{
    static const char *const cases[][2] = {
        { "{" JOB ", qos: high}", "high" },
        { "{" JOB ", qos: normal}", "default" },
        { "{" JOB ", qos: normal, queue: lab}", "lab" },
        { "{" JOB ", qos: lab, queue: lab}", "lab" },
        { "{" JOB ", qos: urgent, queue: firm}", "urgent" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    const char *queue;

    desk_configure(desk, "queues: {high: {}, lab: {}, firm: {queues: {urgent: {}}}}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        request_of(desk, cases[i][0], &queue);
        assert_string_equal(queue, cases[i][1]);
    }
}

static void a_whole_node_has_all_that_nodes_of_its_kind_have(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    const struct node *a = &desk->state->nodes.items[0], *b = &desk->state->nodes.items[1];
    const char *queue;

    const struct request *request =
        request_of(desk, "{" JOB ", gpus: 'a100:1', exclusive: true}", &queue);
    assert_int_equal(request->gpus[0].count, 2);
    assert_int_equal(request->cpu_milli, b->cpu_milli);
    assert_int_equal(request->memory_mib, 0);
    request = request_of(desk, "{" JOB ", gpus: 3, exclusive: true, memory: all}", &queue);
    assert_int_equal(request->gpus[0].count, 4);
    assert_int_equal(request->cpu_milli, a->cpu_milli);
    assert_int_equal(request->memory_mib, a->memory_mib);
    request = request_of(desk, "{" JOB ", gpus: 'h100:1', memory: all}", &queue);
    assert_int_equal(request->gpus[0].count, 1);
    assert_int_equal(request->cpu_milli, 1000);
    assert_int_equal(request->memory_mib, a->memory_mib);
}

static int submit_yaml(struct desk *desk, const struct identity *who, const char *yaml,
                       struct error *err)
{
    AUTO(json) json_t *document = desk_json(yaml);

    return submit_all(&desk->control, who, document, err);
}

struct refused_yaml {
    const char *yaml;
    int code;
    const char *text;
};

static void assert_refused(struct desk *desk, const struct refused_yaml *cases, size_t count)
{
    unsigned before = desk->emitted;

    for (size_t i = 0; i < count; i++) {
        struct error err = { "" };
        int code = submit_yaml(desk, &desk->ana, cases[i].yaml, &err);

        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(code, cases[i].code);
        assert_int_equal(desk->emitted, before);
    }
}

static void what_makes_no_sense_is_refused_with_the_reason(void **state)
{
    static const struct refused_yaml cases[] = {
        { "[]", REFUSED_BAD, "body: 0 documents, not 1 to 10000" },
        { "{" JOB ", queue: reserch}", REFUSED_NOT_FOUND,
          "queue reserch: no such queue; did you mean 'research'?" },
        { "{" JOB ", queue: parent}", REFUSED_BAD,
          "queue parent: has queues below it; name one of them" },
        { "{" JOB ", priority: 5}", REFUSED_FORBIDDEN,
          "priority 5: only administrators can set one above 0" },
        { "{" JOB ", depends: [999]}", REFUSED_NOT_FOUND, "depends: job 999: no such job" },
        { "{" JOB ", pool: 'research,none'}", REFUSED_NOT_FOUND,
          "pool research,none: no pool or queue is called 'none'; see tarn pools and tarn queues" },
        { "{" JOB ", pool: 'research,'}", REFUSED_BAD,
          "pool: '' is not a valid name in 'research,'" },
        { "{" JOB ", pool: 'research,default', gpus: v100}", REFUSED_NEVER,
          "pool research,default: none can run it: the first: gpus 'v100:1': there is none; there "
          "are h100, a100" },
        { "{" JOB ", qos: long}", REFUSED_NOT_FOUND,
          "qos long: invalid qos specification: no queue is called so; expected normal, or one of "
          "tarn queues, whose limits and priority count" },
        { "{" JOB ", qos: research, queue: default}", REFUSED_BAD,
          "qos research: a queue of its own, and not below queue default; expected one of them" },
        { "{" JOB ", exclusive: true}", REFUSED_NEVER,
          "exclusive: the nodes that can run the job are of different sizes; expected the gpus, "
          "cpus and memory of the wanted node" },
        { "{" JOB ", exclusive: true, gpus: 5}", REFUSED_NEVER,
          "exclusive: no node has what the job requests beside it" },
        { "{" JOB ", exclusive: true, gpus: 0.5}", REFUSED_NEVER,
          "exclusive: expected a number of whole GPUs of one model, or none" },
        { "{" JOB ", memory: all, ranks: 2}", REFUSED_NEVER,
          "memory all of a node: for a gang; expected gpus, cpus and memory of each member" },
        { "{" JOB ", depends: [{on: 1, when: failed}]}", REFUSED_NEVER,
          "depends: 1 has ended, and will not be 'failed' any more: this could never run" },
        { "{" JOB ", gpus: 8}", REFUSED_NEVER,
          "8 gpus: no node has more than 4; for more nodes: "
          "--nodes 2 --gpus 4" },
        { "{" JOB ", gpus: v100}", REFUSED_NEVER,
          "gpus 'v100:1': there is none; there are h100, a100" },
        { "{" JOB ", cpus: 100}", REFUSED_NEVER, "100 cpus: no node has more than 8 cpus" },
        { "{" JOB ", deadline: now+1h, begin: now+2h}", REFUSED_BAD,
          "deadline in 1h00m: before its begin time, in 2h00m" },
        { "{" JOB ", deadline: now+1h, estimate: 2h}", REFUSED_BAD,
          "deadline in 1h00m: too early for an estimate of 2h00m" },
        { "{" JOB ", deadline: 2001-01-01}", REFUSED_BAD, "deadline '2001-01-01': it has passed" },
        { "{name: p, sender_cwd: /, stages: {one: {run: 'true', gpus: 8}}}", REFUSED_NEVER,
          "stage one: 8 gpus: no node has more than 4; for more nodes: --nodes 2 --gpus 4" },
        { "[{" JOB "}, {" JOB ", queue: none}]", REFUSED_NOT_FOUND,
          "document 2: queue none: no such queue" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {}, parent: {queues: {child: {}}}}");
    desk_submit(desk, &desk->ana, "{" JOB "}");
    desk_start(desk, 1);
    desk_end(desk, 1);
    assert_refused(desk, cases, COUNT_OF(cases));
    desk_submit(desk, &desk->root, "{" JOB ", priority: 5}");
}

static const char policy[] =
    "queues:\n"
    "  teaching: {default_duration: 4h, longest_duration: 1d, gpus_per_job: 2, max_priority: 5,\n"
    "             preemptible: default, submit: {users: [eve], groups: ['100']},\n"
    "             queues: {course: {}, exam: {preemptible: never, gpus_per_job: 4, submit: eve}}}\n"
    "  spare: {preemptible: always, models: [A100, h100]}\n"
    "  big: {retry: {oom: {memory: x1.5, most: 48G}}, queues: {small: {}, below: {retry: {oom: "
    "{memory: "
    "x2}}}}}\n";

static void a_queue_gives_more_memory_to_jobs_that_ran_out_of_it(void **state)
{
    static const struct {
        const char *yaml;
        uint16_t factor;
    } cases[] = {
        { "{" JOB ", queue: small, memory: 1G}", 1500 },
        { "{" JOB ", queue: below, memory: 1G}", 2000 },
        { "{" JOB ", queue: small, memory: 1G, retry: {oom: {memory: x3}}}", 3000 },
        { "{" JOB ", queue: small, memory: 1G, retry: {oom: false}}", 0 },
        { "{" JOB ", queue: small}", 0 }, /* more than what? */
        { "{" JOB ", queue: course, memory: 1G}", 0 },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, policy);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t id = desk_submit(desk, &desk->ana, cases[i].yaml);
        assert_int_equal(state_job(desk->state, id)->oom_factor, cases[i].factor);
    }
    int64_t below = state_find_queue(desk->state, "below");
    assert_int_equal(queue_rules_of(desk->state->queues.items, (uint32_t)below).oom_most,
                     48 * 1024);
}

static void a_queue_fills_in_what_a_job_leaves_out(void **state)
{
    static const struct {
        const char *yaml;
        usec_t max_duration;
        bool is_preemptible;
        uint8_t spot;
        const char *gpus;
    } cases[] = {
        { "{" JOB ", queue: course}", 4 * USEC_PER_HOUR, true, SPOT_ALLOW, "" },
        { "{" JOB ", queue: course, estimate: 6h}", 6 * USEC_PER_HOUR, true, SPOT_ALLOW, "" },
        { "{" JOB ", queue: course, max_duration: 10m, preemptible: false}", 10 * USEC_PER_MIN,
          false, SPOT_NEVER, "" },
        { "{" JOB ", queue: spare, gpus: 1, spot: never}", USEC_NEVER, true, SPOT_NEVER,
          "a100:1|h100:1" },
        { "{" JOB ", queue: spare, gpus: 'h100:2'}", USEC_NEVER, true, SPOT_ALLOW, "h100:2" },
        { "{" JOB ", gpus: 1}", USEC_NEVER, false, SPOT_NEVER, "1" },
        { "{" JOB ", queue: spare, roles: {a: {gpus: 1}, b: {cpus: 1}}}", USEC_NEVER, true,
          SPOT_ALLOW, "a100:1|h100:1" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, policy);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t id = desk_submit(desk, &desk->ana, cases[i].yaml);
        const struct job *job = state_job(desk->state, id);
        const struct request *request = state_request(desk->state, job);
        AUTO_RELEASE(text) struct text gpus = { 0 };
        request_format_gpus(request_part(request, 0), &gpus);
        assert_int_equal(job->max_duration, cases[i].max_duration);
        assert_int_equal(job->is_preemptible, cases[i].is_preemptible);
        assert_int_equal(job->spot, cases[i].spot);
        assert_string_equal(text_string(&gpus), cases[i].gpus);
    }
}

static void what_a_queue_does_not_allow_is_refused_with_the_bound(void **state)
{
    static const struct refused_yaml cases[] = {
        { "{" JOB ", queue: course, max_duration: 3d}", REFUSED_NEVER,
          "queue course: max_duration 3d00h: the longest is 1d00h" },
        { "{" JOB ", queue: course, max_duration: unlimited}", REFUSED_NEVER,
          "queue course: max_duration unlimited: the longest is 1d00h" },
        { "{" JOB ", queue: course, estimate: 2d}", REFUSED_NEVER,
          "queue course: estimate 2d00h: the longest is 1d00h" },
        { "{" JOB ", queue: course, ranks: 3, gpus: 1}", REFUSED_NEVER,
          "queue course: 3 gpus: a job has 2 at most" },
        { "{" JOB ", queue: course, ranks: 1..3, gpus: 1}", REFUSED_NEVER,
          "queue course: 3 gpus: a job has 2 at most" },
        { "{" JOB ", queue: course, priority: 6}", REFUSED_FORBIDDEN,
          "priority 6: queue course allows up to 5" },
        { "{" JOB ", queue: exam}", REFUSED_FORBIDDEN,
          "queue exam: only users and groups that its configuration lists under 'submit' may "
          "submit to it; ana is not among them" },
        { "{" JOB ", queue: spare, preemptible: false}", REFUSED_NEVER,
          "queue spare: a job that is not preemptible; its jobs are all preemptible" },
        { "{" JOB ", queue: spare, gpus: 'v100:1'}", REFUSED_NEVER,
          "queue spare: model v100: its jobs use a100, h100 only" },
        { "{" JOB ", queue: spare, accelerator: 'tpu:1'}", REFUSED_NEVER,
          "queue spare: a request without a model: its jobs use a100, h100 only" },
        { "{" JOB ", queue: spare, gpus: '1|2,nvlink|24GB..'}", REFUSED_NEVER,
          "queue spare: a request without a model: its jobs use a100, h100 only" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, policy);
    assert_refused(desk, cases, COUNT_OF(cases));
    desk_submit(desk, &desk->ana, "{" JOB ", queue: course, priority: 5, gpus: 2}");
    desk_submit(desk, &desk->eve, "{" JOB ", queue: exam, gpus: 4}");
    desk_submit(desk, &desk->root, "{" JOB ", queue: exam, priority: 500}");
    struct error err = { "" };
    assert_int_equal(
        submit_yaml(desk, &desk->eve, "{" JOB ", queue: exam, preemptible: true}", &err),
        REFUSED_NEVER);
    assert_string_equal(err.text, "queue exam: a preemptible job; none of its jobs is preemptible");
}

static void a_job_that_ran_out_of_memory_gets_more(void **state)
{
    static const struct {
        const char *yaml, *text;
    } bad[] = {
        { "{" JOB ", retry: {oom: {memory: x1.5}}}",
          "retry: oom: no effect without memory; expected memory: SIZE as well" },
        { "{" JOB ", memory: 1G, retry: {oom: {}}}",
          "retry: oom: expected {memory: x1.5}, or false" },
        { "{" JOB ", memory: 1G, retry: {oom: {memory: x1}}}",
          "retry: oom: memory: 'x1': expected a factor like x1.5, 1.1 to 10" },
        { "{" JOB ", memory: 1G, retry: {oom: {memory: much}}}",
          "retry: oom: memory: 'much': expected a factor like x1.5, 1.1 to 10" },
    };
    static const int64_t memory[] = { 40 * 1024, 60 * 1024, 64 * 1024 };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct error err = { "" };
        assert_true(submit_yaml(desk, &desk->ana, bad[i].yaml, &err) < 0);
        assert_string_equal(err.text, bad[i].text);
    }
    uint64_t id =
        desk_submit(desk, &desk->ana, "{" JOB ", memory: 40G, retry: {oom: {memory: x1.5}}}");
    const struct job *job = state_job(desk->state, id);
    assert_int_equal(job->retry_max, 0);
    for (uint32_t i = 0; i < COUNT_OF(memory); i++) {
        const struct lease_member member = { .node = 0 };
        const struct lease lease = { .members = &member,
                                     .members_count = 1,
                                     .memory_mib = memory[i] };
        assert_int_equal(job->state, JOB_QUEUED);
        assert_int_equal(state_request(desk->state, job)->memory_mib, memory[i]);
        desk_tell(desk, (struct event){ .kind = EVENT_GRANT,
                                        .grant = { .job = id, .attempt = i + 1, .lease = lease } });
        desk_tell(desk, (struct event){ .kind = EVENT_STARTED,
                                        .started = { .job = id, .attempt = i + 1 } });
        desk_tell(desk, (struct event){ .kind = EVENT_ENDED,
                                        .ended = { .job = id,
                                                   .attempt = i + 1,
                                                   .kind = ENGINE_ENDED,
                                                   .signal = 9,
                                                   .exit_code = -1,
                                                   .was_oom = true } });
    }
    assert_int_equal(job->state, JOB_ENDED);
    assert_int_equal(job->result, RESULT_OUT_OF_MEMORY);
    assert_int_equal(job->run->retries, 2);
}

static void a_share_by_mps_needs_mps(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_submit(desk, &desk->ana, "{" JOB ", gpus: 'mps=50%'}");
    desk->control.lacks_mps = true;
    ASSERT_REFUSED(desk, submit_yaml(desk, &desk->ana, "{" JOB ", gpus: 'mps=50%'}", &err),
                   REFUSED_NEVER,
                   "gpus: a share by MPS, but this node has no nvidia-cuda-mps-control; "
                   "expected a part like 0.5, which is not enforced");
    desk_submit(desk, &desk->ana, "{" JOB ", gpus: 0.5}");
}

static void a_job_states_how_fast_it_runs_on_each_model(void **state)
{
    static const struct {
        const char *keys, *text;
    } bad[] = {
        { "gpus: 1, speeds: {h100: fast}",
          "speeds: expected models and speeds like {a100: 3, k80: 1}" },
        { "gpus: 1, speeds: h100", "speeds: 'h100': expected models and speeds of 0.001 "
                                   "to 1000, like a100=3,k80=1" },
        { "gpus: 1, speeds: {'a100=3,k80': 1}", "speeds: 'a100=3,k80=1': expected models and "
                                                "speeds of 0.001 to 1000, like a100=3,k80=1" },
        { "gpus: 1, speeds: {a100: 3, A100: 1}", "speeds: a100 twice" },
        { "speeds: {h100: 2}", "speeds: no effect without gpus" },
    };
    static const char *const good[] = { "speeds: {h100: 2.5, a100: 1}",
                                        "speeds: 'a100=1,h100=2.5'" };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct error err = { "" };
        AUTO_FREE char *document = mem_printf("{" JOB ", %s}", bad[i].keys);
        assert_true(submit_yaml(desk, &desk->ana, document, &err) < 0);
        assert_string_equal(err.text, bad[i].text);
    }
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        AUTO_FREE char *document = mem_printf("{" JOB ", gpus: 1, estimate: 5h, %s}", good[i]);
        const struct job *job = state_job(desk->state, desk_submit(desk, &desk->ana, document));
        const struct request *request = state_request(desk->state, job);
        assert_int_equal(request->speeds_count, 2);
        assert_int_equal(own_speed_on(request, "h100"), 2500);
    }
    uint64_t none = desk_submit(desk, &desk->ana, "{" JOB ", speeds: {}}"); /* as the API says */
    assert_int_equal(state_request(desk->state, state_job(desk->state, none))->speeds_count, 0);
}

static void speeds_on_models_that_are_not_there_are_noted(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct submit submit;
    struct error err = { "" };

    json_t *document = desk_json("{" JOB ", gpus: 1, speeds: {a100: 2, a10: 3}}");
    assert_int_equal(submit_read(&submit, &desk->ana, document, &err), 0);
    assert_int_equal(submit_run(&desk->control, &submit, &err), 0);
    assert_string_equal(submit.submissions[0]->notes[0],
                        "speeds: there is no a10; tarn gpus lists the models");
    assert_null(submit.submissions[0]->notes[1]);
    submit_release(&submit);
}

/* The cluster has an h100 and an a100; on a t4 no job can run. */
static void limits_and_deadlines_are_of_the_run_on_a_model(void **state)
{
    static const struct {
        const char *keys;
        usec_t max_duration;
        const char *text; /* NULL: taken */
    } cases[] = {
        { "estimate: 1h, speeds: {h100: 1, a100: 0.2}", 5 * USEC_PER_HOUR, NULL },
        { "estimate: 1h, speeds: {h100: 1, a100: 0.5, t4: 0.1}", 2 * USEC_PER_HOUR, NULL },
        { "estimate: 6h, speeds: {h100: 6}, max_duration: 2h", 2 * USEC_PER_HOUR, NULL },
        { "estimate: 6h, speeds: {h100: 6}, deadline: now+2h", 6 * USEC_PER_HOUR, NULL },
        { "estimate: 2d, speeds: {h100: 6}", 24 * USEC_PER_HOUR, NULL },
        { "estimate: 6h, speeds: {h100: 2}, max_duration: 2h", 0,
          "estimate: 3h00m on the fastest model, but max_duration ends it after 2h00m" },
        { "estimate: 6h, speeds: {h100: 2, t4: 9}, deadline: now+2h", 0,
          "deadline in 2h00m: too early for an estimate of 3h00m" },
        { "estimate: 5d, speeds: {h100: 2}", 0, "queue q: estimate 2d12h: the longest is 1d00h" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {q: {default_duration: 1h, longest_duration: 1d}}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { "" };
        uint64_t id = desk->state->next_id;
        AUTO_FREE char *document = mem_printf("{" JOB ", queue: q, gpus: 1, %s}", cases[i].keys);
        int code = submit_yaml(desk, &desk->ana, document, &err);
        assert_string_equal(err.text, cases[i].text ? cases[i].text : "");
        assert_int_equal(code < 0, cases[i].text != NULL);
        if (!cases[i].text)
            assert_true(state_job(desk->state, id)->max_duration == cases[i].max_duration);
    }
}

/* As on a Slurm with four shards in each h100, and an a100 in two instances. */
static void divide(struct desk *desk, int64_t memory_mib)
{
    for (size_t i = 0; i < desk->state->devices.count; i++) {
        const struct device *device = &desk->state->devices.items[i];
        struct event event = { .kind = EVENT_DEVICE };
        state_describe_device(desk->state, device, &event.device);
        bool is_instance = strcmp(device->model, "a100") == 0;
        event.device.model = is_instance ? "a100_3g.40gb" : "h100";
        event.device.labels = is_instance ? "" : "fast,gres.shard=4";
        event.device.memory_mib = memory_mib;
        desk_tell(desk, event);
    }
    desk->control.has_parts = true;
}

static void parts_of_devices_are_those_that_the_engine_offers(void **state)
{
    static const struct {
        const char *gpus, *described;
        uint32_t where;
    } cases[] = {
        { "1", "1", 0 },
        { "0.5", "0.5", 2 },
        { "0.3", "0.5", 2 },
        { "h100:0.01", "h100:0.25", 2 },
        { "mem=20G", "0.25,mem=20G", 2 },
        { "0.1,mem=21G", "0.5,mem=21G", 2 },
        { "mig=3g.40gb", "a100_3g.40gb:1", 0 },
        { "mig=3g.40gb:2|h100:2", "a100_3g.40gb:2|h100:2", 0 },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    divide(desk, 81920);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *document = mem_printf("{" JOB ", gpus: '%s'}", cases[i].gpus);
        const struct job *job = state_job(desk->state, desk_submit(desk, &desk->ana, document));
        const struct request *request = state_request(desk->state, job);
        AUTO_RELEASE(text) struct text gpus = { 0 };
        request_format_gpus(request, &gpus);
        assert_string_equal(text_string(&gpus), cases[i].described);
        assert_int_equal(request->where_count, cases[i].where);
    }
}

static void parts_that_the_engine_does_not_offer_are_refused(void **state)
{
    static const struct {
        const char *wish, *words;
    } cases[] = {
        { "gpus: 'mps=50%'",
          "gpus: a share by MPS, but no node offers gres.mps for such GPUs; this "
          "engine allocates whole GPUs only" },
        { "gpus: 'a100_3g.40gb:0.5'",
          "gpus: a part of a GPU, but no node offers gres.shard or gres.mps for such GPUs; this "
          "engine allocates whole GPUs only" },
        { "gpus: 'mem=20G'", "gpus: a part by memory, but the memory of such GPUs is not known; "
                             "expected a part like 0.5" },
        { "gpus: 'mig=1g.10gb'", "gpus: MIG instances '1g.10gb', but no GPU has this name or ends "
                                 "with it; see `tarn gpus` for the models" },
        { "gpus: 0.5, ranks: 2", "gpus: parts of GPUs for a gang; this engine allocates whole GPUs "
                                 "only to gangs" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    divide(desk, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *document = mem_printf("{" JOB ", %s}", cases[i].wish);
        ASSERT_REFUSED(desk, submit_yaml(desk, &desk->ana, document, &err), REFUSED_NEVER,
                       cases[i].words);
    }
}

/* The same document a few times. */
static json_t *times(size_t count, const char *yaml)
{
    AUTO(json) json_t *document = desk_json(yaml);
    json_t *list = json_array();

    while (json_array_size(list) < count)
        json_array_append(list, document);
    return list;
}

static void rename_models(struct desk *desk, const char *model)
{
    for (size_t i = 0; i < desk->state->devices.count; i++) {
        struct event event = { .kind = EVENT_DEVICE };
        state_describe_device(desk->state, &desk->state->devices.items[i], &event.device);
        event.device.model = model;
        desk_tell(desk, event);
    }
}

/* To place a job in an empty cluster costs as much as the cluster is large. */
static void what_could_ever_run_is_found_once_for_each_world(void **state)
{
    static const char yaml[] = "{" JOB ", gpus: 'h100:2'}";
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = desk_submit(desk, &desk->ana, yaml);
    struct class *class = desk->state->classes.classes.items[state_job(desk->state, id)->class];
    struct error err;

    assert_int_equal(class->possible.world, 0); /* there was no class at its submission */
    desk_submit(desk, &desk->ana, yaml);
    assert_int_equal(class->possible.world, state_world(desk->state));
    assert_int_equal(class->possible.queue, QUEUE_DEFAULT);

    rename_models(desk, "b200");
    assert_int_not_equal(class->possible.world, state_world(desk->state));
    assert_int_equal(submit_yaml(desk, &desk->ana, yaml, &err), REFUSED_NEVER);
    class->possible.world = state_world(desk->state); /* as if it had been found */
    assert_int_equal(submit_yaml(desk, &desk->ana, yaml, &err), 0);
    class->possible.queue = QUEUE_DEFAULT + 1; /* of another queue it says nothing, */
    assert_int_equal(submit_yaml(desk, &desk->ana, yaml, &err), REFUSED_NEVER);
    class->possible.queue = QUEUE_DEFAULT;
    class->possible.is_preemptible = true; /* nor of the other jobs */
    assert_int_equal(submit_yaml(desk, &desk->ana, yaml, &err), REFUSED_NEVER);

    rename_models(desk, "h100");
    desk_submit(desk, &desk->ana, yaml);
    assert_int_equal(class->possible.world, state_world(desk->state));
    assert_false(class->possible.is_preemptible);
}

static void limits_of_a_request(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    AUTO(json) json_t *documents = times(10001, "{" JOB "}");
    AUTO(json) json_t *jobs = times(11, "{" JOB ", array: 0-9999}");
    AUTO(json) json_t *needs = times(7, "{" JOB ", array: 0-9999, depends: [2, 3, 4]}");
    AUTO(json) json_t *one = desk_json("{" JOB "}");

    ASSERT_REFUSED(desk, submit_all(&desk->control, &desk->ana, documents, &err), REFUSED_BAD,
                   "body: 10001 documents, not 1 to 10000");
    ASSERT_REFUSED(desk, submit_all(&desk->control, &desk->ana, jobs, &err), REFUSED_BAD,
                   "body: more than 100000 jobs");
    desk_submit(desk, &desk->ana, "{" JOB ", array: 1-5}");
    ASSERT_REFUSED(desk, submit_all(&desk->control, &desk->ana, needs, &err), REFUSED_TOO_MANY,
                   "210000 dependencies of single jobs, not up to 200000");
    desk->state->job_counts[JOB_QUEUED] += 2000000;
    ASSERT_REFUSED(desk, submit_all(&desk->control, &desk->ana, one, &err), REFUSED_TOO_MANY,
                   "more than 2000000 jobs would be waiting or running");
    desk->state->job_counts[JOB_QUEUED] -= 2000000;
}

static void one_user_has_a_part_of_the_jobs_only(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    AUTO(json) json_t *jobs = times(10, "{" JOB ", array: 0-9999, hold: true}");
    AUTO(json) json_t *one = desk_json("{" JOB "}");

    for (int i = 0; i < 2; i++)
        ASSERT_DONE(submit_all(&desk->control, &desk->ana, jobs, &err));
    ASSERT_REFUSED(desk, submit_all(&desk->control, &desk->ana, one, &err), REFUSED_TOO_MANY,
                   "more than 200000 jobs of yours would be waiting or running");
    ASSERT_DONE(submit_all(&desk->control, &desk->eve, one, &err));
}

static int submit_labels(struct desk *desk, const struct identity *who, int from, struct error *err)
{
    AUTO_FREE char *yaml =
        mem_printf("{" JOB ", hold: true, labels: [l%d, l%d], anti_affinity: [l%d, l%d]}", from,
                   from + 1, from + 2, from + 3);
    AUTO(json) json_t *job = desk_json(yaml);

    return submit_all(&desk->control, who, job, err);
}

static void one_user_cannot_take_all_labels(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    const char *words = "labels: your jobs would have more than 16 labels that no other user's job "
                        "had before; expected labels that are used, or fewer";

    for (int i = 0; i < 4; i++)
        ASSERT_DONE(submit_labels(desk, &desk->ana, i * 4, &err));
    ASSERT_REFUSED(desk, submit_labels(desk, &desk->ana, 16, &err), REFUSED_CONFLICT, words);
    ASSERT_DONE(submit_labels(desk, &desk->eve, 16, &err));
    ASSERT_DONE(submit_labels(desk, &desk->ana, 16, &err)); /* used, and not the user's own */
    ASSERT_REFUSED(desk, submit_labels(desk, &desk->ana, 18, &err), REFUSED_CONFLICT, words);
    /* What is over and forgotten takes no label. */
    desk_tell(desk, (struct event){ .kind = EVENT_CANCEL, .cancel = { .job = 1, .user = "ana" } });
    desk_tell(desk, (struct event){ .kind = EVENT_FORGET, .forget.id = 1 });
    ASSERT_DONE(submit_labels(desk, &desk->ana, 18, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_its_senders),
        cmocka_unit_test(an_array_is_a_group_of_tasks),
        cmocka_unit_test(stages_need_each_other),
        cmocka_unit_test(a_dry_run_emits_nothing),
        cmocka_unit_test(a_submission_with_a_key_is_accepted_once),
        cmocka_unit_test(a_key_stands_for_one_submission),
        cmocka_unit_test(slurms_partition_is_a_queue_where_no_pool_has_that_name),
        cmocka_unit_test(of_several_partitions_the_first_that_can_run_it_counts),
        cmocka_unit_test(a_qos_is_a_queue_at_or_below_the_account),
        cmocka_unit_test(a_whole_node_has_all_that_nodes_of_its_kind_have),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_the_reason),
        cmocka_unit_test(a_queue_fills_in_what_a_job_leaves_out),
        cmocka_unit_test(a_queue_gives_more_memory_to_jobs_that_ran_out_of_it),
        cmocka_unit_test(what_a_queue_does_not_allow_is_refused_with_the_bound),
        cmocka_unit_test(a_job_that_ran_out_of_memory_gets_more),
        cmocka_unit_test(a_share_by_mps_needs_mps),
        cmocka_unit_test(a_job_states_how_fast_it_runs_on_each_model),
        cmocka_unit_test(speeds_on_models_that_are_not_there_are_noted),
        cmocka_unit_test(limits_and_deadlines_are_of_the_run_on_a_model),
        cmocka_unit_test(parts_of_devices_are_those_that_the_engine_offers),
        cmocka_unit_test(parts_that_the_engine_does_not_offer_are_refused),
        cmocka_unit_test(what_could_ever_run_is_found_once_for_each_world),
        cmocka_unit_test(limits_of_a_request),
        cmocka_unit_test(one_user_cannot_take_all_labels),
        cmocka_unit_test(one_user_has_a_part_of_the_jobs_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
