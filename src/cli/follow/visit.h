/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_VISIT_H
#define CLI_FOLLOW_VISIT_H

/* visit - connects to a running job: runs a command beside it, or attaches to its terminal or its
 * standard input
 *
 * The daemon passes a connection to the job's supervisor. Through it the supervisor gets the ends
 * of new pipes, or of a new terminal: the job never gets a descriptor that was not made for it.
 * After that the daemon is not involved, and may restart. With a daemon on another machine, a
 * bridge does this there (bridge/bridge.h), and ends with that daemon.
 *
 * Order of calls:  run or attach, copy, close
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/session.h"
#include "shim/shim_order.h"

struct typing;

enum { VISIT_CHUNK = 16384 };

/* Data that is copied from one descriptor to another; -1: closed. */
struct flow {
    int from, to;
    int own; /* of them, to be closed at the end; -1: none */
    size_t length, done;
    char bytes[VISIT_CHUNK];
};

enum visit_end { VISIT_OVER, VISIT_DETACHED, VISIT_SIGNALLED };

struct visit {
    int socket;
    int terminal;         /* our side of the command's terminal; -1: pipes */
    bool is_attached;     /* to the job's own terminal, so one may detach */
    bool is_far;          /* the job is on another machine */
    bool is_far_terminal; /* and so is the command's terminal */
    bool is_escaped;      /* the first of the keys to detach was pressed */
    struct flow flows[3]; /* to its input, from its output and its error output */
    struct door_answer answer;
};

#define VISIT_DETACH_KEYS "Ctrl-] d"

/* Run a command beside the job; rank: NULL, or a number. */
int visit_run(struct visit *visit, struct session *session, const char *id, const char *rank,
              char *const *words, bool has_terminal, struct error *err);
/* Attach to the job itself. *ret_input: the writing end of its standard input, which the caller
 * owns; -1: the job has a terminal. */
int visit_attach(struct visit *visit, struct session *session, const char *id, int *ret_input,
                 struct error *err);
/* Pass the input that was typed before to the job first. */
void visit_type(struct visit *visit, struct typing *typing);
/* Copy until the command or job ends, the keys detach, or a signal is pending on signal_fd
 * (interrupt_open; -1: none), which stays pending. A terminal is in raw mode meanwhile. answer: how
 * a command ended. */
enum visit_end visit_copy(struct visit *visit, int signal_fd);
void visit_close(struct visit *visit);

/* Passes standard input to a job. It is a separate process, so that it may block, and so that the
 * job reads the end of its input if this process dies. */
struct passing {
    pid_t pid;        /* 0: none */
    int to;           /* kept open, because it cannot be passed on; 0: none */
    bool *has_passed; /* shared with that process: it has read something */
};

/* Takes over `to`. Fails with -ESPIPE if the input was read before and is not a file; the job then
 * reads no end of input before passing_stop(). */
int passing_start(struct passing *passing, int to, struct error *err);
void passing_stop(struct passing *passing);

#endif
