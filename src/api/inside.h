/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_INSIDE_H
#define API_INSIDE_H

/* inside - what the files of this room share */

#include <jansson.h>

#include "api/api.h"
#include "api/identity.h"

struct follower;

struct api {
    struct api_ports ports;
    uv_loop_t *loop;
    uv_timer_t *timer; /* wakes those who follow an output */
    struct follower *followers;
    struct inquiry *inquiry; /* in which the brain's answers are worked out */
};

/* What a request is about: "/v1/jobs/7/why" has id 7. */
struct call {
    struct api *api;
    struct http_request *request;
    uint64_t id;                      /* of the path; 0: none */
    uint32_t index;                   /* of "7_3", plus one; 0: none */
    char name[REQUEST_NAME_SIZE + 1]; /* of the path; "": none */
    const char *user_name;            /* of the peer; good during the call */
};

typedef void call_fn(struct call *call);

void reply_json(struct http_request *request, unsigned status, json_t *body); /* takes body */
void reply_error(struct http_request *request, int code, const struct error *err);
/* The body as JSON, or NULL after an error was replied. */
json_t *read_body(struct http_request *request);

/* Fails with -EINVAL where the query has a key that is none of these (NULL at the end). */
int check_query(const struct http_request *request, const char *const *keys, struct error *err);

bool is_admin(const struct api *api, uid_t uid);

/* The job, or NULL after "no job 7" was replied; also the one of "7_3". */
struct job *find_job(struct call *call);
/* A task of an array; NULL: there is none. */
const struct job *find_task(const struct state *state, const struct group *group, uint32_t index);

const struct state *api_state(const struct api *api);

struct config;
struct config *config_of_state(const struct state *state);

struct watch_device;
/* How a device (its number in the state) does; false: nobody watches it. */
bool api_watch(const struct api *api, uint32_t device, struct watch_device *ret);

/* Views: new references. */
/* What a job did with its devices, and what is to be said of that (usage.c); null: not known. */
json_t *view_usage(const struct api *api, const struct job *job);
json_t *view_job(const struct api *api, const struct job *job, bool is_whole);
json_t *view_group(const struct api *api, const struct group *group);
json_t *view_why(const struct api *api, const struct job *job, const struct why *why,
                 uint32_t ahead);
/* How large an elastic gang is and may be; null for others. */
json_t *view_elastic(const struct api *api, const struct job *job);
/* The last time that it was resized, and why; null when it never was. */
json_t *view_resized(const struct api *api, const struct job *job);
bool is_no_more(const struct device *device);
json_t *view_rescued(const struct api *api, const struct job *job);
/* What is to be said of one that runs: a list of {name, text}. */
json_t *view_warnings(const struct api *api, const struct job *job);
json_t *view_moved(const struct api *api, const struct job *job);
/* What moving others would do for one that waits; null, and no text: nothing. */
json_t *view_moves(const struct api *api, struct job *job, struct text *ret_text);
json_t *view_time(const struct api *api, usec_t at); /* ISO 8601 in UTC, null for 0 and never */
json_t *view_edge(const struct api *api, usec_t at); /* the same, of whole seconds of the clock */
json_t *view_milli(int64_t milli);
json_t *view_labels(const char *labels); /* "a,b" as a list; NULL: none */
json_t *view_isolation(const struct engine_isolation *isolation);
/* "7", "7_3" */
void view_id(const struct api *api, const struct job *job, struct text *text);
/* When a job that waits will start (expect.c). */
json_t *view_start(const struct api *api, const struct start_estimate *start);
/* What would make it start sooner: a list. */
json_t *view_sooner(const struct api *api, const struct job *job);
/* "in about 25 min (between 10 min and 1 h 10 min, 8 of 10 times)" */
void say_start(const struct api *api, const struct start_estimate *start, struct text *text);
/* In words, without a full stop: "4 gpus wanted, 2 free". */
void why_say(const struct api *api, const struct job *job, const struct why *why, uint32_t ahead,
             struct text *text);
/* Of times and money (say_times.c); false: it is about something else. */
bool why_say_time(const struct api *api, const struct why *why, struct text *text);
void view_why_time(const struct api *api, const struct why *why, json_t *view);
/* What a queue spent, and may: into its view. */
void view_accounts(const struct api *api, uint32_t queue, json_t *view);
void say_money(struct text *text, int64_t micro);
void never_say(const struct state *state, const struct request *request, const struct why *why,
               struct text *text);

const char *plural(int64_t count);                                  /* "" or "s" */
void say_milli(struct text *text, int64_t milli, const char *unit); /* "0.5 gpus" */
void say_mib(struct text *text, int64_t mib);
/* "4 gpus", "2 h100", "64 GiB of memory" */
void say_amount(const struct state *state, struct text *text, uint32_t resource, int64_t amount);

/* Routes, a file each. */
call_fn handle_submit;
call_fn handle_list, handle_show, handle_why;
call_fn handle_when, handle_when_like;
call_fn handle_act, handle_update;
call_fn handle_interrupt, handle_scale;
call_fn handle_gpus, handle_topology, handle_clear, handle_history, handle_metrics,
    handle_metrics_dcgm;
call_fn handle_alerts, handle_silence, handle_unsilence;
call_fn handle_nodes, handle_pools, handle_queues;
call_fn handle_config, handle_config_log, handle_apply, handle_undo;
call_fn handle_whatif, handle_rehearsal, handle_report;
call_fn handle_reservations, handle_reserve, handle_unreserve;
call_fn handle_crons, handle_cron_remove;
call_fn handle_output, handle_job_events, handle_events;

void followers_notify(struct api *api, const uint64_t *jobs, size_t count);
void followers_release(struct api *api);

#endif
