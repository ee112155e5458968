/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_API_H
#define API_API_H

/* api - the HTTP door: routes, identity, rights
 *
 * Reading is answered from the state at once. What changes something becomes a change: the daemon
 * runs it in the order of arrival, against the state of that moment, and calls done when what it
 * emitted is durable, or when it was refused. So an acknowledgement is never sent too early.
 *
 * Rights: whoever may connect may look; jobs are changed, and their output read, by their owner
 * and by the administrators (root and whom the daemon runs as).
 *
 * Spec: doc/spec/05-api.md
 */

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "core/device_watch.h"
#include "core/health/alert.h"
#include "core/state/event.h"
#include "core/state/state.h"
#include "io/http.h"
#include "sched/sched.h"

struct api_change {
    /* Check against the state, emit events; a failure has emitted nothing. */
    int (*run)(struct api_change *change, struct error *err);
    /* code 0: durable. Frees the change. */
    void (*done)(struct api_change *change, int code, const struct error *err);
    struct api_change *next;
};

/* What the daemon did since it started. */
struct api_work {
    uint64_t plans, decisions;
    usec_t plan_sum, plan_max; /* how long plans took */
    uint64_t alerts_sent, alerts_failed, alerts_dropped;
};

struct api_silences {
    const struct alert_silence *items;
    size_t count;
};

struct api_ports;

/* A question that takes a while, worked out by another process. Who asks owns it until done. */
struct api_study {
    const struct identity *who; /* asks */
    uint32_t shown;
    /* What if: in a copy of the daemon, change its state through these ports. NULL: a rehearsal */
    int (*change)(struct api_study *study, const struct api_ports *copy, struct error *err);
    /* Rehearsal: the last days, under the configuration that there is and a new one. */
    usec_t last;
    json_t *old_config, *new_config; /* the asker's */
    const char *hides_from;          /* whose name: (forecast/rehearse.h), or NULL */
    /* Report of the last: the question's own keys (daemon/study/study_report.c), the asker's. NULL:
     * none */
    json_t *report;
    /* Called when it is taken: what of the question takes work. NULL: nothing. */
    void (*complete)(struct api_study *study);
    const char *note; /* to go with the answer, or NULL */
    /* Whether who asked has gone: then it is not worked on any more. */
    bool (*is_left)(const struct api_study *study);
    /* code 0: the answer as JSON, which is taken over; else err. */
    void (*done)(struct api_study *study, int code, struct text *answer, const struct error *err);
};

/* What the door needs of the house. */
struct api_ports {
    void *user;
    const struct state *(*state)(void *user);
    struct brain *(*brain)(void *user);
    usec_t (*now)(void *user);        /* journal time */
    usec_t (*wall_ahead)(void *user); /* what to add to it for wall time */
    void (*enqueue)(void *user, struct api_change *change);
    void (*emit)(void *user, struct event *event); /* inside run only; sets at */
    uint64_t (*blob_add)(void *user, const void *bytes, size_t length);
    int (*blob_get)(void *user, uint64_t id, struct text *ret, struct error *err);
    /* Where a member's output is; rank's standard error when it has one of its own. */
    int (*output_path)(void *user, const struct job *job, uint32_t rank, bool is_error,
                       struct text *ret, struct error *err);
    void (*tend_soon)(void *user); /* something came that api_tend() has to look after */
    void (*stop)(void *user, bool kill_jobs);
    void (*kill_job)(void *user, uint64_t job); /* what runs of it, without a grace period */
    /* Begin a study; done is called later. Fails with -EDQUOT when there are too many. */
    int (*study)(void *user, struct api_study *study, struct error *err);
    /* How the devices do; NULL: nobody looks. */
    const struct watch *(*watch)(void *user);
    struct api_work (*work)(void *user);
    /* What a device said, as it was kept. */
    int (*readings)(void *user, const struct reading_query *query, reading_fn *fn, void *fn_user,
                    struct error *err);
    /* Somebody says that a device is well; inside run only. */
    int (*clear)(void *user, uint32_t device, struct error *err);
    /* The devices that are described are others now; inside run only. NULL: there are none. */
    void (*describe)(void *user);
    const char *(*trouble)(void *user); /* why nothing is accepted now; NULL: all is well */
    /* What is wrong now, and what administrators silenced; good until the next turn of the loop. */
    const struct alerts *(*alerts)(void *user, struct api_silences *ret);
    int (*silence)(void *user, const struct alert_silence *silence, struct error *err);
    int (*unsilence)(void *user, const char *name, const char *subject, unsigned *ret_count,
                     struct error *err);
    struct engine_isolation (*isolation)(void *user); /* what a job would get */
    const char *state_dir, *devices, *socket;         /* for who asks about the daemon */
    usec_t started;
    bool is_machine_wide; /* serves all users */
    bool has_no_jobs;     /* only devices are watched: for /metrics alone (daemon/exporter.h) */
    usec_t grace;         /* of jobs that say nothing */
    uid_t owner;          /* whom the daemon runs as */
};

struct api;

struct api *api_create(const struct api_ports *ports, uv_loop_t *loop);
void api_destroy(struct api *api);

/* The handler of the HTTP server; user is the struct api. */
void api_handle(void *user, struct http_request *request);
/* The same of /metrics and what is below it alone; for a door that is open to anybody. */
void api_handle_metrics(void *user, struct http_request *request);

/* Emit through the ports what puts a configuration (a document) into force in a state of another
 * time: queues that are elsewhere in the tree go first. For rehearsals. */
int api_impose(const struct api_ports *ports, const json_t *config, struct error *err);

/* Look after what hangs on the wall clock; is_other_clock: it was set, or its zone is another.
 * Returns when to call it again at the latest; USEC_NEVER. */
usec_t api_tend(struct api *api, bool is_other_clock);

/* What happened to these jobs is durable: those who follow are told. */
void api_changed(struct api *api, const uint64_t *jobs, size_t count);

#endif
