/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_API_H
#define ENGINE_SLURM_SLURM_API_H

/* slurm_api - what the engine needs of libslurm, in values of its own
 *
 * The only file that includes Slurm's headers: the differences between its versions are here. Every
 * call may block until slurmctld answers or libslurm's time limit is reached, so only the worker
 * may call it, and the engine while it is created.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum slurm_phase { SLURM_WAITS, SLURM_RUNS, SLURM_IS_OVER };

enum slurm_end {
    SLURM_EXITED, /* also by a signal */
    SLURM_CANCELLED,
    SLURM_TIME_LIMIT,
    SLURM_OUT_OF_MEMORY,
    SLURM_TAKEN_AWAY, /* its node failed, or Slurm preempted it; or it was never launched */
};

/* The part of a job on one node. */
struct slurm_part {
    char *node, *gres; /* gres: "gpu:h100:2(IDX:0-1)"; NULL: not known */
    int64_t cpu_milli;
};

/* What a job that waits asks for. Texts may be NULL. */
struct slurm_wish {
    char *name, *user, *account, *partition, *comment;
    char *features, *req_nodes, *exc_nodes, *reservation;
    char *per_node, *per_job, *per_task, *per_socket; /* "gres:gpu:h100:2" */
    char *cpus_per_gpu, *mib_per_gpu;                 /* "gres:gpu:4" */
    char *cwd, *output;                               /* output: without patterns */
    char *dependency;                                 /* "afterok:8(unfulfilled)" */
    char *tasks;                                      /* of an array that was not split: "0-9%2" */
    uint32_t array, task;                             /* array: its number; 0: none */
    uint32_t uid, gid;
    uint32_t node_count, task_count, cpu_count, limit_min; /* limit_min: 0: none */
    int64_t memory_mib;                                    /* 0: not stated */
    int64_t begins_at;                                     /* seconds since 1970; 0: at once */
    bool is_memory_per_cpu, is_exclusive, is_component;
};

#define SLURM_NO_TASK UINT32_MAX

struct slurm_job {
    uint32_t id, uid;
    uint32_t array, task; /* array: its number, 0: none; task: SLURM_NO_TASK: several or none */
    uint32_t array_most;  /* so many tasks of the array may run at a time; 0: all, or not known */
    char *name;           /* NULL: it is over */
    char *comment;
    enum slurm_phase phase;
    enum slurm_end end; /* if it is over */
    bool has_run, is_completing;
    bool is_booting;             /* it has its nodes, and Slurm starts these */
    int64_t started_at, ends_at; /* seconds since 1970, ends_at by its time limit; 0: not known */
    int status;                  /* as of wait(2) */
    const char *reason; /* why it was taken away, or if it waits, why it can never start; static */
    const char *waits;  /* if it waits: Slurm's word for the reason; static */
    bool is_held;       /* it waits until it is released */
    struct slurm_wish *wish; /* if it waits and has no mark of tarn */
    uint32_t limit_min;      /* UINT32_MAX: not known, or none */
    uint32_t restarts;
    int64_t memory_mib;            /* of each node; 0: not known */
    LIST(struct slurm_part) parts; /* unless it is over */
};

struct slurm_jobs {
    LIST(struct slurm_job) all;
};

struct slurm_node {
    char *name, *gres, *features, *reason;
    char *address;      /* by which other nodes reach it */
    char *rack, *block; /* NULL: not known (slurm_topology.h) */
    int64_t cpu_milli, memory_mib;
    bool is_down, is_drained;
    bool is_silent;  /* not heard of yet, or just now; Slurm takes it down if that lasts */
    bool is_closed;  /* by a reservation, or by the state of the partition */
    bool is_outside; /* of the partition */
};

struct slurm_nodes {
    LIST(struct slurm_node) all;
};

/* Nodes of a job that get the same. */
struct slurm_component {
    char *nodes;                                    /* "n1,n2": exactly these; NULL: any */
    char *excluded_nodes;                           /* NULL: none */
    char *gres;                                     /* of each node: "gpu:h100:2"; NULL: none */
    uint32_t node_count, task_count, cpus_per_task; /* 0: the site's default */
    int64_t memory_mib;                             /* of each node; 0: the default */
};

/* A job to submit; heterogeneous if it has several components. The strings are its own. */
struct slurm_order {
    char *name, *comment, *partition, *account;  /* partition, account: NULL: the default */
    char *script, *cwd, *output, *error, *input; /* error: NULL: same as output */
    LIST(struct slurm_component) components;
    char **env;
    uint32_t env_count;
    uint32_t limit_min; /* 0: the default */
    bool append;
    char *adopted; /* "4711_3": release this job to the nodes of the component; NULL: a new job */
    bool is_whole; /* whole nodes: all of their CPUs and memory */
    uint32_t uid, gid;
};

int slurm_api_open(struct error *err);
/* 1: changed since *since, 0: not changed. since: 0 gets all. Fails with -EAGAIN. */
int slurm_api_jobs(int64_t *since, struct slurm_jobs *ret, struct error *err);
/* All nodes, with a partition; "": the default partition. Fails with -EAGAIN (no answer) or -ENOENT
 * (no such partition). */
int slurm_api_nodes(const char *partition, struct slurm_nodes *ret, struct error *err);
/* Fails with -EAGAIN: there was no answer, so it may have been submitted. All other codes: Slurm
 * refused it; -ESRCH: an adopted job waits no longer; -ENODEV: there is no such partition; -EACCES:
 * the account does not exist, or the user may not use it. ret_id: 0: not known, of an adopted job.
 */
int slurm_api_submit(const struct slurm_order *order, uint32_t *ret_id, struct error *err);
/* Hold a job that waits, which need not be held before. Fails with -EAGAIN, -ESRCH or -EINVAL. */
int slurm_api_hold(const char *job, const char *comment, struct error *err);
/* Drain a node for this reason, or with NULL end a drain with this mark, which begins its reason in
 * Slurm. A node that others drained stays as it is. Fails with -EAGAIN, or -EINVAL (Slurm refuses
 * it). */
int slurm_api_drain(const char *node, const char *mark, const char *reason, struct error *err);
int slurm_api_cancel(const char *job, struct error *err);
/* SIGKILL cancels the job. has_steps: signal its steps only, not the batch script. Fails with
 * -EAGAIN (no answer) or -ESRCH (it does not run). */
int slurm_api_signal(uint32_t id, int signal, bool has_steps, struct error *err);

static inline const struct slurm_node *slurm_nodes_find(const struct slurm_nodes *nodes,
                                                        const char *name)
{
    LIST_EACH (const struct slurm_node, node, &nodes->all) {
        if (strcmp(node->name, name) == 0)
            return node;
    }
    return NULL;
}

void slurm_jobs_release(struct slurm_jobs *jobs);
void slurm_nodes_release(struct slurm_nodes *nodes);

#endif
