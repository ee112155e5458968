/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_H
#define CORE_ENGINE_H

/* engine - the port behind which granted jobs run
 *
 * An engine takes no scheduling decision. tarn asks it to start the members of an attempt of a job
 * on the nodes and devices that the scheduler chose, and the engine reports what became of each
 * member: STARTED exactly once per (job, attempt, rank) and the end exactly once, also when the
 * daemon or a helper of the engine was killed in between. Reports come from the event loop, never
 * from inside an operation.
 *
 * An engine may know more than one node. It reports which nodes with which devices exist, the
 * memory that others use on them, and readings. An engine that chooses devices itself reports its
 * choice. Jobs that were submitted to it directly are reported, too: tarn answers each of them, and
 * starts it like any other job. What an engine can do is said by engine_abilities.
 *
 * Order of calls:  create (by each engine), recover, (start | stop | signal | enter | forget |
 * answer)*, destroy Owner:           strings of a launch belong to the caller and are copied
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"
#include "core/health/reading.h"
#include "core/probe.h"

/* What clients may connect to of a member, through enter(). */
enum engine_attach { ENGINE_ATTACH_NONE, ENGINE_ATTACH_STDIN, ENGINE_ATTACH_TERMINAL };

/* How strictly the grant of a resource is kept. */
enum isolation {
    ISOLATION_ACCOUNTED, /* tracked at allocation, not enforced */
    ISOLATION_WATCHED,   /* measured; a job that uses more is reported or stopped, after the fact */
    ISOLATION_ISOLATED,  /* the kernel or the device refuses more */
};

/* What holds for one member that was started. */
struct engine_isolation {
    enum isolation processes; /* nothing of it outlives it */
    enum isolation cpu;
    enum isolation memory;
    enum isolation gpu;
};

/* What an engine can do. */
struct engine_abilities {
    struct engine_isolation isolation; /* of a member that asks for everything */
    bool can_fence;                    /* keeps device files from a member */
    bool has_exact_devices; /* a member gets the devices that tarn chose; else: assigned() */
    bool has_fractions;     /* shares of a device, MPS and MIG instances */
    bool has_own_nodes; /* it says which nodes there are; else the daemon's machine is the one */
    bool has_output;    /* the daemon can read the output paths of launches */
    bool has_readings;  /* of its nodes' devices */
};

/* Which member of which attempt: the name of everything that is started. */
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

/* A part of a device that a member holds. */
struct engine_slice {
    const char *uuid;  /* of the device */
    const char *model; /* "h100" */
    uint32_t index;    /* on its node */
    uint32_t milli;    /* 1000: all of it */
    int64_t memory_mib;
};

/* One member: where it runs, and what. */
struct engine_launch {
    struct member_id id;
    const char *node; /* where it runs */
    const struct engine_slice *slices;
    uint32_t slices_count;
    const char *external;      /* arrival's name: release that job; NULL: a job of tarn */
    const char *title;         /* for process listings: the job's name */
    const char *const *argv;   /* NULL-terminated, argv[0] is searched in PATH of envp */
    const char *const *envp;   /* NULL-terminated "NAME=value", complete */
    const char *cwd;           /* absolute */
    const char *output;        /* absolute path for standard output */
    const char *error;         /* absolute path for standard error, or NULL: same as output */
    const char *input;         /* absolute path, or NULL: /dev/null */
    enum engine_attach attach; /* without input */
    bool append;               /* keep what is in output and error */
    int64_t output_bytes_max;  /* then rotated to PATH.1; 0: no limit */
    uint32_t umask;
    uint32_t uid, gid;      /* user that it runs as; ignored unless the engine is root */
    const uint32_t *groups; /* all groups of that user; NULL: gid alone */
    uint32_t group_count;
    usec_t grace;        /* between SIGTERM and SIGKILL */
    int stop_signal;     /* instead of SIGTERM, for processes that catch it; 0: none */
    int64_t cpu_milli;   /* limit to enforce where possible; 0: none */
    int64_t memory_mib;  /* the same */
    const char *cpus;    /* it runs on these, "0-3,8-11"; NULL: on any */
    int64_t memory_node; /* with cpus: its memory comes from this node first; -1: from any */
    /* Device files that belong to other jobs, to be kept from it where possible. */
    const struct engine_device *denied;
    uint32_t denied_count;
    bool is_fenced; /* those are all that there are: with them kept from it, its GPUs are its own */
};

enum engine_outcome_kind {
    ENGINE_STARTED, /* exec succeeded */
    ENGINE_ENDED,   /* it ran and ended; exit_code, signal, ... are set */
    ENGINE_FAILED,  /* it never came to exec; reason says why */
    ENGINE_LOST,    /* its supervisor died and took it along, or its node restarted or is gone */
};

