/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_CLIENT_KUBE_LEASE_H
#define ENGINE_KUBE_CLIENT_KUBE_LEASE_H

/* kube_lease - one daemon at a time is in charge of a cluster
 *
 * The holder of the Lease kube-system/tarn is in charge, and renews it. Another daemon takes it
 * over when it was not renewed for its duration, measured on its own clock, so that clocks need not
 * agree. A holder that cannot renew sends nothing else (kube_client_allow) until it could renew
 * again. If another daemon holds the lease by then, this program ends: what it knows is old.
 */

#include "engine/kube/client/kube_client.h"

struct kube_lease;

/* begin: this daemon is in charge now, for the first time. */
struct kube_lease *kube_lease_create(struct uv_loop_s *loop, struct kube_client *client,
                                     const char *instance, void (*begin)(void *user), void *user);
void kube_lease_destroy(struct kube_lease *lease); /* NULL is fine */

/* The last call of its holder, so that another daemon need not wait. False: it is not held. */
bool kube_lease_give_up(const struct kube_lease *lease, struct kube_call *ret);

/* Why this daemon is not in charge; NULL: it is. */
const char *kube_lease_trouble(const struct kube_lease *lease);

#endif
