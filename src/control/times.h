/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TIMES_H
#define CONTROL_TIMES_H

/* times - windows from words: "mon-fri 18:00-8:00" becomes spans for some time ahead
 *
 * For a configuration that is applied, for a reservation that somebody asks for, and again as time
 * goes on (tend.h). All words are read in the time zone of the configuration.
 */

#include "control/control.h"
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
void times_prepare(struct times *times, const struct control *control, const struct config *config);
void times_emit_windows(struct times *times,
                        const struct control *control); /* before who names them */
void times_emit_rest(struct times *times, const struct control *control,
                     const struct config *config);
void times_emit_gone(struct times *times,
                     const struct control *control); /* what nobody names any more */
void times_release(struct times *times);

/* One window; place as of now. */
int times_add_window(struct times *times, const struct control *control, const char *timezone,
                     const char *name, const char *words, struct error *err);

/* They are words of times, and none comes within ten years. */
bool times_are_over(const struct control *control, const char *words, const struct zone *zone);

/* The zone of a configuration: "" or NULL is the machine's. */
int times_zone(const char *timezone, struct zone **ret, struct error *err);

/* When a repeating job is due next after a moment of the wall clock, in journal time; USEC_NEVER:
 * it can't be told. */
usec_t times_next_cron(const struct control *control, const char *schedule, usec_t wall);

/* Part of config_of_state(). */
void times_config_of(struct config *config, const struct state *state);
void times_queue_of(struct config_queue *added, const struct state *state,
                    const struct queue *queue);
void times_pool_of(struct config_pool *added, const struct state *state, const struct pool *pool);
void times_reservation_of(struct config_reservation *added, const struct state *state,
                          const struct reservation *reservation);

#endif
