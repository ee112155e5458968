/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_SEVERAL_H
#define DEVICE_SEVERAL_H

/* several - probes of different makers' devices behind one port
 *
 * Devices come in the order of the probes; what belongs together in one is told apart from what
 * does in another. A probe that can't list its devices fails all of them: that is said, not hidden.
 *
 * Owner:   it takes the probes over; destroy through the port
 * Limits:  SEVERAL_MAX probes; a waiting for events goes around those that report any
 */

#include "core/probe.h"

enum { SEVERAL_MAX = 8 };

struct probe *probe_several_create(struct probe *const *probes, uint32_t count);

#endif
