/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_BIND_H
#define ENGINE_KUBE_KUBE_BIND_H

/* kube_bind - the requests about pods of started attempts: bind, create, evict, copy the output
 *
 * Each is answered later, by a change of the slot. A binding without an answer is looked at before
 * its devices count as free.
 */

#include "engine/kube/kube_slot.h"

/* Bind a waiting pod to the node of the member; it is taken off its gate before. */
void slot_bind(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod);
/* Whether the rules of pods about each other allow this one on the node of the member: then it
 * counts there. */
bool slot_claim(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod);
/* The same for all pods of an attempt of which nothing has started; else it is to be returned. Pods
 * are claimed one after the other: of jobs that exclude each other, the first starts. */
bool attempt_claim(struct kube_attempts *attempts, struct attempt *attempt,
                   const struct kube_pod *const *pods);
/* Its job is placed anew. */
void attempt_return(struct kube_attempts *attempts, struct attempt *attempt);
/* Find out whether the pod of a member is bound. */
void slot_check(struct kube_attempts *attempts, struct slot *slot);
/* The pod of a member is on its node. */
void slot_note_bound(struct kube_attempts *attempts, struct slot *slot);
/* By the eviction API, with the grace period of the stop. A refusal, such as one by a disruption
 * budget, is repeated (evict_due). */
void slot_evict(struct kube_attempts *attempts, struct slot *slot);
/* The pod of a member was deleted, and its slot is empty: if its controller was deleted, too, its
 * user has ended the job. */
void slot_ask_owner(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod);
/* Not all members can start: what is bound is evicted, the others wait again. */
void attempt_undo(struct kube_attempts *attempts, struct attempt *attempt, const char *reason);

/* Of tarn's own jobs. */
/* A pod that was created without a node is bound, once its claim exists; at any time. */
void slot_bind_created(struct kube_attempts *attempts, struct slot *slot);
void slot_create_pod(struct kube_attempts *attempts, struct slot *slot);
void attempt_create_service(struct kube_attempts *attempts, const struct member_id *id);
/* What was created for an attempt is not needed any more. */
void attempt_delete_own(struct kube_attempts *attempts, const struct attempt *attempt);
/* Copy the output of the pod into its file, once. */
void slot_follow_log(struct kube_attempts *attempts, struct slot *slot);

#endif
