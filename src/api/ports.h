/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_PORTS_H
#define API_PORTS_H

/* ports - services that the HTTP API needs from the daemon, besides the use cases
 * (control/control.h)
 *
 * A port is filled with an object and its functions directly. NULL: the feature is not available.
 */

#include <jansson.h>

#include "control/control.h"
#include "core/device_watch.h"
#include "core/engine.h"
#include "core/health/alert.h"
#include "core/health/reading.h"
#include "sched/explain/questions.h"
#include "sched/sched.h"

/* What the daemon did since it started. */
struct api_work {
    uint64_t plans, decisions;
    usec_t plan_sum, plan_max; /* how long plans took */
};

struct api_planner {
    void *user;
    struct brain *(*brain)(const void *user); /* good until the next turn of the loop */
    struct api_work (*work)(const void *user);
    const char *(*trouble)(const void *user); /* why nothing is accepted now; NULL: all is well */
};

/* The jobs that run here. */
struct api_attempts {
    void *user;
    /* Where a member's output is; rank's standard error when it has one of its own. */
    int (*output_path)(void *user, const struct job *job, uint32_t rank, bool is_error,
                       struct text *ret, struct error *err);
    void (*kill)(void *user, uint64_t job); /* end its running members without a grace period */
    /* Send a signal to all processes of its running members; NULL: the engine cannot. */
    void (*signal)(void *user, uint64_t job, int number);
    /* A connection to the supervisor of a member of a job that runs; NULL: the engine has none. */
    int (*enter)(void *user, uint64_t job, uint32_t rank, int *ret_fd, struct error *err);
    struct engine_isolation isolation; /* what a job would get */
};

struct api_devices {
    void *user;
    const struct watch *watch; /* health and readings; NULL: not watched */
    /* An administrator marks a device as healthy; inside run only. */
    int (*clear)(void *user, uint32_t device, struct error *err);
};

/* Stored readings of devices. */
struct api_readings {
    void *user;
    int (*query)(void *user, const struct reading_query *query, reading_fn *fn, void *fn_user,
                 struct error *err);
};

struct api_alerts {
    void *user;
    /* Active alerts and the silences of administrators; good until the next turn of the loop. */
    const struct alerts *(*look)(const void *user, const struct alert_silence **ret_silences,
                                 size_t *ret_count);
    int (*silence)(void *user, const struct alert_silence *silence, struct error *err);
    int (*unsilence)(void *user, const char *name, const char *subject, unsigned *ret_count,
                     struct error *err);
    struct alert_counts (*counts)(const void *user);
};

/* A question that another process answers. The requester owns it until done. */
struct api_study {
    const struct identity *who; /* asks */
    uint32_t shown;
    /* What if: change the state of a copy of the daemon. NULL: a rehearsal */
    int (*change)(struct api_study *study, const struct control *copy, struct error *err);
    /* What if: the answer, from the changed copy with a forecast of its own; new. NULL: what
     * changes for all jobs */
    json_t *(*answer)(struct api_study *study);
    /* Rehearsal: the last days, under the current configuration and a new one. */
    usec_t last;
    json_t *old_config, *new_config; /* the asker's */
    const char *hides_from;          /* only user to name (forecast/rehearse.h), or NULL */
    /* Report of the last: the question's own keys (daemon/study/study_report.c), the asker's. NULL:
     * none */
    json_t *report;
    /* Called when it is accepted, for the expensive part of the question. NULL: nothing. */
    void (*complete)(struct api_study *study);
    const char *note; /* to go with the answer, or NULL */
    /* Whether the requester has disconnected: then the study is stopped. */
    bool (*is_left)(const struct api_study *study);
    /* code 0: the answer as JSON, which is taken over; else err. */
    void (*done)(struct api_study *study, int code, struct text *answer, const struct error *err);
};

struct api_studies {
    void *user;
    /* Begin a study; done is called later. REFUSED_TOO_MANY when there are too many. */
    int (*start)(void *user, struct api_study *study, struct error *err);
};

/* Is called once, from the loop. */
struct forecast_waiter {
    struct forecast_waiter *next;
    void (*done)(struct forecast_waiter *waiter);
};

/* The forecast of the live state (forecast/forecast.h). */
struct api_forecasts {
    void *user;
    /* Whether it is as fresh as it may be. If not, it is being renewed, and the waiter is called
     * when it is. is_of_waiting: only starts of waiting jobs matter. */
    bool (*is_fresh)(void *user, bool is_of_waiting, struct forecast_waiter *waiter);
    /* What it says of a job that waits; false: nothing. limits_only may be FORECAST_NOT_KNOWN. */
    bool (*start)(void *user, const struct job *job, struct start_estimate *ret);
    /* Of the end of a job or a group; false: nothing. */
    bool (*end)(void *user, uint64_t id, struct end_estimate *ret);
    /* This estimate is shown. is_forecast: it is from start(). guaranteed: a time, or USEC_NEVER.
     */
    void (*shown)(void *user, const struct job *job, const struct start_estimate *estimate,
                  usec_t guaranteed, bool is_forecast);
    /* How true the estimates of the last time were; new. */
    int (*report)(void *user, usec_t last, json_t **ret, struct error *err);
};

struct api_daemon {
    void *user;
    void (*stop)(void *user, bool kill_jobs);
    const char *state_dir, *engine, *devices, *socket; /* for requests about the daemon */
    usec_t started;
    bool is_machine_wide; /* serves all users */
    bool has_no_jobs;     /* only devices are watched: for /metrics alone (daemon/exporter.c) */
};

struct api_ports {
    struct control control;
    struct api_planner planner;
    struct api_attempts attempts;
    struct api_devices devices;
    struct api_readings readings;
    struct api_alerts alerts;
    struct api_studies studies;
    struct api_forecasts forecasts;
    struct api_daemon daemon;
};

#endif
