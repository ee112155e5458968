/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NEAR_H
#define DEVICE_NEAR_H

/* near - how near devices are to each other: by the tree of PCI bridges, in words, in groups */

#include "core/probe.h"

/* How near two PCI devices are by the kernel's tree below root; PROBE_NEAR_UNKNOWN when it does
 * not say. */
enum probe_near near_pci(const char *root, const char *a, const char *b);

/* What probe_link_word() made; anything else is PROBE_NEAR_UNKNOWN. */
struct probe_link near_parse(const char *word);

/* A device near to one of a group belongs to it: groups 1, 2 ...; 0: near to none. */
typedef bool near_fn(const void *user, uint32_t a, uint32_t b);
void near_group(uint32_t count, near_fn *is_near, const void *user, uint32_t *ret_groups);

#endif
