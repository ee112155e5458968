/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_H
#define CORE_ENGINE_H

/* engine - the port behind which granted jobs run
 *
 * An engine takes no scheduling decision. It is asked to start one member of
 * one attempt of a job, and reports what became of it through on_outcome,
 * exactly once per (job, attempt, rank) for STARTED and exactly once for the
 * end, also when the daemon or the engine's own helpers were killed between.
 * Outcomes come from the event loop, never from inside start, stop or recover.
 *
 * Order of calls:  create (by each engine), recover once, (start | stop)*, destroy
 * Owner:           strings of a launch belong to the caller and are copied
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"

/* How truly a resource is kept to what was granted. */
enum isolation {
    ISOLATION_ACCOUNTED, /* counted when granted, nobody looks */
    ISOLATION_WATCHED,   /* measured; who takes more is reported or ended, after the fact */
    ISOLATION_ISOLATED,  /* the kernel or the device refuses more */
};

/* What holds for one member that was started. */
struct engine_isolation {
    enum isolation processes; /* nothing of it outlives it */
    enum isolation cpu;
    enum isolation memory;
    enum isolation gpu;
};

/* Which member of which attempt: the name of everything that is started. */
struct member_id {
    uint64_t job;
    uint32_t attempt; /* from 1 */
    uint32_t rank;    /* from 0 */
};

/* A device file. */
struct engine_device {
    uint32_t major, minor;
};

struct engine_launch {
    struct member_id id;
    const char *title;        /* for process listings: the job's name */
    const char *const *argv;  /* NULL-terminated, argv[0] is searched in PATH of envp */
    const char *const *envp;  /* NULL-terminated "NAME=value", complete */
    const char *cwd;          /* absolute */
    const char *output;       /* absolute path for standard output */
    const char *error;        /* absolute path for standard error, or NULL: same as output */
    const char *input;        /* absolute path, or NULL: /dev/null */
    bool append;              /* keep what is in output and error */
    int64_t output_bytes_max; /* then rotated to PATH.1; 0: no limit */
    uint32_t umask;
    uint32_t uid, gid;   /* who it runs as; ignored unless the engine is root */
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
    ENGINE_LOST,    /* its supervisor died and took it along, or the machine restarted */
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

struct engine;

typedef void engine_outcome_fn(void *user, const struct engine_outcome *outcome);

struct engine_ops {
    const char *name;
    /* Ask for a start. Fails only when nothing was and nothing will be started. Starting a
     * member that already exists (its supervisor was found again, or its end is on disk) gives
     * that one's outcomes and starts nothing. */
    int (*start)(struct engine *engine, const struct engine_launch *launch, struct error *err);
    /* SIGTERM (or the launch's stop_signal), and SIGKILL after grace; grace 0 kills at once.
     * Unknown members are ignored. */
    void (*stop)(struct engine *engine, struct member_id id, usec_t grace);
    /* After a restart: take up a member that should exist. was_started: a STARTED outcome was
     * recorded before; false: it may never have been started, and is then left for start().
     * Returns true when it was found (running or ended: outcomes will come), false when there is
     * no trace of it. */
    bool (*recover)(struct engine *engine, struct member_id id, bool was_started);
    /* The end of this job's attempt is recorded: what was kept for it may go. Logs stay. */
    void (*forget)(struct engine *engine, struct member_id id);
    /* Which member a process of this machine belongs to; false: to none. ret_uid: only the process
     * itself says so, and it is of this user; UINT32_MAX: it can't say anything else. */
    bool (*owner)(struct engine *engine, uint32_t pid, struct member_id *ret, uint32_t *ret_uid);
    void (*destroy)(struct engine *engine);
};

struct engine {
    const struct engine_ops *ops;
};

#endif
