/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_HARNESS_H
#define TESTS_ENGINE_HARNESS_H

/* harness - a local engine in a temporary folder, with a real tarn-shim and real processes
 *
 * TARN_SHIM names the shim. Waiting never decides a test by time: it goes on
 * until what was waited for is there, and only a hang ends it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

#include "base/mem.h"
#include "core/engine.h"

struct harness {
    uv_loop_t loop;
    uv_timer_t tick;
    struct engine *engine;
    char state_dir[64];
    bool without_cgroups;
    bool is_unprivileged; /* as without root: it becomes no other user */
    unsigned output_keep;
    int64_t nofile_max;
    usec_t stop_margin;
    LIST(struct engine_outcome) outcomes;
};

struct harness *harness_create(bool without_cgroups);
void harness_destroy(struct harness *harness); /* kills what still runs; removes the folder */
DEFINE_AUTO(harness)

void harness_open(struct harness *harness);  /* a new engine on the same folder */
void harness_close(struct harness *harness); /* the engine goes, its shims stay */

/* A launch of `sh -c script` as member (job, 1, 0), output in STATE/JOB.log. */
struct engine_launch harness_launch(struct harness *harness, uint64_t job, const char *script);
/* The same with a command; argv lives as long as the harness's caller says. */
struct engine_launch harness_command(struct harness *harness, uint64_t job,
                                     const char *const *argv);
/* A harness in which the script was started as job 1. */
struct harness *harness_begin(bool without_cgroups, const char *script);
struct member_id harness_id(uint64_t job);
void harness_start(struct harness *harness, const struct engine_launch *launch);
/* The engine's operations on one member. */
void harness_stop(struct harness *harness, struct member_id id, usec_t grace);
bool harness_recover(struct harness *harness, struct member_id id, bool was_started);
void harness_forget(struct harness *harness, struct member_id id);

/* Turn the loop until the outcome is there; the n-th of its job (0: STARTED as a rule). */
const struct engine_outcome *harness_outcome(struct harness *harness, uint64_t job, size_t n);
const struct engine_outcome *harness_end(struct harness *harness, uint64_t job);
size_t harness_count(const struct harness *harness, uint64_t job);
/* Turn the loop until check says so. */
void harness_until(struct harness *harness, bool (*check)(void *user), void *user);
/* Turn the loop for a while: an outcome that must not come would have arrived. */
void harness_turn(struct harness *harness, unsigned turns);

/* The contents of a file, "" when there is none; NULL path: the log of job. */
char *harness_read(struct harness *harness, uint64_t job, const char *path);
char *harness_path(struct harness *harness, const char *name); /* STATE/name */
/* Until STATE/name has a line in it; that line as a number. */
long harness_number(struct harness *harness, const char *name);
pid_t harness_shim(struct harness *harness, uint64_t job); /* the pid of its shim */
bool is_running(pid_t pid);                                /* there, and no zombie */
void until_gone(struct harness *harness, pid_t pid);

#endif
