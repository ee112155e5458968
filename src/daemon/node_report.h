/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NODE_REPORT_H
#define DAEMON_NODE_REPORT_H

/* machine - which devices to use, and telling the journal what is there now
 *
 * DEVICES is "auto" (all makers' that there are; MACHINE_SYNTHETIC where there is no driver and no
 * device at all), "nvml", "amd", "intel", "none", "recorded:FILE" or one like "synthetic:h100:4".
 * The files of AMD's and Intel's drivers are looked for below $TARN_DEVICE_ROOT, for tests. Only
 * what differs from the state becomes an event; a device that is known and not there any more
 * becomes sick, so that nothing of it is given out.
 */

#include "core/probe.h"
#include "daemon/hub.h"

#define MACHINE_SYNTHETIC "synthetic:h100:4"

/* ret_name: "nvml", "nvml+amd", "none", or what was asked for; malloc'd. ret_probe may be NULL
 * (none). */
int machine_probe(const char *devices, struct probe **ret_probe, char **ret_name,
                  struct error *err);

/* What the probe found; items is malloc'd. */
struct machine_devices {
    struct probe_device *items;
    uint32_t count;
};

/* *probe may be NULL: there are none. Blocks, but not for as long as a device that hangs: fails
 * with -ETIMEDOUT after half a minute, and *probe is NULL then, as somebody is in it still. */
int machine_find(struct probe **probe, struct machine_devices *ret, struct error *err);

/* Emit the events; for a change's run. */
int machine_report(struct hub *hub, const struct machine_devices *found, struct error *err);
/* The same of the devices that the configuration describes alone: they come behind those that were
 * found. */
void machine_describe(struct hub *hub, const struct machine_devices *found);

/* A device as an event; name holds what it is called, and must live as long. */
enum { MACHINE_NAME_SIZE = PROBE_UUID_SIZE + 32 };
void machine_device_event(const char *node, const struct probe_device *device, uint32_t index,
                          char *name, struct event *ret);

/* Which run of the machine this is; "" when the kernel does not say. */
void machine_boot(struct text *ret);

#endif
