/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TIMES_H
#define CONTROL_TIMES_H

/* times - windows as the door makes them: words become spans for some time ahead
 *
 * Of a configuration that is applied, of a reservation that somebody asks for, and again as time
 * goes on (daemon/almanac.h). All words are read in the time zone of the configuration.
 */

#include "api/inside.h"
#include "time/zone.h"
#include "wire/config/config.h"
#include "wire/config/window_event.h"

/* Events to be emitted, worked out before anything is. */
struct times {
    struct arena arena;
    LIST(struct event) windows;
};

/* Everything that hangs on the time in a configuration that is about to be applied. */
int times_check(const struct state *state, const struct config *config, struct error *err);
/* Work its windows out, as of now. */
void times_prepare(struct times *times, const struct api *api, const struct config *config);
void times_emit_windows(struct times *times, struct api *api); /* before who names them */
void times_emit_rest(struct times *times, struct api *api, const struct config *config);
void times_emit_gone(struct times *times, struct api *api); /* what nobody names any more */
void times_release(struct times *times);

/* One window; place as of now. */
int times_add_window(struct times *times, const struct api *api, const char *timezone,
                     const char *name, const char *words, struct error *err);

/* They are words of times, and none comes within ten years. */
bool times_are_over(const struct api *api, const char *words, const struct zone *zone);

/* The zone of a configuration: "" or NULL is the machine's. */
int times_zone(const char *timezone, struct zone **ret, struct error *err);

/* Inside a change. */
void times_remove_reservation(struct api *api, const char *name);

/* What became of a repeating job: it was submitted as `job`, or refused; or only the clock was
 * set. Inside a change. */
struct cron_news {
    uint64_t job;
    const char *trouble;
    bool is_clock_set;
};
void cron_emit(struct api *api, const struct cron_entry *entry, const struct cron_news *news);
usec_t cron_next_after(const struct api *api, const char *schedule, usec_t wall);
/* Submit it once more, if it is due (submit.c). */
void cron_fire(struct api *api, uint64_t id);

/* Part of config_of_state(). */
void times_config_of(struct config *config, const struct state *state);
void times_queue_of(struct config_queue *added, const struct state *state,
                    const struct queue *queue);
void times_pool_of(struct config_pool *added, const struct state *state, const struct pool *pool);
void times_reservation_of(struct config_reservation *added, const struct state *state,
                          const struct reservation *reservation);

#endif
