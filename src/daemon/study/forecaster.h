/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_FORECASTER_H
#define DAEMON_STUDY_FORECASTER_H

/* forecaster - keeps a forecast of the live state (forecast/forecast.h), and renews it on demand
 *
 * A forecast is made in a copy of the daemon. It is fresh for a second, or until the next event.
 * Its processor time comes from an allowance (processor_allowance.h). If too little time is left,
 * the existing forecast answers: its times are shifted by as much as its first start is late.
 *
 * Order of calls:  create, (is_fresh, start, end)*, destroy: it calls all waiters
 */

#include <uv.h>

#include "api/ports.h"

struct forecaster;
struct hub;
struct planned;

/* path: the file for the estimates (daemon/study/estimate_book.h) */
struct forecaster *forecaster_create(uv_loop_t *loop, struct hub *hub, struct planned *planned,
                                     const char *path);
void forecaster_destroy(struct forecaster *forecaster); /* NULL is fine; before the loop ends */

/* forecaster: a struct forecaster. These functions fill a port (api/ports.h). */
bool forecaster_is_fresh(void *forecaster, bool is_of_waiting, struct forecast_waiter *waiter);
bool forecaster_start(void *forecaster, const struct job *job, struct start_estimate *ret);
bool forecaster_end(void *forecaster, uint64_t id, struct end_estimate *ret);
void forecaster_shown(void *forecaster, const struct job *job,
                      const struct start_estimate *estimate, usec_t guaranteed, bool is_forecast);
int forecaster_report(void *forecaster, usec_t last, json_t **ret, struct error *err);

/* In a copy of the daemon: make a forecast of its present state. */
void forecaster_renew(struct forecaster *forecaster, usec_t processor);
/* Whether a forecast is being made. */
bool forecaster_is_busy(const struct forecaster *forecaster);
/* These jobs have changed durably. */
void forecaster_changed(struct forecaster *forecaster, const uint64_t *jobs, size_t count);

#endif
