/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_H
#define CORE_ENGINE_H

/* engine - the port to the engine that runs granted jobs
 *
 * An engine makes no scheduling decisions. tarn asks it to start the members of an attempt of a job
 * on the nodes and devices that the scheduler chose. The engine reports the outcomes of each
 * member: STARTED exactly once per (job, attempt, rank), and the end exactly once, even if the
 * daemon or a helper of the engine was killed in between. Reports come from the event loop, never
 * from inside an operation.
 *
 * An engine may have several nodes. It reports which nodes and devices exist, the memory that
 * foreign processes use on them, and readings. An engine that chooses devices itself reports its
 * choice. It also reports jobs that were submitted to it directly: tarn answers each of them, and
 * starts it like any other job. engine_abilities states what an engine can do.
 *
 * Order of calls:  create (of the module), recover, then start, stop, signal, enter, forget and
 *                  answer in any order, destroy
 * Owner:           the caller owns the strings of a launch, which are copied
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"
#include "core/health/reading.h"
#include "core/health/watch_rules.h"
#include "core/probe.h"

#define ENGINE_CLUSTER "tarn" /* the name of the cluster, for programs that expect Slurm's */

/* The parts of a member that clients may connect to through enter(). */
enum engine_attach { ENGINE_ATTACH_NONE, ENGINE_ATTACH_STDIN, ENGINE_ATTACH_TERMINAL };

/* How strictly the limit of a resource is enforced. */
enum isolation {
    ISOLATION_ACCOUNTED, /* tracked at allocation, not enforced */
    ISOLATION_WATCHED,   /* measured; a job that exceeds it is reported or stopped afterwards */
    ISOLATION_ISOLATED,  /* the kernel or the device enforces it */
};

/* The isolation of one started member. */
struct engine_isolation {
    enum isolation processes; /* isolated: no process outlives the member */
    enum isolation cpu;
    enum isolation memory;
    enum isolation gpu;
};

/* Labels of the devices that an engine with has_parts can share: the number of equal parts of each
 * of them, "gres.shard=4". Shares by MPS need the second one, which serves other shares, too. A MIG
 * instance is then a device, whose model is its profile or ends with it. */
#define ENGINE_LABEL_PARTS "gres.shard"
#define ENGINE_LABEL_MPS   "gres.mps"

/* What an engine can do. */
struct engine_abilities {
    struct engine_isolation isolation; /* of a member that requests everything */
    bool can_fence;                    /* it can deny device files to a member */
    bool has_exact_devices; /* a member gets the devices that tarn chose; else see assigned() */
    bool has_fractions;     /* shares of a device, MPS and MIG instances */
    bool has_parts;         /* it shares only devices with the labels below, for single members */
    bool has_mps;           /* of its own nodes: it starts MPS servers for shares */
    bool starts_whole;      /* members of an attempt start and stop only together */
    bool has_own_nodes;     /* it reports the nodes; else the daemon's machine is the only node */
    bool has_output;        /* the daemon can read the output paths of launches */
    bool has_readings;      /* it reports readings of its devices */
    bool can_warn;          /* it sends the signal of a warning */
    uint32_t on_call_most;  /* how many nodes on call it may bring up now; see want() */
};

/* Identifies a member of an attempt, and everything that is started for it. */
struct member_id {
    uint64_t job;
    uint32_t attempt; /* from 1 */
    uint32_t rank;    /* from 0 */
};

/* Some members of one attempt, by rank. */
struct engine_attempt {
    uint64_t job;
    uint32_t attempt;
    const uint32_t *ranks;
    uint32_t count;
};

/* A device file. */
struct engine_device {
    uint32_t major, minor;
};

/* A soft limit of resources, RLIMIT_...; -1: none. */
struct engine_limit {
    int resource;
    int64_t soft;
};

/* A part of a device that a member holds. */
struct engine_slice {
    const char *uuid;  /* of the device */
    const char *model; /* "h100" */
    uint32_t index;    /* on its node */
    uint32_t milli;    /* 1000: all of it */
    int64_t memory_mib;
    bool is_mps; /* its share is to be enforced by MPS */
};

