/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TIMES_H
#define CONTROL_TIMES_H

/* times - expands windows such as "mon-fri 18:00-8:00" into spans for some time ahead
 *
 * Used when a configuration is applied, when a user requests a reservation, and as time passes
 * (tend.h). Times are in the time zone of the configuration.
 */

#include "control/control.h"
#include "time/zone.h"
#include "wire/config/config.h"
#include "wire/config/window_event.h"

/* Events that are prepared before the first one is emitted. */
struct times {
    struct arena arena;
    LIST(struct event) windows;
};

/* Check the windows, tariffs and reservations of a configuration. */
int times_check(const struct state *state, const struct config *config, struct error *err);
/* Expand its windows from now on. */
void times_prepare(struct times *times, const struct control *control, const struct config *config);
void times_emit_windows(struct times *times,
                        const struct control *control); /* before the objects that use them */
void times_emit_rest(const struct control *control, const struct config *config);
void times_emit_gone(struct times *times,
                     const struct control *control); /* windows that are not used any more */
void times_release(struct times *times);

/* Expand one window from now on. */
int times_add_window(struct times *times, const struct control *control, const char *timezone,
                     const char *name, const char *words, struct error *err);

/* Whether all of these nodes (comma-separated) are known; else ret_missing (REQUEST_NAME_SIZE
 * bytes) has an unknown one. */
bool times_find_nodes(const struct state *state, const struct event_reservation *reservation,
                      const char **ret_missing);

/* The text is a calendar expression without a span in the next ten years. */
bool times_are_over(const struct control *control, const char *words, const struct zone *zone);

/* The zone of a configuration: "" or NULL is the zone of the host. */
int times_zone(const char *timezone, struct zone **ret, struct error *err);

/* When a repeating job is due next after this wall time, in journal time; USEC_NEVER: not known. */
usec_t times_next_cron(const struct control *control, const char *schedule, usec_t wall);

/* A reservation in the form of a configuration; its texts are in the arena of config. */
void times_reservation_of(struct config *config, const struct state *state,
                          const struct reservation *reservation, struct event_reservation *ret);

#endif
