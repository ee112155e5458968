/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_ALLOCATION_H
#define ENGINE_SLURM_ALLOCATION_H

/* allocation - the Slurm jobs by which the daemon holds nodes (slurm: mode: allocation)
 *
 * Each is a batch job on one whole node whose process is the relay (relay_main.c). Its comment is
 *
 *   tarn=INSTANCE allocation=SERIAL
 *
 * so that it is found again after any crash. Nodes are requested when waiting jobs need them and up
 * to the configured minimum, never above the maximum; given back when they were idle for the
 * configured time; and replaced before their time limit.
 *
 * The table knows allocations and their phases; the engine (allocation_engine.c) has the members
 * and the connections.
 */

#include "base/mem.h"
#include "core/engine.h"
#include "engine/slurm/slurm_worker.h"

struct relay_link;

struct allocation {
    uint64_t serial;
    uint32_t id; /* of the Slurm job; 0: not known yet */
    char *node;  /* that it is on, or that it must be on; NULL: not known yet */
    char *kind;  /* the kind of node that it was requested for; NULL: any */
    enum slurm_phase phase;
    const char *waits; /* Slurm's word for why it waits; NULL: none */
    bool is_barred;    /* Slurm refused it because of the configuration; the worker repeats it */
    bool is_completing;
    int64_t started_at, ends_at; /* seconds since 1970; 0: not known */
    bool is_successor;           /* of one that ends soon */
    bool is_leaving;             /* before its time limit: no new jobs */
    uint64_t given_back_at;      /* uv_now(); 0: it is kept */
    bool is_cancelled;           /* by us */
    uint64_t over_at;            /* uv_now(); 0: not over */
    char reason[120];            /* why it is over */
    uint32_t busy;               /* members that it has */
    uint64_t idle_since;         /* uv_now(); 0: it has members */
    struct relay_link *link;     /* NULL: no connection */
    bool is_ready;               /* the relay has reported its members */
    uint64_t requested_at;       /* uv_now(); 0: before this daemon started */
    uint64_t first_ready_at;     /* uv_now(); 0: never yet */
    uint64_t retry_at, retry_ms; /* of the connection */
};

struct allocations {
    LIST(struct allocation *) all;
    const struct watch_rules *rules;
    struct slurm_worker *worker;
    const char *instance;
    char *folder;                  /* STATE/slurm: relay, shim and logs */
    uint64_t refused_at;           /* uv_now(); the last request that came to nothing; 0: none */
    uint64_t pause_ms;             /* since then */
    char refusal[ERROR_TEXT_SIZE]; /* why */
    bool has_listing;              /* which allocations there are is known */
};

/* One of this instance; ret_serial: its serial. */
bool allocation_mark_read(const char *instance, const char *comment, uint64_t *ret_serial);

struct allocation *allocations_find(const struct allocations *allocations, uint64_t serial);
/* One that has a node by this name and is not over, or NULL. */
struct allocation *allocations_on(const struct allocations *allocations, const char *node);
/* From a listing of all Slurm jobs, at the time now. True: something changed. */
bool allocations_note(struct allocations *allocations, const struct slurm_jobs *jobs, uint64_t now);
void allocations_refused(struct allocations *allocations, uint64_t serial, const char *words,
                         uint64_t now);
void allocation_remove(struct allocations *allocations, struct allocation *allocation);

/* How many more nodes may be requested. */
uint32_t allocations_left(const struct allocations *allocations);

/* The kind of a node: nodes of a kind can stand in for each other. */
char *allocation_kind(const struct slurm_node *node);

/* Request, renew and give back. wanted: for each kind of nodes, how many more are needed. True: a
 * node changed. */
struct allocation_wish {
    char *kind;
    uint32_t count;
};
typedef LIST(struct allocation_wish) allocation_wishes;
bool allocations_tend(struct allocations *allocations, const struct slurm_nodes *nodes,
                      const allocation_wishes *wishes, uint64_t now);

#endif
