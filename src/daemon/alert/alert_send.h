/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_ALERT_SEND_H
#define DAEMON_ALERT_ALERT_SEND_H

/* alert_send - delivers messages to a command, a webhook and by mail, without blocking the loop
 *
 * Each of the three channels has a thread, which exists from the start on, and a queue, and the
 * channels to owners of jobs have their own, so that a channel that hangs delays no other. A
 * message is tried a few times, each with a deadline. A full queue accepts nothing: a message that
 * another channel accepted is dropped there, and counted. Failures are logged.
 *
 * Messages about jobs have a time: what is not delivered can be sent again after a restart.
 *
 *   command  gets the message as JSON on its standard input and the sentence as its argument
 *   webhook  gets a POST of the JSON; an answer of 200 to 299 is success
 *   mail     the sentence is the subject
 *
 * Order of calls:  create, send*, destroy
 * Limits:          ALERT_QUEUE_MAX messages wait for each channel
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/health/alert.h"
#include "core/health/watch_rules.h"

enum {
    ALERT_QUEUE_MAX = 64,
    ALERT_TRIES = 3,
    ALERT_DEADLINE_S = 10, /* time limit of each try */
};

struct alert_sender;

/* Fails with -EAGAIN; the message says which limit is too low. */
int alert_sender_create(struct alert_sender **ret, struct error *err);
/* Aborts deliveries in progress, which takes about a second at most. NULL is fine. */
void alert_sender_destroy(struct alert_sender *sender);

/* Send over all channels that the rules name. False: none of them accepts it now; try again later.
 */
bool alert_sender_send(struct alert_sender *sender, const struct watch_rules *rules,
                       const char *sentence, const char *json);

/* The same to the owner of a job, over the channels for owners. at: the time of the event;
 * USEC_NEVER: alert_sender_oldest() does not count the message. */
bool alert_sender_send_owner(struct alert_sender *sender, const struct watch_rules *rules,
                             const char *owner, const char *sentence, const char *json, usec_t at);

/* Send only mail, to these addresses. */
bool alert_sender_send_mail(struct alert_sender *sender, const struct watch_rules *rules,
                            const char *addresses, const char *sentence, const char *json,
                            usec_t at);

/* The time of the oldest accepted message that is neither delivered nor given up; USEC_NEVER:
 * none. */
usec_t alert_sender_oldest(struct alert_sender *sender);
/* Called by a thread of the sender when a message with a time was delivered or given up. */
void alert_sender_on_done(struct alert_sender *sender, void (*fn)(void *user), void *user);

struct alert_counts alert_sender_counts(struct alert_sender *sender);

#endif
