/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_GRES_H
#define ENGINE_SLURM_GRES_H

/* gres - the GPUs in Slurm's texts about generic resources
 *
 * Slurm names the GPUs of a node "gpu:h100:4(S:0-1),gpu:a100:2", and those that a job has on it
 * "gpu:h100:2(IDX:0,2-3)". A GPU without a type has the model "gpu". Parts of GPUs are resources of
 * their own, "shard" and "mps": "shard:h100:16" are four parts of each of four GPUs, and a job that
 * has "shard:2(IDX:1)" shares GPU 1. Resources with other names are left out.
 */

#include <stdint.h>

enum { GRES_MODEL_SIZE = 64, GRES_INDEX_MAX = 1024 };

/* Models of the GPUs of a node, by Slurm's index; malloc'd. */
uint32_t gres_models(const char *gres, char (**ret_models)[GRES_MODEL_SIZE]);

uint32_t gres_count(const char *gres); /* GPUs of a node */

/* Parts of this name ("shard", "mps") in each GPU of a node; 0: none. */
uint32_t gres_parts(const char *gres, const char *name);

/* The number at the end of "gres:gpu:4"; 0: there is none. */
uint64_t gres_number(const char *text);

/* Indices of the GPUs that a job has on a node, or parts of them, ascending within each type;
 * malloc'd. */
uint32_t gres_indices(const char *gres, uint32_t **ret_indices);

#endif
