/* SPDX-License-Identifier: Apache-2.0 */
/* Before the first job: machines, settings, windows, tariffs, reservations, queues and pools as
 * events; and requests of jobs. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "io/zone_file.h"
#include "sim/run/run.h"
#include "wire/config/window_event.h"

#define BEYOND     (400 * USEC_PER_DAY) /* after the last submission and as long again */
#define AHEAD_MOST (3650 * USEC_PER_DAY)

/* The zero of the workload is `starts` on the clock of the place. */
static struct window_place place_of(const struct run *run, const struct zone *zone)
{
    size_t count = run->workload->jobs.count;
    usec_t span = count > 0 ? run->workload->jobs.items[count - 1].submit : 0;
    usec_t ahead = 2 * span + BEYOND;

    return (struct window_place){ .zone = zone,
                                  .now = run->origin,
                                  .wall_ahead =
                                      zone_first(zone, run->experiment->starts) - run->origin,
                                  .ahead = ahead < AHEAD_MOST ? ahead : AHEAD_MOST,
                                  .spans_most = WINDOW_SPANS_MAX };
}

static int tell_windows(const struct run *run, run_tell_fn *tell, void *user, struct error *err)
{
    const struct config *config = run->experiment->config;
    AUTO(zone) struct zone *zone = NULL;
    struct arena arena = { 0 };

    if (config->window_count + config->tariff_count + config->reservation_count == 0)
        return 0;
    int code = zone_load(config->timezone[0] ? config->timezone : "UTC", &zone, err);
    if (code < 0)
        return error_prefix(err, code, "timezone");
    struct window_place place = place_of(run, zone);
    for (size_t i = 0; i < config->window_count && code == 0; i++) {
        struct event event;
        code = window_event(&place, config->windows[i].name, config->windows[i].words, &arena,
                            &event, err);
        if (code == 0)
            code = tell(user, &event, err);
    }
    arena_release(&arena);
    return code;
}

static int tell_times(const struct run *run, run_tell_fn *tell, void *user, struct error *err)
{
    const struct config *config = run->experiment->config;
    int code = 0;

    for (size_t i = 0; i < config->tariff_count && code == 0; i++) {
        struct event event = { .kind = EVENT_TARIFF, .tariff = config->tariffs[i] };
        code = tell(user, &event, err);
    }
    for (size_t i = 0; i < config->reservation_count && code == 0; i++) {
        struct event event = { .kind = EVENT_RESERVATION, .reservation = config->reservations[i] };
        code = tell(user, &event, err);
    }
    return code;
}

static int tell_settings(const struct run *run, run_tell_fn *tell, void *user, struct error *err)
{
    const struct config *config = run->experiment->config;
    enum estimates estimates = run->experiment->adapt.estimates;
    bool predict =
        config->settings.predict || (estimates == ESTIMATES_PREDICTED && !config->has_predict);

    struct event event = { .kind = EVENT_SETTINGS };
    settings_to_event(&config->settings, &event.settings);
    event.settings.watch_count = 0; /* nothing is watched in a simulation */
    event.settings.predict = predict;
    event.settings.seed = run->seed;
    return tell(user, &event, err);
}

static int tell_queues(const struct run *run, run_tell_fn *tell, void *user, struct error *err)
{
    const struct config *config = run->experiment->config;
    int code = 0;

    for (size_t i = 0; i < config->queue_count && code == 0; i++) {
        struct event event = { .kind = EVENT_QUEUE, .queue = config->queues[i] };
        code = tell(user, &event, err);
    }
    for (size_t i = 0; i < config->price_count && code == 0; i++) {
        struct event event = { .kind = EVENT_PRICE, .price = config->prices[i] };
        code = tell(user, &event, err);
    }
    for (size_t i = 0; i < run->queue_count && code == 0; i++) {
        if (strcmp(run->queue_names[i], "default") == 0 ||
            config_find_queue(config, run->queue_names[i]) >= 0)
            continue;
        struct event event = {
            .kind = EVENT_QUEUE,
            .queue = { .name = run->queue_names[i], .parent = "", .weight = 1, .gpus = QUOTA_OPEN },
        };
        code = tell(user, &event, err);
    }
    return code;
}

/* Letters, digits and "._-+@"; what else a trace has becomes '_'. */
static const char *queue_name(const char *text, struct text *buffer)
{
    text_clear(buffer);
    for (size_t i = 0; text[i] && i < REQUEST_NAME_SIZE - 1; i++) {
        bool is_plain = isalnum((unsigned char)text[i]) || strchr("._-+@", text[i]);
        text_add_char(buffer,
                      is_plain && (i > 0 || isalnum((unsigned char)text[0])) ? text[i] : '_');
    }
    return text_string(buffer);
}

static const char *queue_text(const struct run *run, const struct sim_job *job)
{
    switch (run->experiment->adapt.queues) {
    case QUEUES_USER:
        return job->user;
    case QUEUES_GROUP:
        return job->group;
    case QUEUES_QUEUE:
        return job->queue;
    case QUEUES_PARTITION:
        return job->partition;
    case QUEUES_NONE:
        break;
    }
    return "";
}

