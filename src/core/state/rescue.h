/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_RESCUE_H
#define CORE_STATE_RESCUE_H

/* rescue - jobs whose device got sick go on elsewhere
 *
 * What a sick device does to the jobs on it is its harm. From one that still works only those leave
 * that save their work when they are stopped; from a dead one all that may be run again. Such an
 * attempt is not counted as a retry, but only so often: a job that kills one device after the other
 * is then charged as any other failure. Who may not be run again is not stopped.
 *
 * Who has not started on it yet goes elsewhere from every sick device, and nothing is counted.
 *
 * A rescue is a STOP with cause STOP_RESCUE, or the end of a job that fell with its device before
 * it could be stopped.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "core/health/health.h"

enum {
    RESCUES_MOST = 3, /* of one job that are not counted as retries */
};

struct job;
struct state;

/* The worst of its devices, the first of equals, in *ret_device; HARM_NONE: all are well enough.
 * Who has not started yet leaves any that is sick. */
enum harm rescue_harm(const struct state *state, const struct job *job, uint32_t *ret_device);

/* Whether the rules let it go on elsewhere without being charged a retry. */
bool rescue_may(const struct state *state, const struct job *job, enum harm harm);

/* Run time of this attempt that is done again when it leaves a device that does so much harm. */
usec_t rescue_unsaved(const struct job *job, enum harm harm, usec_t now);

/* It leaves this device: where that is and what is wrong with it is kept. */
void rescue_note(const struct state *state, struct job *job, uint32_t device);

#endif
