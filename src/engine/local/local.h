/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_LOCAL_H
#define ENGINE_LOCAL_LOCAL_H

/* local - the engine that runs jobs on this machine, each under a tarn-shim
 *
 * The state that must survive the engine is on disk: the file STATE/run/JOB.ATTEMPT.RANK, which the
 * shim makes and locks, is authoritative for its member. Messages through the FIFO STATE/run/notify
 * only arrive earlier. destroy leaves the shims running; the next engine on the same folder finds
 * them in recover().
 *
 * After a restart of the machine, every member that recover() names and whose end is not on disk is
 * LOST, also a member without any trace: it may have run, and an attempt must not run twice.
 *
 * Order of calls:  as in core/engine.h; recover() all before the first start()
 * Owner:           the caller destroys it through its ops; the loop must turn once more afterwards
 * On failure:      only the folder STATE/run was made
 * Limits:          one file descriptor per running member
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
    bool without_cgroups;  /* use no control groups */
    unsigned output_keep;  /* number of rotated output files; 0: one */
    int64_t nofile_max;    /* soft limit of open files for jobs; 0: our own */
    usec_t stop_margin;    /* time after the grace period at which the engine kills; 0: 30 s */
};

int local_engine_create(const struct local_engine_options *options, struct engine **ret,
                        struct error *err);

#endif
