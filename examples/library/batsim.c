/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler of tarn as a decision component of Batsim (https://batsim.org), version 5.
 *
 *   cc -shared -fPIC batsim.c $(pkg-config --cflags --libs tarn jansson) -lm -o libtarn-batsim.so
 *   batsim -p platform.xml -w workload.json -L ./libtarn-batsim.so tarn.yaml
 *
 * The initialization data is a configuration of tarn, tarn-config(5); empty: the default. Each
 * compute host is a node with one GPU, which a job has alone. Messages are JSON. Batsim ends jobs
 * at their walltime itself; a job without one has no limit.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <tarn/sched.h>

enum { FORMAT_JSON = 0x2, NAME_SIZE = 24, DOCUMENT_SIZE = 160 };

/* Of Batsim's batsim_edc.h. */
uint8_t batsim_edc_init(const uint8_t *data, uint32_t size, uint32_t *ret_flags,
                        uint8_t **ret_reply, uint32_t *ret_reply_size);
uint8_t batsim_edc_take_decisions(const uint8_t *message, uint32_t size, uint8_t **ret_reply,
                                  uint32_t *ret_reply_size);
uint8_t batsim_edc_deinit(void);

struct job {
    char *id; /* in Batsim; NULL: it is over */
    uint32_t attempt, members;
    bool is_running;
};

static struct {
    struct tarn_sched *sched;
    struct job *jobs; /* by their number in tarn */
    json_t *numbers;  /* of those that are not over, by their names in Batsim */
    uint64_t job_count;
    uint64_t waiting; /* jobs that have not started */
    uint64_t calls;   /* that were requested */
    int64_t call_at;  /* ms: the one that is outstanding; 0: none */
    double now;
    json_t *events; /* decisions of this turn */
    char *reply;    /* valid until the next turn */
} edc;

/* ---- what tarn decides ---- */

static void add_event(const char *type, json_t *event)
{
    json_array_append_new(edc.events, json_pack("{s:f, s:s, s:o}", "timestamp", edc.now,
                                                "event_type", type, "event", event));
}

static int complain(const char *what)
{
    fprintf(stderr, "libtarn-batsim: %s: %s\n", what, tarn_sched_error(edc.sched));
    return 1;
}

static int64_t time_of(double seconds) /* tarn's times are above 0 */
{
    return (int64_t)llround(seconds * 1e6) + 1;
}

static int execute(const struct tarn_decision *decision)
{
    struct job *job = &edc.jobs[decision->job];
    json_t *hosts = json_string("");

    for (uint32_t i = 0; i < decision->member_count; i++) {
        const struct tarn_member *member = &decision->members[i];
        json_t *longer =
            json_sprintf("%s%s%s", json_string_value(hosts), i > 0 ? " " : "", member->node);
        json_decref(hosts);
        hosts = longer;
        if (tarn_sched_started(edc.sched, decision->job, decision->attempt, member->rank) < 0)
            return complain("started");
    }
    job->attempt = decision->attempt;
    job->members = decision->member_count;
    job->is_running = true;
    edc.waiting--;
    add_event("ExecuteJobEvent",
              json_pack("{s:s, s:{s:o, s:s, s:{s:s}}}", "job_id", job->id, "allocation",
                        "host_allocation", hosts, "executor_placement_type",
                        "PredefinedExecutorPlacementStrategyWrapper", "executor_placement",
                        "strategy", "SpreadOverHostsFirst"));
    return 0;
}

static int carry_out(const struct tarn_decision *decision)
{
    const struct job *job = &edc.jobs[decision->job];

    if (decision->kind == TARN_START)
        return execute(decision);
    if (strcmp(decision->cause, "time limit") != 0) /* Batsim enforces that */
        add_event("KillJobsEvent", json_pack("{s:[s]}", "job_ids", job->id));
    return 0;
}

/* Batsim does not end while a call is outstanding: without a job that waits, none is needed. */
static void request_call(void)
{
    int64_t at = tarn_sched_wakeup(edc.sched);
    char id[NAME_SIZE];

    if (at == TARN_SCHED_NEVER || edc.waiting == 0)
        return;
    at = (at + 999) / 1000;
    if (at <= (int64_t)(edc.now * 1e3) || (edc.call_at > 0 && edc.call_at <= at))
        return;
    edc.call_at = at;
    snprintf(id, sizeof(id), "tarn-%" PRIu64, edc.calls++);
    add_event("CallMeLaterEvent",
              json_pack("{s:s, s:s, s:{s:I, s:s}}", "call_me_later_id", id, "when_type", "OneShot",
                        "when", "time", (json_int_t)at, "time_unit", "Millisecond"));
}

static int decide(void)
{
    struct tarn_decision decision = { .size = sizeof(decision) };
    int code = 0;

    if (tarn_sched_advance(edc.sched, time_of(edc.now)) < 0)
        return complain("advance");
    while (code == 0 && tarn_sched_next(edc.sched, &decision))
        code = carry_out(&decision);
    request_call();
    return code;
}

/* ---- what Batsim says ---- */

static int on_begin(const json_t *event)
{
    const json_t *host;
    size_t i;

    json_array_foreach(json_object_get(event, "computation_hosts"), i, host)
    {
        char name[NAME_SIZE];
        struct tarn_node node = { .size = sizeof(node),
                                  .name = name,
                                  .gpu_model = "host",
                                  .cpu_milli = 1000,
                                  .memory_mib = 1,
                                  .gpu_count = 1 };
        snprintf(name, sizeof(name), "%" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(host, "id")));
        if (tarn_sched_set_node(edc.sched, &node) < 0)
            return complain("host");
    }
    return 0;
}

