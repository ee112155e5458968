/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ASKED_H
#define API_ASKED_H

/* asked - a request that a study answers: refused at once, or answered when that is done
 *
 * Whoever asks embeds it, fills its study, and says how all of it is freed.
 */

#include "api/inside.h"

struct asked {
    struct api_study study;
    struct api *api;
    struct http_request *request;
    void (*destroy)(struct asked *asked);
};

void asked_init(struct asked *asked, struct call *call, void (*destroy)(struct asked *asked));

/* code: of reading the question; 0: its study begins. Else, or when there are too many, it is
 * refused with err. It is destroyed in the end. */
void asked_begin(struct asked *asked, int code, struct error *err);

#endif
