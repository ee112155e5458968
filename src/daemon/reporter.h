/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_REPORTER_H
#define DAEMON_REPORTER_H

/* reporter - turns the reports of an engine into events (core/engine.h, engine_reports)
 *
 * Outcomes and assignments have happened, so they are kept until they are durable. Nodes and
 * arrivals are checked against the state, in a change.
 *
 * Owner: the daemon; the objects to which it points outlive the engine
 */

#include "control/control.h"
#include "core/engine.h"
#include "daemon/hub.h"

struct arrival_notes;
struct inventory;
struct machine;
struct output_checks;
struct shortage;

struct reporter {
    struct hub *hub;
    const struct control *control;
    struct engine *engine;   /* set when it is open; it does not report before */
    struct machine *machine; /* the same */
    struct inventory *inventory;
    struct shortage *shortage;
    struct output_checks *checks;
    struct arrival_notes *notes; /* NULL: not yet, or not wanted */
};

/* The callbacks for an engine; reporter must not move. */
struct engine_reports reporter_callbacks(struct reporter *reporter);

#endif
