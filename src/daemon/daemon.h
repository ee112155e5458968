/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

/* daemon - connects the hub, the engine, the probe, the HTTP server and the signals
 *
 * SIGTERM and SIGINT stop it in good order; jobs continue under their shims. It can be killed at
 * any time: the next daemon on the same state directory continues from the journal.
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/units.h"
#include "core/journal_port.h"

#define DAEMON_GRACE_DEFAULT       (30 * USEC_PER_SEC)
#define DAEMON_STUDY_LIMIT_DEFAULT (2 * USEC_PER_MIN)

struct daemon_options {
    const char *state_dir, *socket; /* absolute */
    const char *devices;            /* probe_choice.h */
    const char *engine;             /* "local", or of engine_module.h */
    const char *shim;               /* NULL: looked for beside this program */
    const char *metrics;            /* TCP address where metrics can be read; NULL: none */
    const char *hpc_job_dir;        /* where dcgm-exporter reads the jobs of GPUs; NULL: nowhere */
    usec_t grace;
    usec_t study_limit; /* how long a what-if or a rehearsal may take */
    int notify_fd;      /* "ready" or the reason goes there; -1: none */
    bool for_all_users; /* the socket is open to all users; as root each job runs as its user */
};

/* Returns after a request to stop. */
int daemon_run(const struct daemon_options *options, struct error *err);

/* All records of the journal in a state directory, opened read-only. */
int daemon_read_records(const char *dir, journal_record_fn *fn, void *user, struct error *err);

#endif
