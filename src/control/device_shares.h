/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DEVICE_SHARES_H
#define CONTROL_DEVICE_SHARES_H

/* device_shares - checks what a job asks for of parts of devices against what the engine can do
 *
 * Some engines have devices that another system divides (control.has_parts): only devices with the
 * labels for it are shared, in the parts that the labels state, and a MIG instance is a device
 * whose model names the profile. Then a share is rounded up to whole parts, the job gets the
 * condition for such devices, and a request for an instance becomes one for devices of such a
 * model. So plans and quotas count what the job will really have.
 */

#include "control/control.h"

struct job_draft;

/* Fails with REFUSED_NEVER: no device here can be shared like this. */
int device_shares_settle(const struct control *control, struct job_draft *draft, struct error *err);

#endif
