/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_RELAY_LINK_H
#define ENGINE_SLURM_RELAY_LINK_H

/* relay_link - the daemon's connection to the relay of an allocation
 *
 * It is a step: `srun --overlap tarn-relay join`, whose standard input and output are the
 * connection. So Slurm authenticates both ends, and no port and no secret of ours exist.
 *
 * Owner: the code that opened it; after on_closed it must still be closed
 */

#include <uv.h>

#include "engine/slurm/relay/relay_message.h"

struct relay_link_options {
    uv_loop_t *loop;
    uint32_t id; /* of the Slurm job */
    const char *node, *relay, *instance;
    void (*on_message)(void *user, const struct relay_message *message);
    void (*on_closed)(void *user, const char *reason); /* never from inside relay_link_open() */
    void *user;
};

struct relay_link;

int relay_link_open(const struct relay_link_options *options, struct relay_link **ret,
                    struct error *err);
void relay_link_send(struct relay_link *link, struct text *text); /* which it takes over */
/* NULL is fine. is_last: the loop ends, so srun cannot be waited for. */
void relay_link_close(struct relay_link *link, bool is_last);

#endif
