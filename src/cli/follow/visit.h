/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_VISIT_H
#define CLI_FOLLOW_VISIT_H

/* visit - a running job from inside: a command beside it, its terminal, or its standard input
 *
 * The daemon hands over a connection to the job's supervisor, which gets the ends of pipes, or of a
 * terminal of our own making: the job never has a descriptor that is not made for it. From then on
 * the daemon has no part in it, and may restart.
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

/* What is copied from one descriptor to another; -1: closed. */
struct flow {
    int from, to;
    bool keeps_to; /* at the end it stays open: it is not ours */
    size_t length, done;
    char bytes[VISIT_CHUNK];
};

enum visit_end { VISIT_OVER, VISIT_DETACHED, VISIT_SIGNALLED };

struct visit {
    int socket;
    int theirs[DOOR_FDS];
    int terminal;         /* our side of the command's terminal; -1: pipes */
    bool is_attached;     /* the job's own terminal, that one may detach from */
    bool is_escaped;      /* after the first of the keys to detach */
    struct flow flows[3]; /* to its input, from its output and its error output */
    struct door_answer answer;
};

#define VISIT_DETACH_KEYS "Ctrl-] d"

/* A command beside the job; rank: NULL, or a number. */
int visit_run(struct visit *visit, struct session *session, const char *id, const char *rank,
              char *const *words, bool has_terminal, struct error *err);
/* The job itself. *ret_input: the writing end of its standard input, which is the caller's; -1: it
 * has a terminal. */
int visit_attach(struct visit *visit, struct session *session, const char *id, int *ret_input,
                 struct error *err);
/* What was typed before is the first input. */
void visit_type(struct visit *visit, struct typing *typing);
/* Until it is over, detached from by the keys, or a signal of signal_fd (interrupt_open; -1: none)
 * is there, which is not taken. A terminal is in raw mode meanwhile. answer: how a command ended.
 */
enum visit_end visit_copy(struct visit *visit, int signal_fd);
void visit_close(struct visit *visit);

/* Standard input on its way into a job: a process of its own, so that the kernel makes it wait, and
 * the job reads its end when we die. */
struct passing {
    pid_t pid;        /* 0: none */
    int to;           /* kept open, because it cannot be passed on; 0: none */
    bool *has_passed; /* shared with it: something was read */
};

/* Takes over `to`. Input that is no file can't be passed on a second time: -ESPIPE, and the job
 * reads no end of it before passing_stop(). */
int passing_start(struct passing *passing, int to, struct error *err);
void passing_stop(struct passing *passing);

#endif
