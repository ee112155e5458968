/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_SHIM_H
#define SHIM_SHIM_H

/* shim - the parts of tarn-shim, which supervises one member of one job
 *
 * One process, one thread, no heap: all state is in one struct shim. It uses no other room and
 * stays small, because thousands may run.
 *
 * Order of calls:  order_read, status_take, tree_prepare, streams_open, job_start,
 *                  the loop in shim_main.c, tree_kill and reaping, record_end
 * Spec:            doc/spec/06-shim.md
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "shim/shim_order.h"

enum { STAT_SIZE = 512 };

struct rlimit_order {
    int resource;
    uint64_t soft, hard;
};

/* The parts of the job that a client may connect to. */
enum attach { ATTACH_NONE, ATTACH_STDIN, ATTACH_TERMINAL };

/* A device file that the job must not open. */
struct deny_order {
    uint32_t major, minor;
};

/* The parsed order; strings point into its bytes. */
struct order {
    const char *bytes;
    size_t length;
    const char *id, *status, *note, *cwd, *output, *error, *input, *groups;
    const char *into, *kill, *oom;
    const char *dirs[ORDER_DIRS_MAX];
    size_t dir_count;
    const char *joins[ORDER_DIRS_MAX];
    size_t join_count;
    struct rlimit_order rlimits[ORDER_RLIMITS_MAX];
    size_t rlimit_count;
    struct deny_order denies[ORDER_DENY_MAX];
    size_t deny_count;
    unsigned long cpus[ORDER_CPUS_MAX / (8 * sizeof(unsigned long))]; /* bits */
    bool has_cpus;
    int64_t memory_node; /* plus one; 0: none */
    enum attach attach;
    bool append, has_user;
    int64_t bytes_max;
    unsigned keep;
    mode_t umask;
    int64_t grace_ms;
    int signal;      /* 0: SIGTERM */
    int warn_signal; /* 0: none */
    int warn_to;     /* WARN_ALL ... */
    int64_t warn_ms; /* after the start */
    uid_t uid;
    gid_t gid;
    char **argv, **envp; /* NULL-terminated */
};

/* One pipe from the job, and the file that stores its output. */
struct stream {
    int pipe_fd;      /* our end; -1: closed */
    int job_fd;       /* the job's end; -1 after its start */
    int file_fd;      /* -1: lost, because of lost_errno */
    const char *path; /* NULL: this stream is not used */
    bool rotates;     /* a regular file with a limit */
    int64_t size;
    int64_t lost_bytes; /* bytes that could not be written to the file */
    int lost_errno;
};

enum { DOOR_GUESTS_MAX = 9 }; /* of which the last is only told that it is one too many */

/* A connection through the door, and the command that it runs. */
struct guest {
    int fd;        /* -1: none, or it has left */
    pid_t pid;     /* 0: none yet */
    int64_t since; /* it is there */
    bool is_over;  /* ended and reaped; wait_status is set */
    int wait_status;
};

/* Properties of a command that runs beside the job. */
struct visit {
    const char *term; /* "": the TERM of the job */
    char *argv[DOOR_ARGS_MAX + 1];
    int fds[DOOR_FDS];
};

enum {
    STREAM_CHUNK = 32768, /* bytes of output per read */
    ATTACH_LAST = 16384,  /* bytes of a terminal's output that the next client sees first */
    ATTACH_INPUT = 4096,
};

/* The client of the job itself (attach.c). */
struct attachment {
    int job_fd;           /* the job's end of its standard input; -1 after its start */
    int input_fd;         /* the other end, until a client takes it; -1: none */
    int from_fd, to_fd;   /* the pipes of the client of a terminal; -1: none, or closed */
    struct guest *viewer; /* that client; NULL: none */
    bool has_size;        /* the client has sent its size */
    int64_t input_end;    /* when to close input_fd if no client takes it */
    int64_t stuck_end;    /* when to disconnect a client that reads no output */
    int64_t drain_end;    /* when to disconnect the last client after the end; 0: not ended */
    size_t in_length, in_done, out_length, out_done, last_length;
    char in[ATTACH_INPUT], out[STREAM_CHUNK], last[ATTACH_LAST];
};

struct shim {
    struct order order;
    int status_fd;
    int signal_fd;
    int exec_fd; /* message of a failed start, or end of file if exec succeeded; -1: read */
    pid_t pid;   /* the job's first process; 0: none */
    int wait_status;
    struct stream streams[2];
    int door_fd;        /* -1: none */
    int64_t door_pause; /* no client is accepted until then */
    struct guest guests[DOOR_GUESTS_MAX];
    struct attachment attachment;
    bool main_dead;   /* the first process is reaped; wait_status is set */
    bool childless;   /* no process of the job is left */
    bool is_stopping; /* a stop was requested */
    bool was_killed;  /* the grace period is over, or was 0 */
    bool has_started; /* exec succeeded */
    int64_t deadline; /* when to kill a stopping job, in monotonic milliseconds */
    int64_t warn_at;  /* when to send the warning; 0: none, or it is sent */
    char failure[ORDER_TEXT_SIZE];
    bool is_lacking;   /* the failure is a shortage of the machine, which the job did not cause */
    int failure_errno; /* 0: no failure */
    char pending[ORDER_RECORD_SIZE]; /* a record that the full pipe has not accepted yet */
    size_t pending_length;
};

