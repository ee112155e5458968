/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_LOCAL_H
#define ENGINE_LOCAL_LOCAL_H

/* local - the engine that runs jobs on this machine, each under a tarn-shim
 *
 * What must survive us is on disk: STATE/run/JOB.ATTEMPT.RANK, made by the
 * shim under a lock, is the one truth about a member. What comes through the
 * FIFO STATE/run/notify is only faster. destroy leaves the shims running;
 * the next engine on the same folder finds them by recover().
 *
 * After a restart of the machine every member that recover() names and whose
 * end is not on disk is LOST, also one of which there is no trace: it may have
 * run, and an attempt must not run twice.
 *
 * Order of calls:  as in core/engine.h; recover() all before the first start()
 * Owner:           the caller destroys it through its ops; the loop must turn once more after
 * On failure:      nothing was made but the folder STATE/run
 * Limits:          one file descriptor a running member
 * Spec:            doc/spec/06-shim.md
 */

#include <stdbool.h>
#include <uv.h>

#include "core/engine.h"

enum { LOCAL_STATE_DIR_MAX = 500 };

struct local_engine_options {
    struct engine_options engine;
    const char *shim_path; /* the tarn-shim to start */
    bool is_root;          /* start each job as the uid and gid of its launch */
    bool without_cgroups;  /* as if the machine had none */
    unsigned output_keep;  /* rotated output files; 0: one */
    int64_t nofile_max;    /* soft limit of open files for jobs; 0: our own */
    usec_t stop_margin;    /* beyond the grace of a stop, then we kill ourselves; 0: 30 s */
};

int local_engine_create(const struct local_engine_options *options, struct engine **ret,
                        struct error *err);

#endif