struct engine_outcome {
    struct member_id id;
    enum engine_outcome_kind kind;
    int exit_code;    /* -1 when it was ended by a signal */
    int signal;       /* 0 when it exited */
    bool was_stopped; /* we asked for it */
    bool was_oom;     /* the kernel's memory limit killed in it */
    bool was_killed;  /* the grace period ran out */
    int64_t user_us, system_us;
    int64_t memory_kib_max;            /* largest resident set; 0: not known */
    struct engine_isolation isolation; /* set with STARTED */
    char reason[160];                  /* for FAILED and LOST: "no such file: /bin/nope" */
};

/* A node as an engine knows it. What others occupy of it is not in cpu_milli and memory_mib. */
struct engine_node {
    const char *name;
    const char *rack, *block; /* "" when not known */
    const char *boot;         /* which run of the machine this is; "" when not known */
    const char *reason;       /* with is_down or is_drained */
    int64_t cpu_milli, memory_mib;
    bool is_down, is_drained;
    const struct probe_device *devices;
    const int64_t *foreign_mib; /* memory that others use, a number a device; NULL: none */
    uint32_t device_count;
};

/* A job that was submitted to the engine directly. */
struct engine_arrival {
    const char *name;     /* permanent and unique: "slurm/4711" */
    const char *document; /* the job as JSON, as POST /v1/jobs takes it; one job, no schedule */
    const char *user;     /* name of its user */
    uint32_t uid, gid;
};

/* What an engine reports; copied before the call returns. While the daemon's disk is full what is
 * said of nodes is not taken: an engine with nodes of its own says all of them at least once a
 * minute. */
struct engine_reports {
    void *user;
    void (*outcome)(void *user, const struct engine_outcome *outcome);
    /* A node is there, or changed. is_last: all nodes were said since the engine was created, so
     * any other that is known is gone. */
    void (*node)(void *user, const struct engine_node *node, bool is_last);
    /* A device said this (reading.at is journal time's clock, sampler_now()). */
    void (*reading)(void *user, const char *uuid, const struct reading *reading);
    /* The devices that a member got, of those that its node has: after start(), if the engine has
     * no exact devices. The leases follow. */
    void (*assigned)(void *user, struct member_id id, const char *const *uuids, uint32_t count);
    /* It waits for tarn. Answered by answer(); one without an answer is reported again. */
    void (*arrived)(void *user, const struct engine_arrival *arrival);
    /* An arrival is to be cancelled: its user, or an administrator, removed it. */
    void (*withdrawn)(void *user, const char *name, const char *reason);
};

struct engine;

struct engine_ops {
    const char *name;
    /* Ask for a start of members of one attempt. Fails only when none was and none will be started.
     * A member that cannot be started while others of the call were ends as FAILED. A member that
     * already exists (its supervisor was found again, or its end is on disk) gives that one's
     * outcomes and is not started. */
    int (*start)(struct engine *engine, const struct engine_launch *members, uint32_t count,
                 struct error *err);
    /* SIGTERM (or the launch's stop_signal), and SIGKILL after grace; grace 0 kills at once.
     * Unknown members are ignored. */
    void (*stop)(struct engine *engine, const struct engine_attempt *attempt, usec_t grace);
    /* Send a signal to all processes of running members. NULL: it cannot. */
    void (*signal)(struct engine *engine, const struct engine_attempt *attempt, int signal);
    /* After a restart: take up members that should exist. was_started: a STARTED outcome was
     * recorded before; false: it may never have been started, and is then left for start().
     * ret_found: it was found (running or ended: outcomes will come); false: no trace of it. */
    void (*recover)(struct engine *engine, const struct engine_attempt *attempt,
                    const bool *was_started, bool *ret_found);
    /* The ends of these members are recorded: what was kept for them may go. Logs stay. */
    void (*forget)(struct engine *engine, const struct engine_attempt *attempt);
    /* Which member a process of the daemon's machine belongs to; false: to none. ret_uid: only the
     * process itself says so, and it is of this user; UINT32_MAX: it can't say anything else. NULL:
     * the engine runs nothing on this machine. */
    bool (*owner)(struct engine *engine, uint32_t pid, struct member_id *ret, uint32_t *ret_uid);
    /* A connection to the supervisor of a running member, for a command beside it
     * (shim/shim_order.h); -ESRCH: it does not run. NULL: it has none. */
    int (*enter)(struct engine *engine, struct member_id id, int *ret_fd, struct error *err);
    /* The number that an arrival has in tarn; 0: it is refused, because of err. NULL: the engine
     * reports no arrivals. */
    void (*answer)(struct engine *engine, const char *name, uint64_t job, const struct error *err);
    void (*destroy)(struct engine *engine);
};

struct engine {
    const struct engine_ops *ops;
    struct engine_abilities abilities;
};

/* What every engine is created with. */
struct engine_options {
    struct uv_loop_s *loop;
    const char *state_dir; /* absolute; must exist */
    struct engine_reports reports;
};

/* What a module exports as tarn_engine_module. The version changes with this header. */
enum { ENGINE_MODULE_VERSION = 5 };

struct engine_module {
    uint32_t version;
    int (*create)(const struct engine_options *options, struct engine **ret, struct error *err);
};

#endif
