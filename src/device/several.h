/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_SEVERAL_H
#define DEVICE_SEVERAL_H

/* several - combines the probes of several vendors behind one port
 *
 * The devices are in the order of the probes; islands and bridges of different probes stay
 * separate. If one probe cannot list its devices, the listing fails as a whole, so that the failure
 * is seen.
 *
 * Owner:   takes over the probes; destroy it through the port
 * Limits:  SEVERAL_MAX probes; waiting for events goes through the probes that report events in
 * turn
 */

#include "core/probe.h"

enum { SEVERAL_MAX = 8 };

struct probe *probe_several_create(struct probe *const *probes, uint32_t count);

#endif
