/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_CHILD_WATCH_H
#define IO_CHILD_WATCH_H

/* child_watch - wait in a loop for the end of a child, which is always reaped
 *
 * Owner:       itself, until the child has ended
 * On failure:  a loop without room for the pidfd looks every 100 ms
 */

#include <uv.h>

struct child_watch;

/* status: as of waitpid(); -1: it was reaped elsewhere, or given up. The watch no longer exists. */
typedef void child_end_fn(void *user, int status);

/* Takes over the pidfd. */
struct child_watch *child_watch_start(uv_loop_t *loop, int pidfd, child_end_fn *on_end, void *user);

void child_watch_signal(const struct child_watch *watch, int signal);

/* Kill the child; on_end is called as ever. */
void child_watch_end(struct child_watch *watch);
/* Kill the child, and reap it once it has ended. on_end is not called. The caller does not use the
 * watch any more. */
void child_watch_kill(struct child_watch *watch);

/* Before the loop is closed: run it until the killed children have ended, about 2 s at most. Those
 * that a hung file system holds are given up, as if they had ended. */
void child_watch_drain(uv_loop_t *loop);

#endif
