/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_POOLS_H
#define ENGINE_KUBE_DRA_DRA_POOLS_H

/* dra_pools - the devices of nodes, from the slices of their drivers
 *
 * A pool is complete if all its slices of the newest generation are there, and no two devices have
 * the same name. While a driver publishes another generation, the devices of the last complete one
 * stay, and are not allocated. A pool that was never complete has no devices.
 *
 * Order of calls:  create, (see | of)*, destroy
 * Owner:           devices belong to the pools, and are valid until the next see()
 */

#include "engine/kube/client/kube_client.h"
#include "engine/kube/dra/dra_device.h"

struct dra_pools;

struct dra_place {
    struct dra_device *device;
    bool is_updating; /* its pool is not complete */
};

struct dra_pools *dra_pools_create(void);
void dra_pools_destroy(struct dra_pools *pools); /* NULL is fine */

/* An event of the watch of ResourceSlices; takes the object over. touched(): the devices of this
 * node have changed. */
void dra_pools_see(struct dra_pools *pools, enum kube_event event, void *object,
                   void (*touched)(void *user, const char *node), void *user);

/* The devices of a node, in the same order as long as they are the same; NULL: it has none. */
const struct dra_place *dra_pools_of(const struct dra_pools *pools, const char *node,
                                     uint32_t *ret_count);
/* Each device of every node in turn; false of check ends it, and is returned. */
bool dra_pools_each(const struct dra_pools *pools,
                    bool (*check)(void *user, struct dra_device *device), void *user);
/* The device with this name on the node ("POOL/NAME" follows from it); NULL: none. */
struct dra_device *dra_pools_find(const struct dra_pools *pools, const char *node,
                                  const char *uuid);
/* Those with these names ("a,b"), malloc'd; NULL: one of them is not there. */
struct dra_device **dra_pools_find_all(const struct dra_pools *pools, const char *node,
                                       const char *uuids, uint32_t *ret_count);
bool dra_pools_are_known(const struct dra_pools *pools); /* the first list was read */
bool dra_pools_have_any(const struct dra_pools *pools);  /* devices, now or earlier */
/* A slice of which something is not used, for people; NULL: none. */
const char *dra_pools_left_out(const struct dra_pools *pools);

#endif
