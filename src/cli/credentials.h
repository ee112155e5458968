/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CREDENTIALS_H
#define CLI_CREDENTIALS_H

/* credentials - the access tokens of this user for daemons elsewhere
 *
 * $XDG_CONFIG_HOME/tarn/credentials (default ~/.config/tarn/credentials) has a line for each
 * daemon: its URL, the fingerprint of its certificate or "-", and the token. Only its owner may
 * read the file.
 */

#include "base/compiler.h"
#include "base/error.h"

struct credential {
    char *url;         /* https://box:9443 */
    char *fingerprint; /* "-": a certificate that this machine trusts */
    char *token;
};

void credential_release(struct credential *credential);

/* Fails with -ENOENT (none for this URL), -EPERM (others can read the file) or -EBADMSG. */
int credential_find(const char *url, struct credential *ret, struct error *err);
/* Add it, or replace the one with its URL. */
int credential_put(const struct credential *credential, struct error *err);
int credential_remove(const char *url, struct error *err); /* not there: nothing to do */

#endif
