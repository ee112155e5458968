/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/stages.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/fields.h"
#include "cli/job_view.h"

enum { NEEDS_SHOWN_MAX = 24 };

static char *read_needs(const json_t *stage)
{
    struct text needs = { 0 };
    const json_t *need;
    size_t i;

    json_array_foreach(json_object_get(stage, "needs"), i, need)
    {
        if (json_is_string(need))
            text_printf(&needs, "%s%s", needs.length > 0 ? ", " : "", value_text(need));
    }
    if (needs.length > NEEDS_SHOWN_MAX) {
        text_clear(&needs);
        text_printf(&needs, "%zu stages", i);
    }
    return text_take(&needs);
}

static void add_job(struct stages *stages, size_t stage_index, json_t *job)
{
    size_t index = stages->job_count++;

    stages->jobs = mem_resize(stages->jobs, stages->job_count, sizeof(stages->jobs[0]));
    stages->stage_of = mem_resize(stages->stage_of, stages->job_count, sizeof(stages->stage_of[0]));
    stages->jobs[index] = json_incref(job);
    stages->stage_of[index] = stage_index;
    map_set(&stages->by_id, (uint64_t)field_number(job, "id"), index);
    stages->is_synthetic = stages->is_synthetic || field_is_true(job, "synthetic");
}

void stages_read(struct stages *stages, const json_t *group)
{
    const json_t *list = json_object_get(group, "stages"), *item;
    json_t *job;
    size_t i, k;

    *stages = (struct stages){
        .name = mem_string(field_text(group, "name")),
        .kind = mem_string(field_text(group, "kind")),
        .id = (uint64_t)field_number(group, "id"),
        .result = mem_string(field_text(group, "result")),
        .submitted = field_wall(group, "submitted"),
        .items = mem_zero(json_array_size(list) + 1, sizeof(stages->items[0])),
        .count = json_array_size(list),
    };
    json_array_foreach(list, i, item)
    {
        const json_t *jobs = json_object_get(item, "jobs");
        struct stage *stage = &stages->items[i];

        *stage = (struct stage){
            .name = mem_string(field_text(item, "name")),
            .needs = read_needs(item),
            .jobs = mem_zero(json_array_size(jobs) + 1, sizeof(stage->jobs[0])),
            .job_count = json_array_size(jobs),
        };
        json_array_foreach(jobs, k, job)
        {
            stage->jobs[k] = stages->job_count;
            add_job(stages, i, job);
        }
    }
}

void stages_release(struct stages *stages)
{
    for (size_t i = 0; i < stages->count; i++) {
        free(stages->items[i].name);
        free(stages->items[i].needs);
        free(stages->items[i].last);
        free(stages->items[i].jobs);
    }
    for (size_t i = 0; i < stages->job_count; i++)
        json_decref(stages->jobs[i]);
    free(stages->items);
    free(stages->jobs);
    free(stages->stage_of);
    free(stages->name);
    free(stages->kind);
    free(stages->result);
    map_release(&stages->by_id);
    *stages = (struct stages){ 0 };
}

const struct stage *stages_hear(struct stages *stages, json_t *change, bool is_group)
{
    uint64_t index;

    if (is_group && (uint64_t)field_number(change, "id") == stages->id) {
        free(stages->result);
        stages->result = mem_string(field_text(change, "result"));
    }
    if (is_group || !map_get(&stages->by_id, (uint64_t)field_number(change, "id"), &index)) {
        json_decref(change);
        return NULL;
    }
    json_t *before = stages->jobs[index];
    bool is_same = strcmp(job_state_word(before), job_state_word(change)) == 0 &&
                   field_number(before, "attempt") == field_number(change, "attempt");
    json_decref(before);
    stages->jobs[index] = change;
    stages->is_synthetic = stages->is_synthetic || field_is_true(change, "synthetic");
    return is_same ? NULL : &stages->items[stages->stage_of[index]];
}

static void sum_times(const json_t *job, struct stage_sum *sum)
{
    usec_t began = field_wall(job, "started"), ended = field_wall(job, "ended");
    usec_t wait = field_seconds(job, "wait_seconds");
    usec_t run = 0;

    if (began > 0)
        run = (job_is_ended(job) && ended > 0 ? ended : clock_read(CLOCK_REALTIME)) - began;
    if (job_is_ended(job) && field_seconds(job, "run_seconds") != FIELD_ABSENT)
        run = field_seconds(job, "run_seconds");
    if (run > 0)
        sum->gpu_time += run * field_milli(job, "gpu_count") / 1000;
    if (began > 0 && (sum->began == 0 || began < sum->began))
        sum->began = began;
    if (ended > sum->ended)
        sum->ended = ended;
    if (wait > sum->wait_max)
        sum->wait_max = wait;
}

void stage_sum(const struct stages *stages, const struct stage *stage, struct stage_sum *ret)
{
    *ret = (struct stage_sum){ 0 };
    for (size_t i = 0; i < stage->job_count; i++) {
        const json_t *job = stages->jobs[stage->jobs[i]];
        const char *word = job_state_word(job);

        sum_times(job, ret);
        if (strcmp(word, "ok") == 0) {
            ret->ok++;
        } else if (job_is_ended(job)) {
            ret->bad++;
            ret->a_bad = ret->a_bad ? ret->a_bad : job;
        } else if (job_is_placed(job)) {
            ret->running++;
            ret->gpu_milli += field_milli(job, "gpu_count");
            ret->cpus += field_real(job, "cpus");
            ret->a_running = ret->a_running ? ret->a_running : job;
        } else {
            ret->waiting++;
            ret->a_waiting = ret->a_waiting ? ret->a_waiting : job;
        }
    }
}
