/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_LOGIN_LOGIN_H
#define API_LOGIN_LOGIN_H

/* login - logins with the password of an account, that go on */

struct api;

/* Refuse those that wait for their answer: the daemon stops. */
void logins_shut(struct api *api);

#endif