/* One member: its node, and what it runs. */
/* A signal some time before the time limit. */
enum engine_warned {
    ENGINE_WARN_ALL,   /* processes that catch it */
    ENGINE_WARN_SHELL, /* the first process */
    ENGINE_WARN_STEPS, /* the tasks that srun has started */
};

struct engine_warning {
    int signal; /* 0: no warning */
    enum engine_warned to;
    usec_t after; /* the start */
};

struct engine_launch {
    struct member_id id;
    const char *node; /* where it runs */
    const struct engine_slice *slices;
    uint32_t slices_count;
    const char *external;      /* name of the arrival to release; NULL: submitted to tarn */
    const char *title;         /* for process listings: the job's name */
    const char *queue;         /* of the job */
    usec_t duration_max;       /* tarn stops it then; USEC_NEVER: no limit */
    const char *const *argv;   /* NULL-terminated, argv[0] is searched in PATH of envp */
    const char *const *envp;   /* NULL-terminated "NAME=value", complete */
    const char *cwd;           /* absolute */
    const char *output;        /* absolute path for standard output */
    const char *error;         /* absolute path for standard error, or NULL: same as output */
    const char *input;         /* absolute path, or NULL: /dev/null */
    enum engine_attach attach; /* only without input */
    bool append;               /* keep what is in output and error */
    int64_t output_bytes_max;  /* output is rotated to PATH.1 above this size; 0: no limit */
    uint32_t umask;
    const struct engine_limit *limits; /* as far as hard limits permit; others stay */
    uint32_t limit_count;
    uint32_t uid, gid;      /* user that it runs as; ignored unless the engine is root */
    const uint32_t *groups; /* all groups of that user; NULL: only gid */
    uint32_t group_count;
    usec_t grace;    /* between SIGTERM and SIGKILL */
    int stop_signal; /* instead of SIGTERM, for processes that catch it; 0: none */
    struct engine_warning warning;
    int64_t cpu_milli;   /* limit to enforce where possible; 0: none */
    int64_t memory_mib;  /* the same for memory */
    const char *cpus;    /* the CPUs that it runs on, "0-3,8-11"; NULL: any */
    int64_t memory_node; /* with cpus: allocates memory on this NUMA node first; -1: any */
    /* Device files of other jobs, which are denied to it if possible. */
    const struct engine_device *denied;
    uint32_t denied_count;
    bool is_fenced; /* `denied` has all other devices, so denying them isolates its GPUs */
};

enum engine_outcome_kind {
    ENGINE_STARTED, /* exec succeeded */
    ENGINE_ENDED,   /* it ran and ended; exit_code, signal, ... are set */
    ENGINE_FAILED,  /* it failed before exec; see reason */
    ENGINE_LOST,    /* its supervisor died with it, or its node restarted or disappeared */
    /* Nothing of the attempt was started, because its place is not one any more, or because the
     * machine lacks processes, descriptors, memory or disk for now: the job is placed again, and is
     * not charged for it. All of its members that do not run. */
    ENGINE_RETURNED,
};

struct engine_outcome {
    struct member_id id;
    enum engine_outcome_kind kind;
    int exit_code;    /* -1: a signal ended it */
    int signal;       /* 0: it exited */
    bool was_stopped; /* tarn stopped it */
    bool was_oom;     /* the kernel killed a process at the memory limit */
    bool was_killed;  /* it was killed after the grace period */
    int64_t user_us, system_us;
    int64_t memory_kib_max;            /* largest resident set; 0: not known */
    struct engine_isolation isolation; /* set with STARTED */
    char reason[160];                  /* for FAILED, LOST, RETURNED: "no such file: /bin/nope" */
};

/* What an engine says of a device beside what probe_device has. */
struct engine_device_note {
    const char *labels; /* comma-separated, of this device alone; "": none */
    const char *kind;   /* "tpu", "nic" ...; "": a GPU */
};

/* A node as an engine reports it. cpu_milli and memory_mib exclude what others use of it. */
struct engine_node {
    const char *name;
    const char *rack, *block; /* "": not known */
    const char *boot;         /* boot ID of the node; "": not known */
    const char *reason;       /* with is_down or is_drained */
    const char *labels;       /* comma-separated; they hold for its devices, too; NULL: none */
    int64_t cpu_milli, memory_mib;
    bool is_down, is_drained;
    bool is_on_call; /* with is_down: the engine can bring it up; see want() */
    const struct probe_device *devices;
    const int64_t *foreign_mib; /* memory of foreign processes, for each device; NULL: none */
    const struct engine_device_note *notes; /* for each device; NULL: none */
    uint32_t device_count;
};

