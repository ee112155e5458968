/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DOCTOR_DOCTOR_ASK_H
#define DAEMON_DOCTOR_DOCTOR_ASK_H

/* doctor_ask - what the daemon answers to tarn doctor
 *
 * The kernel takes connections for a process that does nothing: only an answer says that it works.
 * A daemon that has not answered once is not asked again.
 */

#include "base/error.h"
#include "wire/json.h"

enum { DOCTOR_ANSWER_S = 10 };

/* GET path. *ret is new. Fails as session_get(), and with -ETIMEDOUT. */
int doctor_ask(const char *path, json_t **ret, struct error *err);

#endif
