/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_EXPERIMENT_H
#define SIM_RUN_EXPERIMENT_H

/* experiment - the parsed experiment file
 *
 * One document defines one experiment, or one per variant. Policy, pools and queues are as in a
 * configuration (wire/config/config.h).
 *
 * On failure:  "FILE:LINE: WHERE: KEY: words"
 * Limits:      EXPERIMENT_SEEDS_MAX seeds, EXPERIMENT_SLICES_MAX slices, EXPERIMENT_VARIANTS_MAX
 * Spec:        doc/spec/07-experiment.md
 */

#include <jansson.h>

#include "sim/report/metric.h"
#include "sim/trace/cluster.h"
#include "sim/trace/format.h"
#include "wire/config/config.h"

enum {
    EXPERIMENT_SEEDS_MAX = 1000,
    EXPERIMENT_SLICES_MAX = 1000,
    EXPERIMENT_VARIANTS_MAX = 64,
    EXPERIMENT_TEAMS_MAX = 64,
    EXPERIMENT_BYTES_MAX = 4 << 20,
};

enum estimates {
    ESTIMATES_REQUEST,
    ESTIMATES_ORACLE,
    ESTIMATES_PREDICTED,
    ESTIMATES_DOUBLE,
    ESTIMATES_NONE,
    ESTIMATES_BY_MODEL,
};
enum queue_column { QUEUES_NONE, QUEUES_USER, QUEUES_GROUP, QUEUES_QUEUE, QUEUES_PARTITION };

struct speed {
    const char *model; /* in the document */
    const char *kind;  /* only of jobs of this group of the trace; NULL: of all others */
    double factor;
};

/* Transformations of the jobs of the trace before the run. */
struct adapt {
    bool shuffle;
    double inflate;    /* requested GPUs, as a part of the cluster; 0: as in the trace */
    bool departures;   /* false: no job ever ends */
    double load;       /* offered load of random arrivals; 0: arrivals as in the trace */
    uint32_t count;    /* jobs to take (with load: to draw); 0: all */
    usec_t run_max;    /* longer run times are cut; USEC_NEVER: none */
    double time_scale; /* factor on the times between arrivals */
    bool gpu_only;     /* leave out jobs without GPUs */
    uint32_t gpus_max; /* leave out jobs that request more in total; 0: none */
    uint32_t teams;    /* number of queues that users are assigned to; 0: none */
    uint32_t team;     /* only the jobs of this team, from 1; 0: all */
    enum estimates estimates;
    bool preemption;
    usec_t restart_cost;
    enum queue_column queues;
    uint32_t *slice_starts;
    size_t slice_count;
    uint32_t slice_length;
    LIST(struct speed) speeds;
};

struct experiment {
    char *name;    /* as stated, or the name of the file */
    char *variant; /* "": there are no variants */
    char *folder;  /* base of relative paths */
    json_t *document;
    struct cluster cluster;
    const struct format *format;
    char *path; /* of the workload; NULL: generated */
    struct generator generator;
    struct adapt adapt;
    struct config *config;
    double window_from, window_to; /* parts of the time of arrivals; to 0: until the run ends */
    bool is_dropping;              /* on_misfit: drop */
    bool is_recorded;              /* schedule: recorded */
    usec_t starts;                 /* wall time at time 0 of the workload */
    uint64_t *seeds;
    size_t seed_count;
    struct wanted wanted;
};

struct experiment_list {
    LIST(struct experiment *) items;
};

/* changes: "policy.order=fifo"; NULL-terminated, or NULL. */
int experiment_read(const char *path, char *const *changes, struct experiment_list *list,
                    struct error *err);
/* The same from text; error messages call it `source`. */
int experiment_parse(const char *text, size_t length, const char *source, const char *folder,
                     char *const *changes, struct experiment_list *list, struct error *err);
void experiment_list_release(struct experiment_list *list);
void experiment_destroy(struct experiment *experiment); /* NULL is fine */
DEFINE_AUTO(experiment)

/* In adapt.c, which reads its own part of the document. */
int adapt_read(const struct reader *reader, const json_t *object, struct adapt *adapt);
int generator_read(const struct reader *reader, const json_t *object, struct generator *generator);
extern const char *const adapt_keys[];

#endif
