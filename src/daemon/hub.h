/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_HUB_H
#define DAEMON_HUB_H

/* hub - makes events durable and runs the scheduler
 *
 * All events of one iteration of the loop are one batch: reports of the engine, requests of
 * clients, the plan that follows and its decisions. The batch is committed to the journal in one
 * transaction. Only then are requests answered, decisions executed and followers notified.
 *
 * If the commit fails (disk full), the hub loads the state from the journal again, without the
 * batch. Requests are refused with the reason. Reports of the engine are kept and retried each
 * second until the disk has space. Running jobs are not affected.
 *
 * Order of calls:  create, (report | enqueue)*, shut, destroy. Callbacks come from the loop
 */

#include <uv.h>

#include "api/ports.h"
#include "daemon/clock.h"
#include "daemon/retention.h"
#include "sched/sched.h"
#include "store/journal.h"

struct hub;

struct hub_callbacks {
    void *user;
    /* A decision is durable. Its lease is valid during the call. */
    void (*decided)(void *user, const struct event *decision);
    /* These jobs have changed durably. */
    void (*changed)(void *user, const uint64_t *jobs, size_t count);
    /* The end of this member is durable. */
    void (*ended)(void *user, struct member_id id);
    /* These jobs left the state. */
    void (*forgotten)(void *user, const struct forgotten *jobs, size_t count);
};

struct hub_options {
    uv_loop_t *loop;
    const char *state_dir;
    struct hub_callbacks callbacks;
};

int hub_create(const struct hub_options *options, struct hub **ret, struct error *err);
/* Refuse the changes that wait for an answer and all later ones. Before the API is closed. */
void hub_shut(struct hub *hub);
/* Saves a snapshot if that saves time at the next start. */
void hub_destroy(struct hub *hub);

/* Functions that fill a port (control/control.h, api/ports.h) take the hub as void *.
 *
 * The results are valid until the next turn of the loop. */
struct state *hub_state(const void *hub);
struct brain *hub_brain(const void *hub);
/* The present rules, as long as the hub exists. */
const struct watch_rules *hub_rules(const struct hub *hub);
struct journal *hub_journal(const struct hub *hub);
const struct clock *hub_clock(const struct hub *hub);
/* clock_note_ahead(). */
void hub_note_ahead(void *hub, usec_t ahead);

/* A report from outside: it has happened, so it is kept until it is durable. Texts are copied. */
void hub_report(void *hub, const struct event *event);
/* The same for a report that depends on the state after the earlier reports: run cannot fail, and
 * is called again if the batch did not become durable. done is called once. */
void hub_report_change(void *hub, struct change *change);
/* A request of a user. */
void hub_enqueue(void *hub, struct change *change);
/* Inside a change's run: the event is part of the batch. */
void hub_emit(void *hub, struct event *event);
/* Bytes of all records that were emitted since the creation of the hub. */
uint64_t hub_written(const void *hub);
/* From now on, make no more plans: running jobs end, and no job is started. */
void hub_stop_planning(struct hub *hub);
/* Counters since the creation of the hub. */
struct api_work hub_work(const void *hub);
/* Why requests are refused at the moment; NULL: they are not. */
const char *hub_trouble(const void *hub);

#endif