static uint32_t claim_queue(struct run *run, const char *name)
{
    for (size_t i = 0; i < run->queue_count; i++) {
        if (strcmp(run->queue_names[i], name) == 0)
            return (uint32_t)i;
    }
    run->queue_names =
        mem_resize(run->queue_names, run->queue_count + 1, sizeof(run->queue_names[0]));
    run->queue_names[run->queue_count] = mem_string(name);
    return (uint32_t)run->queue_count++;
}

static int deal_queues(struct run *run, struct error *err)
{
    AUTO_RELEASE(text) struct text buffer = { 0 };
    struct map known = { 0 }; /* equal texts are at one place (workload.h) */
    int code = 0;

    claim_queue(run, "default");
    for (size_t i = 0; i < run->workload->jobs.count && code == 0; i++) {
        const char *text = queue_text(run, &run->workload->jobs.items[i]);
        uint64_t number = 0;
        if (text[0] && !map_get(&known, (uint64_t)(uintptr_t)text, &number)) {
            number = claim_queue(run, queue_name(text, &buffer));
            map_set(&known, (uint64_t)(uintptr_t)text, number);
            if (run->queue_count > CONFIG_QUEUES_MAX)
                code = error_set(err, -E2BIG, "queues: more than %d in that column",
                                 CONFIG_QUEUES_MAX);
        }
        run->outcomes[i].queue = (uint32_t)number;
    }
    map_release(&known);
    return code;
}

/* By weight among siblings, down the tree; of the queues that have jobs. */
static void deal_shares(struct run *run)
{
    const struct config *config = run->experiment->config;
    double sum = 0;

    run->queue_shares = mem_zero(run->queue_count, sizeof(double));
    AUTO_FREE bool *has_jobs = mem_zero(run->queue_count, sizeof(bool));
    for (size_t i = 0; i < run->workload->jobs.count; i++)
        has_jobs[run->outcomes[i].queue] = true;
    for (size_t i = 0; i < run->queue_count; i++) {
        double share = has_jobs[i] ? 1 : 0;
        for (int32_t at = config_find_queue(config, run->queue_names[i]); at >= 0 && share > 0;
             at = config_find_queue(config, config->queues[at].parent))
            share *= config->queues[at].weight;
        run->queue_shares[i] = share;
        sum += share;
    }
    for (size_t i = 0; i < run->queue_count; i++)
        run->queue_shares[i] /= sum > 0 ? sum : 1;
}

int run_set_up(struct run *run, run_tell_fn *tell, void *user, struct error *err)
{
    const struct config *config = run->experiment->config;

    int code = cluster_tell(&run->experiment->cluster, tell, user, err);
    if (code == 0)
        code = deal_queues(run, err);
    if (code < 0)
        return code;
    deal_shares(run);
    code = tell_settings(run, tell, user, err);
    if (code == 0)
        code = tell_windows(run, tell, user, err);
    if (code == 0)
        code = tell_queues(run, tell, user, err);
    for (size_t i = 0; i < config->pool_count && code == 0; i++) {
        struct event event = { .kind = EVENT_POOL, .pool = config->pools[i] };
        code = tell(user, &event, err);
    }
    return code < 0 ? code : tell_times(run, tell, user, err);
}

static void add_alternative(const struct sim_job *job, const char *model, size_t length,
                            struct request *request)
{
    struct gpu_ask *ask = &request->gpus[request->gpu_alternatives++];

    if (length >= sizeof(ask->model))
        length = sizeof(ask->model) - 1;
    memcpy(ask->model, model, length);
    ask->count = (uint16_t)job->gpus;
    ask->milli = job->milli;
    ask->kind = job->milli < GPU_MILLI ? SHARE_FRACTION : SHARE_WHOLE;
}

/* Drop the model that the cluster has fewest of. */
static void drop_rarest(const struct run *run, struct request *request)
{
    uint32_t rarest = 0;
    int64_t least = INT64_MAX;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        int64_t count = cluster_count(&run->experiment->cluster, request->gpus[i].model);
        if (count < least) {
            least = count;
            rarest = i;
        }
    }
    uint32_t last = --request->gpu_alternatives;
    memmove(&request->gpus[rarest], &request->gpus[rarest + 1],
            (last - rarest) * sizeof(request->gpus[0]));
    memset(&request->gpus[last], 0, sizeof(request->gpus[0]));
}

static bool has_alternative(const struct request *request, const char *model, size_t length)
{
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        const char *known = request->gpus[i].model;
        if (strlen(known) == length && memcmp(known, model, length) == 0)
            return true;
    }
    return false;
}

void run_request(struct run *run, const struct sim_job *job, struct request *ret)
{
    request_default(ret);
    ret->cpu_milli = job->cpu_milli;
    ret->memory_mib = job->memory_mib;
    ret->members = job->members;
    ret->nodes_max = job->members;
    if (job->gpus == 0)
        return;
    if (!job->models[0]) {
        add_alternative(job, "", 0, ret);
        return;
    }
    for (const char *at = job->models; *at;) {
        size_t length = strcspn(at, "|");
        if (length > 0 && !has_alternative(ret, at, length)) {
            if (ret->gpu_alternatives == REQUEST_ALTERNATIVES_MAX) {
                drop_rarest(run, ret);
                run->narrowed++;
            }
            add_alternative(job, at, length, ret);
        }
        at += length + (at[length] == '|');
    }
}
