/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_CGROUP_H
#define ENGINE_LOCAL_CGROUP_H

/* cgroup - finds the control groups that can contain jobs, and writes the orders that use them
 *
 * The engine looks once for a v2 tree whose groups have cgroup.kill (no process can escape from
 * them), and for the controllers of memory, CPU and processes in it, or else in v1. If nothing is
 * writable, a job is only watched. Shims make and remove the groups of their members; the engine
 * makes and removes the folders above them.
 *
 *   v2, root    MOUNT/tarn/KEY/MEMBER
 *   v2, user    the highest group above ours that the user may write, then as above
 *   v1          our own group of that controller, then as above: its limits stay in force
 *
 * Order of calls:  detect, sweep, add*, release
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "core/engine.h"

enum { CGROUP_PATH_MAX = 320 }; /* five paths with their names fit into a shim's note */

struct cgroup {
    char *tree;   /* v2 folder of the members; NULL: no containment */
    char *memory; /* v1 folder of the members; NULL: none, or it is in v2 */
    char *cpu;
    char *pids;
    char *devices;   /* the same for devices; NULL: none, or the v2 tree can fence devices */
    bool can_fence;  /* the v2 tree can fence devices, by a BPF program */
    bool lacks_kill; /* why there is no tree: its groups have no cgroup.kill */
    bool has_memory; /* the v2 tree has the memory controller */
    bool has_cpu;
    int64_t pids_max; /* processes and threads of a member; 0: nothing limits them */
    char *made[12];   /* folders to remove when they are empty, the innermost last */
    unsigned made_count;
};

/* A mounted hierarchy, from /proc/self/mountinfo and /proc/self/cgroup. */
struct cgroup_mount {
    char *path; /* where it is mounted; NULL: not mounted */
    char *own;  /* the folder of our own group under path */
};

/* controller "" means v2. Invalid text is ignored. */
void cgroup_find_mount(const char *mountinfo, const char *self, const char *controller,
                       struct cgroup_mount *ret);
void cgroup_mount_release(struct cgroup_mount *mount);

/* Never fails: what is missing is not used. key distinguishes the daemons of one machine. */
void cgroup_detect(struct cgroup *cgroup, const char *key, bool is_root);
/* With may_remove, also remove the empty folders: no shim is about to make one below them. */
void cgroup_release(struct cgroup *cgroup, bool may_remove);

/* Remove the empty groups of members for which is_kept returns false. */
void cgroup_sweep(const struct cgroup *cgroup, bool (*is_kept)(void *user, const char *member),
                  void *user);

/* Add the keys that contain a member to its order, and the paths for the cleanup to note. */
void cgroup_add(const struct cgroup *cgroup, const char *member, const struct engine_launch *launch,
                struct text *order, struct text *note, struct engine_isolation *ret_isolation);

#endif
