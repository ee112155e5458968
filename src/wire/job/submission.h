/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SUBMISSION_H
#define WIRE_JOB_SUBMISSION_H

/* submission - a job or pipeline document as checked structs
 *
 * The document is what POST /v1/jobs takes as JSON and what `tarn run -f` reads as YAML: the same
 * values in two spellings. It is one job (it has run, command or script) or a pipeline (it has
 * stages). Nothing is looked up here: whether a queue, a pool or a needed job exists, what the
 * clock says and which user sent it is left to the caller. What this version does not act on is
 * accepted and named in notes.
 *
 * Owner:       the caller of submission_parse owns the submission; it points into nothing else
 * On failure:  "SOURCE:LINE: stage NAME: words"; no ret_ parameter was written
 * Limits:      below
 * Spec:        doc/spec/04-jobfile.md
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/units.h"
#include "core/job/job.h"
#include "core/job/need.h"
#include "core/job/own_speed.h"
#include "core/job/request.h"
#include "core/job/role.h"
#include "wire/yaml.h"

enum {
    SUBMISSION_NAME_MAX = 63, /* of stages, queues, outputs ... */
    SUBMISSION_JOB_NAME_MAX = 255,
    SUBMISSION_STAGES_MAX = 256, /* of a pipeline */
    SUBMISSION_JOBS_MAX = 10000, /* of a document, each combination and array index one */
    SUBMISSION_ARRAY_INDEX_MAX = 4000000,
    SUBMISSION_ARGUMENTS_MAX = 1 << 20, /* bytes of a job's arguments and environment */
    SUBMISSION_STRING_MAX = 131071,     /* one of them: what Linux can pass to a program */
    SUBMISSION_SCRIPT_MAX = 1 << 20,    /* bytes of a script */
    SUBMISSION_RETRY_MAX = 100,
    SUBMISSION_HEALS = 3, /* unless it says more */
    SUBMISSION_HEALS_MAX = 1000,
    SUBMISSION_PRIORITY_MAX = 1000, /* and as far below 0 */
    SUBMISSION_DEPENDS_MAX = 1000,
    SUBMISSION_PATH_MAX = 4095,
};

struct sender;

/* Of an array: all tasks, one of them, or for each task of the new array that of its index. */
enum depend_of { DEPEND_ALL, DEPEND_TASK, DEPEND_OWN_TASK };

struct draft_depend {
    uint64_t on; /* a job that was submitted earlier */
    enum need_kind when;
    enum depend_of of;
    uint32_t task;   /* index, of DEPEND_TASK */
    uint64_t *tasks; /* what each task of the new array waits for; filled in at the submission */
};

/* What the members of a role run. */
struct draft_role {
    char **argv; /* NULL-terminated; NULL: what the job runs */
    char **env;  /* NULL-terminated "NAME=value": over the job's */
};

/* One job: one combination of its stage's matrix, all indices of its array. */
enum { NOTIFY_BEGIN = 1, NOTIFY_END = 2, NOTIFY_FAIL = 4, NOTIFY_REQUEUE = 8 };

