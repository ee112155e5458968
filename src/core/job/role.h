/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_ROLE_H
#define CORE_JOB_ROLE_H

/* role - one kind of member in a gang that has several
 *
 * A request with roles is a gang: all its members start together, or none does. They are the
 * members of all roles, in the order of the roles; the request's own gpus, cpus and memory are
 * those of its most demanding role, for code that considers one member only. What applies to the
 * whole gang (pool, spot) is in the request once. A gang with roles is not elastic and has no
 * limits on its number of nodes.
 *
 * Sums are taken over the parts: a plain request has one part, itself.
 *
 * Owner:   the creator of the request; class_claim() keeps a copy
 * Limits:  REQUEST_ROLES_MAX roles
 */

#include "core/job/request.h"

struct role {
    char name[REQUEST_NAME_SIZE];
    struct request request; /* only members, and the gpus, cpus and memory of each */
};

/* Set roles, members and most demanding role of a request. The caller keeps owning the array. */
void request_set_roles(struct request *request, const struct role *roles, uint32_t count);

/* How many kinds of member it has: 1 without roles. */
static inline uint32_t request_parts(const struct request *request)
{
    return request->roles_count > 0 ? request->roles_count : 1;
}

/* The members of one kind as a request of their own. */
static inline const struct request *request_part(const struct request *request, uint32_t part)
{
    return request->roles_count > 0 ? &request->roles[part].request : request;
}

/* A copy of it with the current pool, spot and conditions of the whole. */
void request_take_part(const struct request *request, uint32_t part, struct request *ret);

/* The part of the member with this rank, and its number in that part. */
uint32_t request_part_of(const struct request *request, uint32_t rank, uint32_t *ret_number);

/* Of all members. */
int64_t request_cpus(const struct request *request);
int64_t request_memory(const struct request *request);

/* Whether any member wants GPUs. */
bool request_wants_gpus(const struct request *request);

/* A part of request_check(), in request_check.c. */
int roles_check(const struct request *request, struct error *err);

#endif
