/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_SHIM_ORDER_H
#define SHIM_SHIM_ORDER_H

/* shim_order - the order of the engine to one tarn-shim, and the records in reply
 *
 * An order is a memfd on ORDER_FD with NUL-terminated strings: keys and values alternate. Repeated
 * keys keep their order. If a key is unknown, the shim refuses the order. Records go to the status
 * file and, with the id and a space in front, to the pipe on ORDER_NOTIFY_FD.
 *
 * Limits:  ORDER_BYTES_MAX bytes, ORDER_DIRS_MAX control groups, ORDER_RLIMITS_MAX limits,
 *          ORDER_DENY_MAX device files, CPUs below ORDER_CPUS_MAX,
 *          memory nodes below ORDER_NODES_MAX
 * Spec:    doc/spec/06-shim.md
 */

enum {
    ORDER_FD = 3,
    ORDER_NOTIFY_FD = 4,
    ORDER_BIRTH_FD = 5, /* a lock, held until status file and control groups exist */
    ORDER_BYTES_MAX = 8 * 1024 * 1024,
    ORDER_DIRS_MAX = 5,
    ORDER_RLIMITS_MAX = 16,
    ORDER_DENY_MAX = 256,
    ORDER_CPUS_MAX = 8192,
    ORDER_NODES_MAX = 1024,
    ORDER_RECORD_SIZE = 512,       /* a record fits, with its newline; below PIPE_BUF */
    ORDER_NOTE_MAX = 2048,         /* bytes of a note */
    ORDER_TEXT_SIZE = 160,         /* the message of a failure, with the NUL */
    ORDER_STATUS_BYTES_MAX = 8192, /* maximum size of a status file */
    DOOR_BYTES_MAX = 64 * 1024,    /* size of a request */
    DOOR_ARGS_MAX = 1024,
    DOOR_FDS = 3, /* standard input, output, error output */
};

/* Exit status of a shim that wrote no record. */
enum {
    SHIM_EXIT_DONE = 0,  /* the end is in the status file or was sent */
    SHIM_EXIT_TAKEN = 3, /* this member has a status file: another start came first */
    SHIM_EXIT_ORDER = 4, /* the order could not be read */
};

#define ORDER_ID        "id"        /* JOB.ATTEMPT.RANK */
#define ORDER_STATUS    "status"    /* path of the status file */
#define ORDER_NOTE      "note"      /* copied into the first record */
#define ORDER_CWD       "cwd"       /* */
#define ORDER_OUTPUT    "out"       /* */
#define ORDER_ERROR     "err"       /* absent: same as out */
#define ORDER_INPUT     "in"        /* absent: /dev/null */
#define ORDER_ATTACH    "attach"    /* stdin, terminal: its input comes through the door */
#define ORDER_APPEND    "append"    /* 1: keep what is in the output files */
#define ORDER_BYTES     "bytes_max" /* rotate output files there; 0: never */
#define ORDER_KEEP      "keep"      /* rotated files to keep */
#define ORDER_UMASK     "umask"     /* decimal */
#define ORDER_GRACE     "grace_ms"  /* between SIGTERM and SIGKILL */
#define ORDER_SIGNAL    "signal"    /* instead of SIGTERM, to processes that catch it; 1 to 64 */
#define ORDER_WARN      "warn"      /* SIGNAL:MS:TO: a signal MS after the start; TO see below */
#define ORDER_UID       "uid"       /* uid, gid, groups: absent: as the shim itself */
#define ORDER_GID       "gid"
#define ORDER_GROUPS    "groups"    /* numbers, separated by commas */
#define ORDER_RLIMIT    "rlimit"    /* NUMBER:SOFT:HARD */
#define ORDER_CPUS      "cpus"      /* runs on these CPUs: 0-3,8-11; if the kernel permits it */
#define ORDER_MEMORY    "memory"    /* allocates memory on this node first, if possible */
#define ORDER_MKDIR     "mkdir"     /* make this control group, remove it at the end */
#define ORDER_WRITE     "write"     /* PATH=VALUE; a failure fails the job */
#define ORDER_TRY_WRITE "try_write" /* PATH=VALUE; failures are ignored */
#define ORDER_INTO      "into"      /* the job starts in this v2 control group */
#define ORDER_JOIN      "join"      /* the job moves into this v1 control group */
#define ORDER_KILL      "kill"      /* this v2 control group has cgroup.kill */
#define ORDER_OOM       "oom"       /* this file has a line "oom_kill COUNT" */
#define ORDER_DENY                                                                                 \
    "deny"              /* MAJOR:MINOR of a device file that the group of `into` must not open     \
                         */
#define ORDER_ARG "arg" /* one argument of the job */
#define ORDER_ENV "env" /* one NAME=value of the job */

/* Which processes a warning is for: as enum engine_warned (core/engine.h). */
enum { WARN_ALL, WARN_SHELL, WARN_STEPS, WARN_KINDS };

#define ORDER_STDIN    "stdin"
#define ORDER_TERMINAL "terminal"

/* A command beside the job, or a client of the job itself: the shim listens on a SOCK_SEQPACKET at
 * the path of the status file with this suffix. A request is one message: NUL-terminated strings,
 * the value of TERM (empty: that of the job) and the arguments, with DOOR_FDS descriptors.
 *
 * With arguments, the shim runs them as a command, and answers with its result. Without arguments,
 * the client attaches to the job. If the job has a terminal, the shim copies between it and the
 * first two descriptors; each message with the size of a struct winsize sets the terminal size. If
 * the job reads standard input, the answer comes with the writing end of its pipe, once. */
#define DOOR_SUFFIX ".door"

struct door_answer {
    int failure;     /* errno; 0: it ran */
    int wait_status; /* as of waitpid() */
    char text[ORDER_TEXT_SIZE];
};

/* The end mark of a complete record; a line without it is incomplete. */
#define ORDER_RECORD_END " .\n"

#endif
