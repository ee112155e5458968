/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_RESCUE_H
#define CORE_STATE_RESCUE_H

/* rescue - jobs restart elsewhere after their device has become sick
 *
 * The effect of a sick device on its jobs is its harm. A device that still works is left only by
 * jobs that save their work when they are stopped; a dead device by all jobs that may run again.
 * Such an attempt is not counted as a retry, up to RESCUES_MOST times: a job that kills one device
 * after another is then charged like any other failure. A job that may not run again is not
 * stopped.
 *
 * A job that has not started yet leaves any sick device, and nothing is counted; but one that was
 * submitted to the engine directly stays, because its end there is the end of the job.
 *
 * A rescue is a STOP with cause STOP_RESCUE, or the end of a job that failed with its device before
 * it could be stopped.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "core/health/health.h"

enum {
    RESCUES_MOST = 3, /* of one job, not counted as retries */
};

struct job;
struct state;

/* The worst harm of its devices, and the first device that has it; HARM_NONE: it may stay. A job
 * that has not started yet leaves any sick device. */
enum harm rescue_harm(const struct state *state, const struct job *job, uint32_t *ret_device);

/* Whether the rules let it go on elsewhere without being charged a retry. */
bool rescue_may(const struct state *state, const struct job *job, enum harm harm);

/* Run time of this attempt that is lost when the job leaves a device of this harm. */
usec_t rescue_unsaved(const struct job *job, enum harm harm, usec_t now);

/* The job leaves this device: note where it is and why it is sick. */
void rescue_note(const struct state *state, struct job *job, uint32_t device);

#endif
