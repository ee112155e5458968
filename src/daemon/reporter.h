/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_REPORTER_H
#define DAEMON_REPORTER_H

/* reporter - what an engine reports becomes events (core/engine.h, engine_reports)
 *
 * An outcome and an assignment happened: they are kept until they are durable. A node and an
 * arrival are checked against the state, in a change.
 *
 * Owner: the daemon; the objects in it outlive the engine
 */

#include "control/control.h"
#include "core/engine.h"
#include "daemon/hub.h"

struct inventory;
struct machine;

struct reporter {
    struct hub *hub;
    const struct control *control;
    struct engine *engine;   /* set when it is open: it does not report before */
    struct machine *machine; /* the same */
    struct inventory *inventory;
};

/* The callbacks for an engine; reporter stays where it is. */
struct engine_reports reporter_callbacks(struct reporter *reporter);

#endif
