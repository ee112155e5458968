/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_KUBE_CLIENT_FAKE_H
#define TESTS_ENGINE_KUBE_CLIENT_FAKE_H

/* kube_client_fake - instead of a client: calls are kept, and the test answers them */

#include "engine/kube/client/kube_client.h"

/* The calls that were made and not answered; the oldest first. */
const struct kube_call *fake_call(size_t at); /* NULL: there are not so many */
/* Answer the oldest one. body: JSON, or NULL. */
void fake_answer(long status, const char *body);
/* An event of what was watched last; body: JSON, or NULL. */
void fake_event(enum kube_event event, const char *body);

#endif
