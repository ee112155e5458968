/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a state directory of tarn: what was submitted, and how long it ran. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/engine.h"
#include "core/journal/event.h"
#include "sim/trace/format.h"

struct lines_read {
    struct workload *workload;
    struct arena arena;
    struct map places; /* id -> index of its job */
    LIST(usec_t) started;
};

static int on_submit(struct lines_read *reading, const struct event *event, struct error *err)
{
    const struct event_submit *submit = &event->submit;
    const struct request *request = &submit->request;
    struct workload *workload = reading->workload;
    struct sim_job job = sim_job_default();

    job.name = workload_string(workload, submit->name);
    job.user = workload_string(workload, submit->user);
    job.queue = workload_string(workload, submit->queue);
    job.submit = event->at;
    job.run = -1;
    job.limit = request->max_duration == USEC_NEVER ? 0 : request->max_duration;
    job.deadline = submit->deadline;
    job.cpu_milli = request->cpu_milli;
    job.memory_mib = request->memory_mib;
    job.members = request->members;
    job.priority = submit->priority;
    if (request->gpu_alternatives > 0) {
        char models[WORKLOAD_TEXT_MAX] = "";
        size_t length = 0;
        job.gpus = request->gpus[0].count;
        job.milli = request->gpus[0].milli > 0 ? request->gpus[0].milli : GPU_MILLI;
        for (uint32_t i = 0; i < request->gpu_alternatives && i < REQUEST_ALTERNATIVES_MAX; i++)
            length += (size_t)snprintf(models + length, sizeof(models) - length, "%s%s",
                                       i > 0 ? "|" : "", request->gpus[i].model);
        job.models = request->gpus[0].model[0] ? workload_string(workload, models) : "";
    }
    map_set(&reading->places, submit->id, workload->jobs.count);
    list_add(&reading->started, -1);
    return workload_add(workload, &job, err);
}

static int on_record(void *user, const struct journal_record *record, struct error *err)
{
    struct lines_read *reading = user;
    struct event event;
    uint64_t place;

    arena_clear(&reading->arena);
    int code = event_decode(record->bytes, record->length, &reading->arena, &event, err);
    if (code < 0)
        return error_prefix(err, code, "record %" PRIu64, record->sequence);
    if (event.kind == EVENT_SUBMIT)
        return on_submit(reading, &event, err);
    if (event.kind != EVENT_STARTED && event.kind != EVENT_ENDED)
        return 0;
    if (!map_get(&reading->places, event_job(&event), &place))
        return 0;
    usec_t *started = &reading->started.items[place];
    struct sim_job *job = &reading->workload->jobs.items[place];
    if (event.kind == EVENT_STARTED && job->waited < 0)
        job->waited = event.at - job->submit;
    if (event.kind == EVENT_STARTED)
        *started = event.at;
    else if (*started >= 0 && event.ended.kind == ENGINE_ENDED)
        job->run = event.at - *started; /* the last attempt's */
    return 0;
}

/* Omit jobs that never ran to an end, because their run time is unknown. */
static void leave_out(struct workload *workload)
{
    size_t kept = 0;

    for (size_t i = 0; i < workload->jobs.count; i++) {
        if (workload->jobs.items[i].run >= 0)
            workload->jobs.items[kept++] = workload->jobs.items[i];
    }
    workload->left_out += workload->jobs.count - kept;
    workload->jobs.count = kept;
}

int read_journal(const struct format_ask *ask, struct workload *workload, struct error *err)
{
    struct lines_read reading = { .workload = workload };

    if (!ask->read_journal)
        return error_set(err, -ENOTSUP, "%s: journals cannot be read here", ask->path);
    int code = ask->read_journal(ask->path, on_record, &reading, err);
    if (code == 0)
        leave_out(workload);
    arena_release(&reading.arena);
    map_release(&reading.places);
    list_release(&reading.started);
    return code;
}
