/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_STREAMS_H
#define API_STREAMS_H

/* streams - clients that follow the output of a job, or events */

#include "api/call.h"

/* These jobs changed. */
void followers_notify(struct api *api, const uint64_t *jobs, size_t count);
void followers_release(struct api *api);

#endif
