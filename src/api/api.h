/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_API_H
#define API_API_H

/* api - the HTTP API: routes, identity, rights, views, streams
 *
 * Reads are answered from the state at once. A request that modifies the state becomes a change
 * (control/control.h): the daemon runs changes in the order of arrival, and answers when the
 * emitted events are durable, or when it refuses. So an acknowledgement is never sent too early.
 *
 * Rights: every user who can connect may read the state. Only the owner of a job and administrators
 * (base/identity.h) may change it and read its output.
 *
 * Spec: doc/spec/05-api.md
 */

#include "api/ports.h"
#include "io/net/http.h"

struct api;

struct api *api_create(const struct api_ports *ports, uv_loop_t *loop);
void api_shut(struct api *api); /* answer what waits for something else than the loop */
void api_destroy(struct api *api);

/* The handler of the HTTP server; user is the struct api. */
void api_handle(void *user, struct http_request *request);
/* The identity of a request over TCP: an http_admit_fn (admission.c). */
int api_admit(void *user, struct http_request *request, struct identity *ret, struct error *err);
/* Serves only /metrics and below; for a public socket. */
void api_handle_metrics(void *user, struct http_request *request);

/* Why a job waits and when it is expected to start, in one line. ret_start: the latter alone, as
 * RFC 3339 to the minute; "": not known. True: its nodes have no room for it. */
enum { API_START_SIZE = 24 };
bool api_say_waiting(const struct api *api, const struct job *job, struct text *text,
                     char ret_start[API_START_SIZE]);

/* The changes of these jobs are durable: tell the followers. */
void api_changed(struct api *api, const uint64_t *jobs, size_t count);

#endif