/* words.c: "no space left on device"; never NULL. */
const char *words_errno(int code);
/* Set the failure; the first one wins. */
void shim_fail(struct shim *shim, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int64_t clock_ms(void); /* monotonic */

/* shim_order.c: false: incomplete order. */
bool order_read(struct order *order, int fd);
/* The n-th value (from 0) of a repeated key, or NULL. */
const char *order_value(const struct order *order, const char *key, size_t n);
/* Up to count_max numbers; returns how many. */
size_t order_groups(const struct order *order, gid_t *groups, size_t count_max);

/* shim_status.c */
enum status_answer { STATUS_OURS, STATUS_TAKEN, STATUS_FAILED };
/* While the disk is full it waits, until it is asked to stop or the engine is gone. */
enum status_answer status_take(struct shim *shim);
void record_forked(struct shim *shim);
void record_started(struct shim *shim);
/* Record the end or the failure: stored on disk first, then sent. */
void record_end(struct shim *shim, const char *usage);
void notify_flush(struct shim *shim); /* send pending records, as far as the pipe accepts them */

/* user.c: switches to the user whose rights apply to output files. */
void user_take_groups(const struct order *order);
void user_begin(const struct order *order); /* from here on the job's user ... */
void user_end(const struct order *order);   /* ... until here */

/* fence.c: false, with the failure set, if the forbidden devices cannot be blocked. */
bool fence_raise(struct shim *shim);

/* output.c: false, with the failure set, if a file or pipe cannot be opened. */
bool streams_open(struct shim *shim);
void stream_pump(struct shim *shim, struct stream *stream); /* copy the available output */
void streams_drain(struct shim *shim);                      /* copy the rest, bounded */

/* job.c: false, with the failure set, if no process could be created. */
bool job_start(struct shim *shim);
/* Read the result of exec; settles exec_fd. */
void job_read_exec(struct shim *shim);

/* Start a command beside the job, in its control groups and with its environment, limits and user.
 * Its failure goes to answer_fd as a struct door_answer. Returns its pid, or -1 with errno. */
pid_t job_visit(struct shim *shim, const struct visit *visit, int answer_fd);

/* attach.c */
/* Open a terminal instead of the output's pipe: our end and the job's. Returns 0 or an errno. */
int terminal_open(const struct order *order, int ret_ends[2]);
bool input_open(struct shim *shim); /* the pipe of standard input; false, with the failure set */
void attach_take(struct shim *shim, struct guest *guest, const struct visit *visit);
void attach_forget(struct shim *shim, const struct guest *guest);  /* it has disconnected */
void attach_resize(struct shim *shim, const struct winsize *size); /* the size of its client */
/* Output of the terminal. While attach_is_full(), no more may be read. */
void attach_show(struct shim *shim, const char *bytes, size_t length);
bool attach_is_full(const struct shim *shim);
void attach_drain(struct shim *shim); /* at the end: send the rest, bounded */
enum { ATTACH_POLLS = 3 };
void attach_polls(const struct shim *shim, struct pollfd polls[ATTACH_POLLS]);
int attach_wait_ms(const struct shim *shim); /* -1: no end */
void attach_serve(struct shim *shim, const struct pollfd polls[ATTACH_POLLS]);

/* guest.c: one connection through the door */
void guest_tell(const struct guest *guest, const struct door_answer *answer);
void guest_close(struct guest *guest);
void guest_refuse(struct guest *guest, int code, const char *text); /* and close it */

/* door.c */
void door_open(struct shim *shim);
void door_close(struct shim *shim);
enum { DOOR_POLLS = 1 + DOOR_GUESTS_MAX };
void door_polls(const struct shim *shim, struct pollfd polls[DOOR_POLLS]);
int door_wait_ms(const struct shim *shim); /* -1: no end */
void door_serve(struct shim *shim, const struct pollfd polls[DOOR_POLLS]);

/* tree.c */
bool tree_prepare(struct shim *shim); /* make the control groups and their limits */
void tree_signal(const struct shim *shim, int signal); /* every process of the job */
/* Only processes that catch it; returns how many. */
size_t tree_signal_catching(const struct shim *shim, int signal);
/* The tasks that srun has started, and their processes. */
void tree_signal_steps(const struct shim *shim, int signal);
void tree_kill(const struct shim *shim); /* once; repeat until childless */
void tree_reap(struct shim *shim);       /* reap dead processes; sets main_dead, childless */
bool tree_was_oom(const struct shim *shim);
void tree_remove(const struct shim *shim); /* the control groups */
/* The fields of /proc/PID/stat after the name of the program; "": the process has ended. */
const char *tree_stat(pid_t pid, char stat[STAT_SIZE]);

#endif