/* How many nodes like this one, which is on call, are needed. */
struct engine_want {
    const char *node;
    uint32_t count;
};

/* A job that was submitted to the engine directly. */
struct engine_arrival {
    const char *name;     /* permanent and unique: "slurm/4711" */
    const char *document; /* the job as JSON, as for POST /v1/jobs; one job, no schedule */
    const char *user;     /* name of its user; NULL: that of the uid on the daemon's machine */
    const char *account;  /* its queue, if there is one with this name and the document has none */
    uint32_t uid, gid;
};

/* What became of an arrival. */
enum engine_fate {
    ENGINE_WAITS,     /* tarn has not started it yet */
    ENGINE_LACKS,     /* the same, because its nodes have no room: another node would help */
    ENGINE_CANCELLED, /* it must not run, or not again */
    ENGINE_DONE,      /* it ran and ended by itself */
};

/* What is shown of an arrival, in objects of the engine that mirror it. */
struct engine_view {
    const char *name; /* of the arrival */
    uint64_t job;
    const char *state; /* "waits", "runs", "stops"; NULL: it is over */
    const char *queue;
    const char *reason; /* why it waits; "": it does not */
    const char *start;  /* when it is expected to start, as RFC 3339 to the minute; "": not known */
    int64_t milli;      /* GPUs that it requests or has */
};

/* What is shown of a queue. Amounts are milli-GPUs of it and all below it; -1: none is set. */
struct engine_queue {
    const char *name;
    int64_t guarantee, limit, used;
    uint32_t waiting, running; /* jobs of the queue itself */
};

/* What a node reports about one of its devices, once a second or every few seconds. */
struct engine_reading {
    const char *uuid;
    const struct reading *reading; /* the last one; `at` is a time of sampler_now(). NULL: the node
                                      does not answer, and nothing is known now */
    int code;             /* why the device could not be read (as of probe_ops.sample), or 0 */
    const char *trouble;  /* with code: the message */
    const uint32_t *xids; /* XIDs since the last report */
    uint32_t xid_count;
};

/* The reports of an engine; they are copied before the call returns. While the daemon's disk is
 * full, reports about nodes are dropped. Therefore an engine with its own nodes must report all of
 * them at least once a minute. */
struct engine_reports {
    void *user;
    void (*outcome)(void *user, const struct engine_outcome *outcome);
    /* A node exists or has changed (NULL: none). is_last: all nodes have been reported since the
     * engine was created, so any other known node has disappeared. */
    void (*node)(void *user, const struct engine_node *node, bool is_last);
    void (*reading)(void *user, const struct engine_reading *reading);
    /* The devices of its node that a member got; after start(), if the engine does not have exact
     * devices. The leases are changed accordingly. */
    void (*assigned)(void *user, struct member_id id, const char *const *uuids, uint32_t count);
    /* The job of an attempt was removed from the engine by its user or an administrator: cancel it.
     * Its outcome follows. */
    void (*cancelled)(void *user, uint64_t job, const char *reason);
    /* An administrator changed the time after which the engine ends an attempt: tarn's own limit
     * becomes this. */
    void (*limited)(void *user, uint64_t job, usec_t duration_max);
    /* A job waits for tarn. tarn calls answer(); without an answer, report the job again. */
    void (*arrived)(void *user, const struct engine_arrival *arrival);
    /* Cancel an arrival: its user or an administrator removed it from the engine. */
    void (*withdrawn)(void *user, const char *name, const char *reason);
};

struct engine;

