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
    struct brain *(*brain)(const void *user); /* valid until the next turn of the loop */
    struct api_work (*work)(const void *user);
    const char *(*trouble)(const void *user); /* why requests are refused now; NULL: they are not */
};

/* The jobs that run here. */
struct api_attempts {
    void *user;
    /* Path of a member's output, or of its standard error if that has a separate file. */
    int (*output_path)(void *user, const struct job *job, uint32_t rank, bool is_error,
                       struct text *ret, struct error *err);
    void (*kill)(void *user, uint64_t job); /* kill its running members, without a grace period */
    /* Send a signal to all processes of its running members; NULL: not supported. */
    void (*signal)(void *user, uint64_t job, int number);
    /* Connect to the supervisor of a member of a running job; NULL: not supported. */
    int (*enter)(void *user, uint64_t job, uint32_t rank, int *ret_fd, struct error *err);
    struct engine_isolation isolation; /* the isolation that a job would get */
    /* Why the engine does not start it now; NULL: no reason. */
    const char *(*trouble)(void *user, const struct job *job);
    /* The words with what the labels of the engine in them stand for; new. NULL: it has none. */
    char *(*spell)(void *user, const char *words);
};

struct api_devices {
    void *user;
    const struct watch *watch; /* health and readings; NULL: not watched */
    /* An administrator marks a device as healthy; only inside a change. */
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
    /* Active alerts and the silences of administrators; valid until the next turn of the loop. */
    const struct alerts *(*look)(const void *user, const struct alert_silence **ret_silences,
                                 size_t *ret_count);
    int (*silence)(void *user, const struct alert_silence *silence, struct error *err);
    int (*unsilence)(void *user, const char *name, const char *subject, unsigned *ret_count,
                     struct error *err);
    struct alert_counts (*counts)(const void *user);
};

/* A question that another process answers. The requester owns it until done. */
struct api_study {
    const struct identity *who; /* the requester */
    uint32_t shown;
    /* What-if: change the state of a copy of the daemon. NULL: it is a rehearsal */
    int (*change)(struct api_study *study, const struct control *copy, struct error *err);
    /* What-if: the answer, computed in the changed copy with its own forecast; new. NULL: the
     * changes for all jobs */
    json_t *(*answer)(struct api_study *study);
    /* What-if with several changes, each in a copy of its own, in which `turn` says which it is.
     * 0: one change. */
    uint32_t turns, turn;
    /* Then the answer, from the list of those of the turns (null: a change was refused), which
     * stays the caller's; new. */
    json_t *(*conclude)(struct api_study *study, const json_t *turns);
    /* Rehearsal: the length of the period before now, and both configurations. */
    usec_t last;
    json_t *old_config, *new_config; /* owned by the requester */
    const char *hides_from;          /* the only user to name (forecast/rehearse.h), or NULL */
    /* Report: the keys of the question (daemon/study/study_report.c), owned by the requester. NULL:
     * it is no report */
    json_t *report;
    /* Called when the study is accepted, to prepare the expensive part. NULL: nothing to do. */
    void (*complete)(struct api_study *study);
    const char *note; /* a note for the answer, or NULL */
    int64_t rate;     /* What-if: what is added costs so much per hour, in micro; 0: nothing */
    /* Whether the requester has disconnected; the study is then stopped. */
    bool (*is_left)(const struct api_study *study);
    /* code 0: the answer as JSON, which the callee takes over; else err. */
    void (*done)(struct api_study *study, int code, struct text *answer, const struct error *err);
};

struct api_studies {
    void *user;
    /* Begin a study; done is called later. Fails with REFUSED_TOO_MANY. */
    int (*start)(void *user, struct api_study *study, struct error *err);
};

/* done is called once, from the loop. */
struct forecast_waiter {
    struct forecast_waiter *next;
    void (*done)(struct forecast_waiter *waiter);
    usec_t patience; /* it does not wait for a forecast that takes more processor time, nor more
                        than 10 times as long on a busy machine */
    bool is_many;    /* one of many: it is content if the last one is young for what it cost, and
                        waits no longer than its patience */
    uint64_t until;  /* of the callee */
};

/* The forecast of the live state (forecast/forecast.h). */
struct api_forecasts {
    void *user;
    /* Whether the forecast is fresh. If not, it is being renewed, and the waiter is called
     * afterwards. is_of_waiting: only the starts of waiting jobs matter. */
    bool (*is_fresh)(void *user, bool is_of_waiting, struct forecast_waiter *waiter);
    /* The start of a waiting job; false: not in the forecast. limits_only may be
     * FORECAST_NOT_KNOWN. */
    bool (*start)(void *user, const struct job *job, struct start_estimate *ret);
    /* The end of a job or a group; false: not in the forecast. */
    bool (*end)(void *user, uint64_t id, struct end_estimate *ret);
    /* Record that this estimate is shown. is_forecast: it comes from start(). guaranteed: a time,
     * or USEC_NEVER. */
    void (*shown)(void *user, const struct job *job, const struct start_estimate *estimate,
                  usec_t guaranteed, bool is_forecast);
    /* The accuracy of the estimates in the period before now; new. */
    int (*report)(void *user, usec_t last, json_t **ret, struct error *err);
};

struct api_daemon {
    void *user;
    void (*stop)(void *user, bool kill_jobs);
    const char *state_dir, *engine, *devices, *socket; /* reported by requests about the daemon */
    usec_t started;
    bool is_machine_wide; /* serves all users */
    bool has_no_jobs;     /* it only serves /metrics of the devices (daemon/exporter.c) */
};

/* The TCP socket of the API (daemon/door.h). */
struct api_door {
    const char *address; /* NULL: there is none */
    bool is_tls;
    const char *const *hosts; /* more names of this server; ends with NULL */
    const char *login;        /* path of tarn-login, which checks passwords; NULL: none are taken */
    const char *proxy_from, *proxy_secret, *proxy_header; /* a trusted proxy; NULL: none */
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
    struct api_door door;
};

#endif
