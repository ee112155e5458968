/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/doctor/doctor_ask.h"

#include <errno.h>

#include "cli/session.h"

int doctor_ask(const char *path, json_t **ret, struct error *err)
{
    static const struct client_patience patience = { .timeout_s = DOCTOR_ANSWER_S };
    static struct error silence;
    static bool is_silent;
    AUTO_RELEASE(session) struct session session = { 0 };

    if (is_silent) {
        *err = silence;
        return -ETIMEDOUT;
    }
    int code = session_open(&session, err);
    if (code < 0)
        return code;
    client_be_patient(session.client, &patience);
    code = session_get(&session, path, ret, err);
    is_silent = code == -ETIMEDOUT;
    silence = *err;
    return code;
}
