/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_LOOKUP_H
#define CONTROL_LOOKUP_H

/* lookup - finds nodes, devices and queues by the names that people use */

#include "control/control.h"

/* "node a: no such node" */
int node_find(const struct state *state, const char *name, const struct node **ret,
              struct error *err);

/* By UUID, by "NODE/INDEX", or by an index that only one device has. */
int device_find(const struct state *state, const char *name, uint32_t *ret, struct error *err);

/* Find a queue that takes jobs. Refused: no such queue (the message suggests the nearest name), or
 * it has queues below it. */
int admit_find_queue(const struct state *state, const char *name, uint32_t *ret, struct error *err);

/* Fails with REFUSED_NEVER and the reason if the request can never run in this queue. This
 * places the request in an empty copy of the cluster, unless the same was found possible for its
 * class in the same world (state_world()). */
int admit_check(const struct state *state, const struct request *request, uint32_t queue,
                bool is_preemptible, struct error *err);

/* Whether it fails because of the nodes, not of a limit. */
bool admit_lacks_nodes(const struct state *state, const struct request *request, uint32_t queue,
                       bool is_preemptible);

/* The same for the limits of a user (by number) and of a Unix group. */
int admit_check_user(const struct state *state, const struct request *request, uint32_t queue,
                     uint32_t user, uint32_t gid, struct error *err);

/* The number of a user; that of the next one if the user is not known. */
uint32_t user_find(const struct state *state, const char *name);

/* Whether any device is real. Synthetic devices represent a cluster for trials: they accept shares
 * of any kind, and do not show which devices there will be. */
bool cluster_is_real(const struct state *state);

#endif
