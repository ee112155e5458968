/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_DEFERRED_H
#define API_DEFERRED_H

/* deferred - requests that are answered later: by a change, or by a study
 *
 * A handler allocates a larger struct with one of these as its first member, reads the request into
 * it, and hands it over with the resulting code. It is released at the end in any case.
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
    bool answers_from_forecast; /* answer only when the forecast is fresh */
    bool tells_bytes;           /* it checks what it adds to the journal, and its events tell it */
};

struct deferred {
    struct change change;
    struct forecast_waiter waiter;
    struct api *api;
    struct http_request *request;
    const struct deferred_ops *ops;
    const struct operation *operation;
    const struct identity *who; /* whose change it is; NULL: that of the request */
    bool is_routine; /* it changes nothing that a person wants to know of: it is not in the audit */
    unsigned status; /* of the answer: that of the operation */
    uint64_t id;     /* id and name: as in the call */
    char name[CALL_NAME_SIZE];
};

/* Allocate a larger struct of this size, with a struct deferred as its first member. */
void *deferred_create(struct call *call, size_t size, const struct deferred_ops *ops);
/* code: the result of reading the request, with a message in call->err; 0: enqueue the change.
 * Takes over `deferred`. Returns NULL, as does asked_begin(). */
json_t *deferred_begin(struct call *call, struct deferred *deferred, int code);
/* Release it without a reply. One that was not begun has one with change.done(), too. */
void deferred_drop(struct deferred *deferred);

/* tokens.c: the view of a new token, with its text */
json_t *token_answer(const struct api *api, uint64_t id, const char *secret);
/* sessions.c: the reply to a request that began a session, with its cookie */
json_t *session_answer(struct deferred *deferred, uint64_t id, const char *secret,
                       const char *user);

/* A question that a study process answers. The caller fills `study`; `release` frees what it owns.
 */
struct asked {
    struct api_study study;
    struct api *api;
    struct http_request *request;
    void (*release)(struct asked *asked); /* NULL: nothing */
    /* Look at the answer before it is sent; NULL: nothing. */
    void (*answered)(struct asked *asked, const struct text *answer);
};

void *asked_create(struct call *call, size_t size, void (*release)(struct asked *asked));
json_t *asked_begin(struct call *call, struct asked *asked, int code);
/* What study.done does last; a caller that sets its own done does it. */
void asked_destroy(struct asked *asked);

#endif
