/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_LOCAL_CGROUP_H
#define ENGINE_LOCAL_CGROUP_H

/* cgroup - what the kernel offers to contain a job with, and the orders that use it
 *
 * Looked for once: a v2 tree whose groups have cgroup.kill (the process tree
 * can then not be left), memory and CPU controllers there, else those of v1.
 * Where nothing may be written, a job is only watched. The groups of members
 * are made and removed by their shims; the folders above them are ours.
 *
 *   v2, root    MOUNT/tarn/KEY/MEMBER
 *   v2, user    the highest group above ours that the user may write, then as above
 *   v1          our own group of that controller, then as above: its limits go on holding
 *
 * Order of calls:  detect, sweep, add*, release
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "core/engine.h"

enum { CGROUP_PATH_MAX = 400 }; /* three of them and their names fit into a shim's note */

struct cgroup {
    char *tree;   /* v2 folder of the members; NULL: no containment */
    char *memory; /* v1 folder of the members; NULL: none, or v2 has it */
    char *cpu;
    char *devices;   /* the same; NULL: none, or the v2 tree can fence devices */
    bool can_fence;  /* the v2 tree: by a program of the kernel's */
    bool lacks_kill; /* why there is no tree: its groups have no cgroup.kill */
    bool has_memory; /* in the v2 tree */
    bool has_cpu;
    char *made[12]; /* folders that may go when they are empty, the innermost last */
    unsigned made_count;
};

/* One mounted hierarchy, as /proc/self/mountinfo and /proc/self/cgroup have it. */
struct cgroup_mount {
    char *path; /* where it is mounted; NULL: it is not */
    char *own;  /* the folder of our own group under path */
};

/* controller "" is v2. Text that does not parse is passed over. */
void cgroup_find_mount(const char *mountinfo, const char *self, const char *controller,
                       struct cgroup_mount *ret);
void cgroup_mount_release(struct cgroup_mount *mount);

/* Never fails: what is not there is not used. key tells apart the daemons of one machine. */
void cgroup_detect(struct cgroup *cgroup, const char *key, bool is_root);
/* With may_remove the empty folders go, too: no shim is about to make one below them. */
void cgroup_release(struct cgroup *cgroup, bool may_remove);

/* Remove the empty groups of members for which is_kept says no. */
void cgroup_sweep(const struct cgroup *cgroup, bool (*is_kept)(void *user, const char *member),
                  void *user);

/* Add to the order of one member what contains it, and to note what a cleaner must know. */
void cgroup_add(const struct cgroup *cgroup, const char *member, const struct engine_launch *launch,
                struct text *order, struct text *note, struct engine_isolation *ret_isolation);

#endif
