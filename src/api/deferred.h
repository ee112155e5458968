/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_DEFERRED_H
#define API_DEFERRED_H

/* deferred - requests that are answered later: by a change, or by a study
 *
 * A handler allocates one of these as the first member of a larger struct, reads the request into
 * it, and hands it over with the code of that. Whatever happens, it is released in the end.
 */

#include "api/call.h"

struct deferred;

struct deferred_ops {
    /* Inside the change. */
    int (*run)(struct deferred *deferred, struct error *err);
    /* The change is durable: run the follow-up actions, and answer. */
    json_t *(*answer)(struct deferred *deferred);
    /* What it owns, without itself; NULL: nothing. */
    void (*release)(struct deferred *deferred);
    unsigned status;            /* of the answer; 0: 200 */
    bool answers_from_forecast; /* it waits for a fresh one */
};

struct deferred {
    struct change change;
    struct forecast_waiter waiter;
    struct api *api;
    struct http_request *request;
    const struct deferred_ops *ops;
    uint64_t id; /* as the call has them */
    char name[CALL_NAME_SIZE];
};

/* A larger struct of that size, whose first member it is. */
void *deferred_create(struct call *call, size_t size, const struct deferred_ops *ops);
/* code: of reading the request, with words in call->err; 0: the change is enqueued. Takes it over.
 * Returns NULL, as does asked_begin(). */
json_t *deferred_begin(struct call *call, struct deferred *deferred, int code);

/* A question that a study process answers. The caller fills its study, and states what it owns. */
struct asked {
    struct api_study study;
    struct api *api;
    struct http_request *request;
    void (*release)(struct asked *asked); /* NULL: nothing */
};

void *asked_create(struct call *call, size_t size, void (*release)(struct asked *asked));
json_t *asked_begin(struct call *call, struct asked *asked, int code);

#endif
