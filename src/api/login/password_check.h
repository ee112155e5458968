/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_LOGIN_PASSWORD_CHECK_H
#define API_LOGIN_PASSWORD_CHECK_H

/* password_check - whether a password is that of an account, asked of the program tarn-login
 *
 * Each check is a process, so that no module of PAM delays the loop. A refusal comes at a multiple
 * of REFUSAL_MS after the start: its time does not depend on its reason.
 *
 * Order of calls:  start, then done once, from the loop, or stop
 * Owner:           itself; it is gone after done or stop
 */

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"
#include "base/identity.h"

enum { PASSWORD_MAX = 511, CHECK_REFUSAL_MS = 2000, CHECK_LIMIT_MS = 30000 };

struct password_check;

struct password_result {
    bool is_right; /* and the account may log in */
    uid_t uid;
    char name[IDENTITY_NAME_SIZE]; /* of the account */
    char reason[100];              /* of a refusal, for the log */
};

struct password_question {
    uv_loop_t *loop;
    const char *program; /* path of tarn-login */
    const char *user, *password, *address;
    void (*done)(void *object, const struct password_result *result);
    void *object;
};

/* Nothing of the question's strings is needed after the call. */
int password_check_start(const struct password_question *question, struct password_check **ret,
                         struct error *err);
void password_check_stop(struct password_check *check); /* done is not called */

#endif
