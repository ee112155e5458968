/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

/* daemon - connects the hub, the engine, the probe, the HTTP server and the signals
 *
 * SIGTERM and SIGINT stop the daemon cleanly; jobs continue under their shims. It can be killed at
 * any time: the next daemon on the same state directory continues from the journal.
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/units.h"
#include "core/journal_port.h"

#define DAEMON_GRACE_DEFAULT       (30 * USEC_PER_SEC)
#define DAEMON_STUDY_LIMIT_DEFAULT (2 * USEC_PER_MIN)

/* The TCP socket of the API (door.h). */
struct door_options {
    const char *address;     /* [HOST:]PORT, or http://[HOST:]PORT; NULL: no door */
    const char *certificate; /* PEM files; NULL: a self-signed certificate */
    const char *key;
    const char *hosts;        /* more names of this server, separated by commas; NULL: none */
    const char *login;        /* "pam": take passwords of accounts; NULL: none */
    const char *proxy;        /* address of a trusted proxy; NULL: none */
    const char *proxy_secret; /* the file with its secret */
    const char *proxy_header; /* with the user; NULL: X-Forwarded-User */
};

struct daemon_options {
    const char *state_dir, *socket; /* absolute */
    const char *devices;            /* probe_choice.h */
    const char *engine;             /* "local", or a module (engine_module.h) */
    const char *shim;               /* NULL: searched beside this program */
    const char *config;             /* a file that is applied at the start; NULL: none */
    const char *metrics;            /* TCP address that serves the metrics; NULL: none */
    struct door_options door;
    const char *hpc_job_dir; /* node/hpc_job_files.h; NULL: none */
    usec_t grace;
    usec_t study_limit; /* time limit of a what-if or a rehearsal */
    int notify_fd;      /* "ready" or the error is written there; -1: none */
    bool for_all_users; /* the socket is open to all users; as root, jobs run as their users */
};

/* Returns after a request to stop. */
int daemon_run(const struct daemon_options *options, struct error *err);

/* All records of the journal in a state directory, opened read-only. */
int daemon_read_records(const char *dir, journal_record_fn *fn, void *user, struct error *err);

#endif