static void keep(uint64_t number, const char *id)
{
    uint64_t count = number + 1 > edc.job_count ? number + 1 : edc.job_count;
    struct job *jobs = realloc(edc.jobs, count * sizeof(*jobs));

    if (!jobs)
        abort();
    memset(jobs + edc.job_count, 0, (count - edc.job_count) * sizeof(*jobs));
    edc.jobs = jobs;
    edc.job_count = count;
    edc.jobs[number].id = strdup(id);
    json_object_set_new(edc.numbers, id, json_integer((json_int_t)number));
    edc.waiting++;
}

/* What can never run is rejected. */
static int on_submitted(const json_t *event)
{
    const char *id = json_string_value(json_object_get(event, "job_id"));
    const json_t *job = json_object_get(event, "job");
    json_int_t hosts = json_integer_value(json_object_get(job, "resource_request"));
    double walltime = json_number_value(json_object_get(job, "walltime"));
    char document[DOCUMENT_SIZE], limit[DOCUMENT_SIZE / 2] = "";
    uint64_t number;

    if (walltime > 0)
        snprintf(limit, sizeof(limit), ", \"max_duration\": \"%.0fs\"", ceil(walltime));
    snprintf(document, sizeof(document),
             "{\"run\": \"true\", \"gpus\": 1, \"cpus\": 0, \"nodes\": %" JSON_INTEGER_FORMAT "%s}",
             hosts, limit);
    if (tarn_sched_submit(edc.sched, "batsim", document, &number) < 0) {
        complain(id);
        add_event("RejectJobEvent", json_pack("{s:s}", "job_id", id));
        return 0;
    }
    keep(number, id);
    return 0;
}

static int end(const char *id, int exit_code)
{
    uint64_t number = (uint64_t)json_integer_value(json_object_get(edc.numbers, id));
    struct job *job = number < edc.job_count ? &edc.jobs[number] : NULL;

    if (!job || !job->is_running) /* it was never submitted here, or is over */
        return 0;
    for (uint32_t rank = 0; rank < job->members; rank++) {
        if (tarn_sched_ended(edc.sched, number, job->attempt, rank, exit_code) < 0)
            return complain(id);
    }
    job->is_running = false;
    json_object_del(edc.numbers, id);
    free(job->id);
    job->id = NULL;
    return tarn_sched_forget(edc.sched, number) < 0 ? complain("forget") : 0;
}

