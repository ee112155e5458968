/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_CLUSTER_H
#define SIM_TRACE_CLUSTER_H

/* cluster - the nodes of an experiment
 *
 * The source is {format: openb | muri, file: ...}, or a group of identical nodes: {nodes: 8, gpus:
 * 8, model: v100, cpus: 96, memory: 700GiB, gpu_memory: 32GB, racks: 2, numa: 2, mig: true}, or a
 * list of such groups. CPUs and memory that a group does not state are unlimited.
 *
 * Limits: CLUSTER_NODES_MAX nodes, CLUSTER_GPUS_MAX devices
 */

#include <jansson.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/journal/event.h"
#include "sim/trace/workload.h"
#include "wire/reader.h"

enum { CLUSTER_NODES_MAX = 100000, CLUSTER_GPUS_MAX = 1000000 };
#define CLUSTER_MODEL_NONE "gpu" /* of GPUs whose model is not stated */

struct cluster_node {
    const char *name;
    const char *model; /* lower case; "": no GPUs */
    const char *rack, *block;
    int64_t cpu_milli, memory_mib;
    int64_t gpu_memory_mib; /* of each; 0: not known */
    uint32_t gpus;
    uint32_t numa; /* NUMA nodes, each with an equal part of the GPUs; 0: not known */
    bool mig;      /* its GPUs are in MIG mode */
};

struct cluster {
    LIST(struct cluster_node) nodes;
    struct workload strings; /* only its strings */
    int64_t gpu_count;
    uint32_t gpus_max; /* of one node */
};

/* folder: base of relative paths. */
int cluster_read(const struct reader *reader, const json_t *object, const char *folder,
                 struct cluster *cluster, struct error *err);
void cluster_release(struct cluster *cluster);

typedef int cluster_event_fn(void *user, const struct event *event, struct error *err);

/* The events that create its nodes, in order. */
int cluster_tell(const struct cluster *cluster, cluster_event_fn *fn, void *user,
                 struct error *err);

/* The number of devices of the models "t4|p100"; "": all. */
int64_t cluster_count(const struct cluster *cluster, const char *models);

/* Whether model is one of "t4|p100"; "" has every model. */
bool models_have(const char *models, const char *model);

/* folder/path, or path if it is absolute; new. */
char *path_beside(const char *folder, const char *path);

#endif
