/* SPDX-License-Identifier: Apache-2.0 */
#include "lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot/snapshot.h"

static void give_up(const char *what, const struct error *err)
{
    fprintf(stderr, "lab: %s: %s\n", what, err->text);
    abort();
}

struct lab *lab_create(void)
{
    struct lab *lab = mem_zero(1, sizeof(*lab));

    lab->state = state_create();
    lab->brain = brain_create(lab->state);
    lab->inquiry = inquiry_create();
    /* The plain rules, unless a test asks for others: in order, and by limits. */
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .order = ORDER_FIFO, .backfill_depth = 1 } });
    return lab;
}

void lab_destroy(struct lab *lab)
{
    if (!lab)
        return;
    for (size_t i = 0; i < lab->records.count; i++)
        free(lab->records.items[i].bytes);
    list_release(&lab->records);
    list_release(&lab->decisions.events);
    arena_release(&lab->arena);
    inquiry_destroy(lab->inquiry);
    brain_destroy(lab->brain);
    state_destroy(lab->state);
    free(lab);
}

static void record(struct lab *lab, const struct event *event)
{
    struct text bytes = { 0 };

    if (lab->counted)
        ++*lab->counted;
    if (lab->is_silent)
        return;
    event_encode(event, &bytes);
    struct lab_record added = { .length = bytes.length,
                                .is_decision = event_is_decision(event->kind) };
    added.bytes = text_take(&bytes);
    list_add(&lab->records, added);
}

int lab_try(struct lab *lab, const struct event *event, struct error *err)
{
    struct event told = *event;

    told.at = lab->now;
    lab->decisions.events.count = 0;
    int code = sched_step(lab->brain, &told, &lab->decisions, err);
    if (code < 0)
        return code;
    record(lab, &told);
    for (size_t i = 0; i < lab->decisions.events.count; i++)
        record(lab, &lab->decisions.events.items[i]);
    return 0;
}

void lab_tell(struct lab *lab, const struct event *event)
{
    struct error err;

    if (lab_try(lab, event, &err) < 0)
        give_up(event_name(event->kind), &err);
}

void lab_plan(struct lab *lab)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_PLAN });
}

void lab_settle(struct lab *lab)
{
    while (sched_next_wakeup(lab->brain) <= lab->now)
        lab_plan(lab);
}

void lab_node(struct lab *lab, const char *name, int64_t cpu_milli, int64_t memory_mib)
{
    lab_tell(lab, &(struct event){
                      .kind = EVENT_NODE,
                      .node = { .name = name, .cpu_milli = cpu_milli, .memory_mib = memory_mib } });
}

void lab_gpus(struct lab *lab, const char *node, const char *model, int64_t memory_mib,
              uint32_t count)
{
    int64_t number = state_find_node(lab->state, node);
    uint32_t first = 0;

    for (size_t i = 0; i < lab->state->devices.count; i++)
        first += lab->state->devices.items[i].node == number;
    for (uint32_t i = first; i < first + count; i++) {
        AUTO_FREE char *uuid = mem_printf("%s.%u", node, i);
        lab_tell(lab, &(struct event){ .kind = EVENT_DEVICE,
                                       .device = { .node = node,
                                                   .uuid = uuid,
                                                   .model = model,
                                                   .index = i,
                                                   .memory_mib = memory_mib } });
    }
}

void lab_queue(struct lab *lab, const char *name, const char *parent, uint32_t weight,
               int64_t limit_milli)
{
    lab_tell(lab,
             &(struct event){ .kind = EVENT_QUEUE,
                              .queue = { .name = name,
                                         .parent = parent,
                                         .weight = weight,
                                         .gpus = { 0, limit_milli, QUOTA_NONE, QUOTA_NONE } } });
}

uint64_t lab_submit(struct lab *lab, const char *gpus, usec_t limit)
{
    struct event event = {
        .kind = EVENT_SUBMIT,
        .submit = { .id = lab->state->next_id, .name = "j", .user = "ana", .queue = "default" },
    };
    struct error err;

    request_default(&event.submit.request);
    if (request_parse_gpus(&event.submit.request, gpus, &err) < 0)
        give_up("submit", &err);
    event.submit.request.max_duration = limit;
    lab_tell(lab, &event);
    return event.submit.id;
}

uint64_t lab_submit_to(struct lab *lab, const char *queue_name, uint16_t gpus, uint32_t members,
                       bool is_preemptible)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = lab->state->next_id,
                                       .name = "j",
                                       .user = "ana",
                                       .queue = queue_name,
                                       .preemptible = is_preemptible,
                                       .estimate = 100 * USEC_PER_HOUR } };

    request_default(&event.submit.request);
    event.submit.request.cpu_milli = 0;
    event.submit.request.members = members;
    event.submit.request.gpu_alternatives = 1;
    event.submit.request.gpus[0] = (struct gpu_ask){ .count = gpus, .milli = GPU_MILLI };
    lab_tell(lab, &event);
    return event.submit.id;
}

void lab_started(struct lab *lab, uint64_t id)
{
    const struct job *job = lab_job(lab, id);
    uint32_t count = job->run->lease->members_count;

    for (uint32_t rank = 0; rank < count; rank++)
        lab_tell(lab, &(struct event){
                          .kind = EVENT_STARTED,
                          .started = { .job = id, .attempt = job->run->attempt, .rank = rank } });
}

void lab_ended(struct lab *lab, uint64_t id, int exit_code)
{
    const struct job *job = lab_job(lab, id);
    uint32_t attempt = job->run->attempt, count = job->run->lease->members_count;

    for (uint32_t place = 0; place < count; place++)
        lab_tell(lab, &(struct event){ .kind = EVENT_ENDED,
                                       .ended = { .job = id,
                                                  .attempt = attempt,
                                                  .rank = lease_rank(job->run->lease, place),
                                                  .kind = ENGINE_ENDED,
                                                  .exit_code = exit_code } });
}

struct job *lab_job(const struct lab *lab, uint64_t id)
{
    struct job *job = state_job(lab->state, id);

    if (!job) {
        fprintf(stderr, "lab: no job %llu\n", (unsigned long long)id);
        abort();
    }
    return job;
}

enum why_kind lab_why(const struct lab *lab, uint64_t id)
{
    struct why why;

    sched_why(lab->brain, lab->inquiry, lab_job(lab, id), &why, NULL);
    return why.kind;
}

void lab_save(const struct lab *lab, struct text *out)
{
    text_clear(out);
    snapshot_save(lab->state, out);
}

void lab_reload(struct lab *lab)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct state *loaded = NULL;
    struct error err;

    lab_save(lab, &bytes);
    if (snapshot_load(bytes.bytes, bytes.length, &loaded, &err) < 0)
        give_up("snapshot", &err);
    brain_destroy(lab->brain);
    state_destroy(lab->state);
    lab->state = loaded;
    lab->brain = brain_create(loaded);
    lab_tell(lab, &(struct event){ .kind = EVENT_BOOT, .boot = { .brain = SCHED_VERSION } });
}