static int on_event(const json_t *entry)
{
    const char *type = json_string_value(json_object_get(entry, "event_type"));
    const json_t *event = json_object_get(entry, "event"), *progress;
    const char *state = json_string_value(json_object_get(event, "state"));
    size_t i;

    if (strcmp(type, "SimulationBeginsEvent") == 0)
        return on_begin(event);
    if (strcmp(type, "JobSubmittedEvent") == 0)
        return on_submitted(event);
    if (strcmp(type, "RequestedCallEvent") == 0)
        edc.call_at = 0;
    if (strcmp(type, "JobCompletedEvent") == 0)
        return end(json_string_value(json_object_get(event, "job_id")),
                   state && strcmp(state, "COMPLETED_SUCCESSFULLY") == 0 ? 0 : 1);
    if (strcmp(type, "JobsKilledEvent") == 0) {
        json_array_foreach(json_object_get(event, "progresses"), i, progress)
        {
            if (end(json_string_value(json_object_get(progress, "job_id")), 1))
                return 1;
        }
    }
    return 0;
}

/* ---- the interface ---- */

static void reply(uint8_t **ret_reply, uint32_t *ret_size)
{
    json_t *message = json_pack("{s:f, s:o}", "now", edc.now, "events", edc.events);

    free(edc.reply);
    edc.reply = json_dumps(message, JSON_COMPACT);
    edc.events = NULL;
    json_decref(message);
    *ret_reply = (uint8_t *)edc.reply;
    *ret_size = (uint32_t)strlen(edc.reply) + 1;
}

uint8_t batsim_edc_init(const uint8_t *data, uint32_t size, uint32_t *ret_flags,
                        uint8_t **ret_reply, uint32_t *ret_size)
{
    char *configuration = strndup((const char *)data, data ? size : 0);

    *ret_flags = FORMAT_JSON;
    edc.sched = tarn_sched_create(time_of(0));
    edc.numbers = json_object();
    int code = configuration ? tarn_sched_configure(edc.sched, configuration) : -1;
    free(configuration);
    if (code < 0)
        return (uint8_t)complain("configuration");
    edc.events = json_array();
    add_event("EDCHelloEvent",
              json_pack("{s:s, s:s, s:s, s:s, s:{}}", "batprotocol_version", "1.0.0",
                        "decision_component_name", "tarn", "decision_component_version",
                        tarn_version(), "decision_component_commit", "",
                        "requested_simulation_features"));
    reply(ret_reply, ret_size);
    return 0;
}

uint8_t batsim_edc_take_decisions(const uint8_t *message, uint32_t size, uint8_t **ret_reply,
                                  uint32_t *ret_size)
{
    json_error_t err;
    json_t *happened = json_loads((const char *)message, 0, &err);
    json_t *event;
    size_t i;
    int code = 0;

    (void)size; /* a C string */
    if (!happened) {
        fprintf(stderr, "libtarn-batsim: message: %s\n", err.text);
        return 1;
    }
    edc.now = json_number_value(json_object_get(happened, "now"));
    edc.events = json_array();
    json_array_foreach(json_object_get(happened, "events"), i, event)
    {
        code = code ? code : on_event(event);
    }
    code = code ? code : decide();
    json_decref(happened);
    reply(ret_reply, ret_size);
    return (uint8_t)code;
}

uint8_t batsim_edc_deinit(void)
{
    for (uint64_t number = 0; number < edc.job_count; number++)
        free(edc.jobs[number].id);
    free(edc.jobs);
    free(edc.reply);
    json_decref(edc.numbers);
    tarn_sched_destroy(edc.sched);
    memset(&edc, 0, sizeof(edc));
    return 0;
}
