/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STUDY_SLACK_CHOOSER_H
#define DAEMON_STUDY_SLACK_CHOOSER_H

/* slack_chooser - looks ahead in the live state now and then (forecast/lookahead.h)
 *
 * It looks in a copy of the daemon, when enough jobs have come since the last look, and reports
 * another slack to the hub as the event SLACK.
 *
 * Limits: CHOOSER_PROCESSOR of processor time for both simulations of a look; in all,
 *         processor_allowance.h
 */

#include <uv.h>

#include "base/units.h"

#define CHOOSER_PROCESSOR (200 * USEC_PER_MS)

struct hub;
struct slack_chooser;

struct slack_chooser *slack_chooser_create(uv_loop_t *loop, struct hub *hub);
void slack_chooser_destroy(struct slack_chooser *chooser); /* NULL is fine; before the loop ends */

/* Jobs have changed durably. */
void slack_chooser_changed(struct slack_chooser *chooser);

#endif
