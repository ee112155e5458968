/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NEAR_H
#define DEVICE_NEAR_H

/* near - distances between devices: from the tree of PCI bridges, from text, and as groups */

#include "core/probe.h"

/* The distance of two PCI devices in the kernel's tree below root; PROBE_NEAR_UNKNOWN: not known.
 */
enum probe_near near_pci(const char *root, const char *a, const char *b);

/* The reverse of probe_link_word(); any other text gives PROBE_NEAR_UNKNOWN. */
struct probe_link near_parse(const char *word);

/* Group devices: a device that is near a device of a group belongs to the group. Groups are 1, 2
 * ...; 0: near no other device. */
typedef bool near_fn(const void *user, uint32_t a, uint32_t b);
void near_group(uint32_t count, near_fn *is_near, const void *user, uint32_t *ret_groups);

#endif