struct engine_ops {
    const char *name;
    /* Start members of one attempt. Fails only if no member was started and none will be. If only
     * some members cannot be started, these end as FAILED. A member that already exists (its
     * supervisor was found again, or its end is on disk) is not started again; its outcomes are
     * reported. */
    int (*start)(struct engine *engine, const struct engine_launch *members, uint32_t count,
                 struct error *err);
    /* SIGTERM (or the launch's stop_signal), and SIGKILL after grace; grace 0 kills at once.
     * Unknown members are ignored. */
    void (*stop)(struct engine *engine, const struct engine_attempt *attempt, usec_t grace);
    /* Send a signal to all processes of running members. NULL: not supported. */
    void (*signal)(struct engine *engine, const struct engine_attempt *attempt, int signal);
    /* After a restart: find members that should exist. was_started: a STARTED outcome was recorded
     * before; false: it may never have been started, and is then left for start(). ret_found: it
     * was found (running or ended), and outcomes will follow; false: there is no trace of it. */
    void (*recover)(struct engine *engine, const struct engine_attempt *attempt,
                    const bool *was_started, bool *ret_found);
    /* The ends of these members are recorded: delete the data that was kept for them, but not
     * the logs. */
    void (*forget)(struct engine *engine, const struct engine_attempt *attempt);
    /* The member that a process on the daemon's machine belongs to; false: none. ret_uid: the user
     * of the process, if only the process itself claims it; UINT32_MAX: the claim is certain. NULL:
     * the engine runs nothing on this machine. */
    bool (*owner)(struct engine *engine, uint32_t pid, struct member_id *ret, uint32_t *ret_uid);
    /* Connect to the supervisor of a running member, for a command beside it (shim/shim_order.h);
     * -ESRCH: it does not run. NULL: not supported. */
    int (*enter)(struct engine *engine, struct member_id id, int *ret_fd, struct error *err);
    /* The number that an arrival got in tarn; 0: it is refused, because of err; lacks_nodes: no
     * node could ever hold it, another one might. NULL: the engine reports no arrivals. */
    void (*answer)(struct engine *engine, const char *name, uint64_t job, const struct error *err,
                   bool lacks_nodes);
    /* What tarn says now about an arrival, for the listings of the engine: while it waits, once
     * soon after the answer and after each change; and at its end, because of words. After a
     * restart also for arrivals that this engine has not reported. NULL: not wanted. */
    void (*note)(struct engine *engine, const char *name, uint64_t job, const char *words,
                 enum engine_fate fate);
    /* What tarn knows of an arrival, at each change; after a restart of all. False: not now, it is
     * shown again later. NULL view: all of them were shown once. And of all queues, every few
     * seconds. NULL: the engine shows nothing. */
    bool (*show)(struct engine *engine, const struct engine_view *view);
    void (*show_queues)(struct engine *engine, const struct engine_queue *queues, size_t count);
    /* Why the engine has not started this attempt yet, or cannot do what is asked of it; attempt 0:
     * for a job that was not granted. NULL: there is no reason; valid until the next turn of the
     * loop. The operation is NULL: there is never one. */
    const char *(*trouble)(struct engine *engine, uint64_t job, uint32_t attempt);
    /* The words with what the engine's own labels in them stand for; new. NULL: it has none. */
    char *(*spell)(struct engine *engine, const char *words);
    /* How many nodes on call the waiting jobs need now, repeated every second. Replaces what was
     * said before; without wants, none is needed. NULL: no node is ever on call. */
    void (*want)(struct engine *engine, const struct engine_want *wants, uint32_t count);
    /* A device of a node is faulty, because of this reason, or none is any more (NULL). Told at a
     * change, and for faulty nodes after a restart. NULL: not wanted. */
    void (*faulty)(struct engine *engine, const char *node, const char *reason);
    void (*destroy)(struct engine *engine);
};

struct engine {
    const struct engine_ops *ops;
    struct engine_abilities abilities;
};

/* The options for every engine. */
struct engine_options {
    struct uv_loop_s *loop;
    const struct watch_rules *rules; /* current settings; only for the thread of the loop */
    /* for create() alone: the settings that will be in force after the start, those of --config */
    const struct watch_rules *at_start;
    const char *state_dir; /* absolute; must exist */
    struct engine_reports reports;
};

/* A module exports this as tarn_engine_module. The version changes with this header. */
enum { ENGINE_MODULE_VERSION = 18 };

struct engine_module {
    uint32_t version;
    int (*create)(const struct engine_options *options, struct engine **ret, struct error *err);
};

#endif
