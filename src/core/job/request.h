/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_REQUEST_H
#define CORE_JOB_REQUEST_H

/* request - what one member of a job wants, in the one grammar of tarn
 *
 *   GPUS  := ALT ('|' ALT)*                  alternatives, the first that fits is taken
 *   ALT   := ITEM (',' ITEM)*
 *   ITEM  := COUNT                           1  8            whole GPUs
 *          | FRACTION                        0.5             part of one GPU, compute and memory
 *          | MODEL [':' COUNT | FRACTION]    h100:2  a100  a100:0.5
 *          | SIZE '..' [SIZE] [':' COUNT]    24GB..80GB:2    GPUs with memory in the range
 *          | 'mem=' SIZE                     mem=20G         a share of one GPU by memory
 *          | 'mig=' PROFILE [':' COUNT]      mig=3g.40gb
 *          | 'mps=' PERCENT ['%']            mps=50%
 *          | 'kind=' KIND [':' AMOUNT]       kind=tpu:4      accelerators other than GPUs
 *          | 'nvlink'                                        the GPUs must be linked
 *
 * Kinds never mix: an item without a model and without a kind means GPUs.
 *
 * A request is a plain value: zeroed before it is filled, so that two equal requests are equal
 * byte for byte up to their roles, conditions and speeds, which are arrays owned by the request's
 * creator (classes are interned by this).
 *
 * Limits: REQUEST_ALTERNATIVES_MAX alternatives, REQUEST_GPUS_MAX devices a member,
 *         REQUEST_MEMBERS_MAX members
 * Spec:   doc/spec/03-request.md
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "core/job/where.h"

enum {
    REQUEST_ALTERNATIVES_MAX = 4,
    REQUEST_GPUS_MAX = 4096,
    REQUEST_MEMBERS_MAX = 4096,
    REQUEST_ROLES_MAX = 8,
    REQUEST_MODEL_SIZE = 32,
    REQUEST_PROFILE_SIZE = 16,
    REQUEST_KIND_SIZE = 16,
    REQUEST_NAME_SIZE = 64,
    REQUEST_LABELS_MAX = 4, /* of a job; and that it keeps apart from */
    REQUEST_LABEL_SIZE = 24,
    REQUEST_MIG_SLICES = 7, /* a whole GPU in MIG compute slices */
    GPU_MILLI = 1000,       /* one whole GPU */
};

typedef char request_model[REQUEST_MODEL_SIZE];

enum share_kind {
    SHARE_WHOLE,    /* the whole device, exclusively */
    SHARE_FRACTION, /* milli-GPU and MiB, both counted */
    SHARE_MIG,      /* one MIG instance of a profile */
    SHARE_MPS,      /* a fraction, enforced by CUDA MPS */
};

/* Whether it may run on spot nodes, which can be interrupted. */
enum spot_rule {
    SPOT_NEVER,
    SPOT_ALLOW,
    SPOT_PREFER, /* spot nodes first */
    SPOT_ONLY,
    SPOT_RULES,
};

struct role;
struct own_speed;

/* A label of a job, for anti-affinity. */
struct job_label {
    char name[REQUEST_LABEL_SIZE];
};

struct gpu_ask {
    char model[REQUEST_MODEL_SIZE];      /* lower case; "": any */
    char profile[REQUEST_PROFILE_SIZE];  /* MIG: "3g.40gb" */
    char accelerator[REQUEST_KIND_SIZE]; /* "tpu"; "": GPUs, or the kind of the model */
    int64_t size_mib_min;                /* the device's memory; 0: no limit */
    int64_t size_mib_max;                /* 0: no limit */
    int64_t memory_mib;                  /* the share's memory; 0: in proportion to milli */
    uint32_t milli;                      /* the share's compute; 0: in proportion to memory_mib */
    uint16_t count;                      /* devices (or instances) of each member */
    uint8_t kind;                        /* enum share_kind */
    uint8_t nvlink;                      /* bool */
};

struct request {
    struct gpu_ask gpus[REQUEST_ALTERNATIVES_MAX];
    int64_t cpu_milli;   /* of each member; 0 is allowed */
    int64_t memory_mib;  /* of each member; 0: not requested, not counted */
    usec_t max_duration; /* USEC_NEVER: no limit */
    uint32_t members;    /* of the gang; 1 for an ordinary job; the minimum of an elastic gang */
    uint32_t nodes_min;  /* the least number of nodes; 1 by default */
    uint32_t nodes_max;
    uint32_t gpu_alternatives;    /* how many of gpus are used; 0: no GPU */
    char pool[REQUEST_NAME_SIZE]; /* "": any that its queue may use */
    uint8_t cpu_given;            /* stated by the user: enforced, not only counted */
    uint8_t memory_given;
    uint8_t sizes;        /* enum request_sizes, of an elastic gang (gang_size.h) */
    uint8_t per_node;     /* of an elastic gang: each member has a node of its own */
    uint32_t members_max; /* the most it can use; 0: it is not elastic and has exactly members */
    uint8_t spot;         /* enum spot_rule */
    uint8_t work;         /* enum gpu_work (predict/speed.h): what it does with its GPUs */
    uint8_t padding[2];
    uint32_t label_count, apart_count;
    struct job_label labels[REQUEST_LABELS_MAX]; /* its own, without duplicates */
    struct job_label apart[REQUEST_LABELS_MAX];  /* it shares no node with jobs that have these */
    uint32_t roles_count;                        /* 0: all members are alike */
    const struct role *roles; /* of a gang with several kinds of members (role.h); else NULL */
    /* Conditions for the nodes and devices of all members (where.h), owned like the roles. */
    const struct where_term *where;
    const struct own_speed *speeds; /* by model (own_speed.h), owned like the roles */
    uint32_t where_count, speeds_count;
};

/* One member, one CPU, no GPU, no limit. */
void request_default(struct request *request);

/* Parse GPUS of the grammar; replaces what request asked for. "0" and "" ask for none. */
int request_parse_gpus(struct request *request, const char *gpus, struct error *err);

/* "tpu:4", "fpga", "tpu:4|fpga:1"; "gpu:2" is the same as 2 of the grammar. */
int request_parse_accelerator(struct request *request, const char *text, struct error *err);

/* Slurm's "gpu", "gpu:2", "gpu:h100:2" (--gres, also several with commas). */
int request_parse_gres(struct request *request, const char *gres, struct error *err);

/* The GPUs in the grammar above: "h100:2|a100:2"; "" for none. */
void request_format_gpus(const struct request *request, struct text *text);

/* For people: "4 gpus", "2 x h100", "0.5 gpu", "mem=20G". */
void request_describe(const struct request *request, struct text *text);

/* GPUs in milli that the given alternative takes for all members, for quota. A share given by
 * memory counts in proportion to reference_mib. */
int64_t request_milli(const struct request *request, uint32_t alternative, int64_t reference_mib);

/* The same for the alternative that takes least; a share by memory counts as almost nothing. */
int64_t request_least_milli(const struct request *request);

/* "never", "allow", "prefer", "only" */
const char *spot_rule_name(uint8_t rule);

/* Check that all parts are consistent (members against nodes, zero counts ...). */
int request_check(const struct request *request, struct error *err);

#endif
