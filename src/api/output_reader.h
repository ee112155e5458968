/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_OUTPUT_READER_H
#define API_OUTPUT_READER_H

/* output_reader - the output of a job, read by a process of its own (daemon/read_output.h)
 *
 * The file may be on a file server that hangs. A process that hangs there is killed, and holds
 * nothing of the daemon, which goes on and can be restarted.
 *
 * Order of calls:  start, (take | finish)*, stop
 * Limits:          OUTPUT_READERS_MAX processes, of which some are left to administrators, and
 *                  OUTPUT_READERS_USER_MAX for files of one user; with those that were killed and
 *                  have not ended
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"
#include "base/text.h"

enum { OUTPUT_READERS_MAX = 512, OUTPUT_READERS_USERS_MAX = 448, OUTPUT_READERS_USER_MAX = 64 };

struct output_reader;

struct output_plan {
    uv_loop_t *loop;
    const char *path;
    uid_t owner;
    gid_t group;
    bool is_for_admin;
    uint64_t offset;
    uint32_t tail; /* begin with the last lines; UINT32_MAX: all of them */
    bool is_following;
    void *user;
    void (*ready)(void *user); /* the file system answers, or there is more to take */
};

/* Fails with REFUSED_TOO_MANY (a limit) or as child_start does. */
int output_reader_start(const struct output_plan *plan, struct output_reader **ret,
                        struct error *err);
/* Append what has come. True: that was all; else ready is called when there is more. */
bool output_reader_take(struct output_reader *reader, struct text *out);
/* No more will be written to the file. */
void output_reader_finish(struct output_reader *reader);
/* For how long it has been waited for since it came last; 0: it is not waited for. */
uint64_t output_reader_silent_ms(const struct output_reader *reader);
void output_reader_stop(struct output_reader *reader); /* NULL is fine */

#endif