struct job_draft {
    char *name;        /* given, or made from the command */
    char *combination; /* "lr=0.1 seed=1", NULL without a matrix */
    char *directory;   /* "lr=0.1,seed=1": its name below TARN_IN; NULL without a matrix */
    struct request request;
    struct role *roles; /* of the request */
    where_list where;   /* the same */
    own_speed_list speeds;
    struct draft_role *role_starts;
    uint32_t role_count;
    char *queue;                /* NULL: the sender's own */
    char *pools;                /* "a,b", then without a pool of the request; NULL */
    char *qos;                  /* NULL */
    bool exclusive, all_memory; /* all CPUs and devices, all memory of a node */
    int32_t priority;
    uint32_t retry;
    bool hold;
    bool requeue; /* tried again after it was lost, while retry allows; true unless it says no */
    bool append;
    uint8_t attach;     /* enum engine_attach */
    usec_t begin_delay; /* from now; 0: at once */
    char *
        begin_at; /* "HH:MM[:SS]", "YYYY-MM-DD[THH:MM[:SS]]", for a caller that has a clock; NULL */
    usec_t estimate;       /* how long it will run, as its user says; 0: unknown */
    usec_t deadline_delay; /* from now; 0: none, or deadline_at */
    char *deadline_at;     /* as begin_at */
    uint16_t oom_factor;   /* of its memory after it ran out of it, in thousandths; 0: none */
    uint16_t tariff_most;  /* waits for hours with at most this factor, plus one; 0: any */
    usec_t restart_cost;   /* run time that a stop and new start costs */
    bool preemptible;
    bool gives_preemptible, gives_spot, gives_duration; /* the document has the key */
    bool gives_oom;
    enum resize resize;      /* of an elastic gang */
    bool goes_on;            /* an elastic gang: without a lost member */
    uint32_t heals;          /* how often the gang is healed after it lost a member */
    usec_t checkpoint_every; /* it saves its work so often; 0: when it is stopped */
    usec_t checkpoint_takes; /* what saving costs it; 0: it does not say */
    bool checkpoint_auto;    /* as often as it pays */
    uint32_t tasks;          /* that srun starts in it; 0: it is no batch script of Slurm's */
    uint32_t task_gpus;      /* GPUs of each of them alone; 0: all see all */
    uint8_t stop_signal;     /* that it catches to save its work; 0: SIGTERM */
    uint8_t warn_signal;     /* before its time limit; 0: none */
    uint8_t warn_to;         /* enum engine_warned */
    usec_t warn_before;      /* the limit */
    usec_t grace;            /* between SIGTERM and SIGKILL; -1: the daemon's default */
    char **argv;             /* NULL-terminated */
    char *script;            /* text to write to a file; its path goes to argv[script_at]; NULL */
    size_t script_at;
    char *script_path; /* the file that the script was read from, as its user sees it; NULL */
    char **env;        /* NULL-terminated "NAME=value": the sender's and its own, each name once */
    char **own;        /* names of those that the document sets; NULL: none */
    char **slurm;      /* "SLURM_NAME=value" of what Slurm's options request; NULL: it has none */
    const struct sender *sender; /* of the submission */
    char *cwd;                   /* absolute, or NULL: the daemon's choice */
    char *output, *error,
        *input;                 /* patterns (wire/job/pattern.h), relative to cwd; NULL: default */
    uint32_t *array_indices;    /* ascending */
    uint32_t array_count;       /* 0: not an array */
    uint32_t array_max_running; /* 0: all */
    struct draft_depend *depends;
    size_t depend_count;
    bool singleton; /* after those of the sender's jobs of its name that were submitted before */
    char **inputs;  /* NULL-terminated names, never NULL themselves */
    char **outputs;
    char *comment;  /* NULL */
    char *mail;     /* addresses with commas between; NULL: those that the owner has */
    uint8_t notify; /* of NOTIFY_...: when there is a message */
};

struct stage_draft {
    char *name; /* the job's when the document is no pipeline */
    struct job_draft *jobs;
    size_t job_count;
    uint32_t *needs; /* indexes of stages, all smaller than its own */
    size_t need_count;
    uint32_t *input_stages; /* for each input, the stage it comes from */
    bool always;            /* runs after what it needs, however that ended */
};

/* A needed stage stands before those that need it; apart from that they keep the file's order. */
struct submission {
    char *name;
    bool is_pipeline;
    char *schedule;             /* submitted at each such time: five fields of cron; NULL: now */
    struct stage_draft *stages; /* exactly one, with one or more jobs, when it is no pipeline */
    size_t stage_count;
    size_t job_count; /* jobs of all stages, array indices counted */
    struct sender *sender;
    char **notes; /* NULL-terminated: what was accepted but is not acted on, for the reply */
};

/* lines may be NULL (JSON); source may be NULL (no place in errors). */
int submission_parse(const json_t *document, const struct yaml_lines *lines, const char *source,
                     struct submission **ret, struct error *err);
void submission_destroy(struct submission *submission); /* NULL is fine */
DEFINE_AUTO(submission)

/* Add to notes. */
void submission_note(struct submission *submission, const char *words);

/* "low", "normal", "high" or a number within the limits. */
/* "x1.5" or "1.5": a factor of memory, 1.1 to 10, in thousandths. */
bool oom_factor_parse(const char *text, uint16_t *ret);

int priority_parse(const char *text, int32_t *ret, struct error *err);

#endif
