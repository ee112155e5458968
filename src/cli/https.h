/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_HTTPS_H
#define CLI_HTTPS_H

/* https - the daemon at https://HOST[:PORT], through the program tarn-tls, with an access token
 *
 * The token and the fingerprint of the server come from the credentials of this user
 * (credentials.h; `tarn login` puts them there); $TARN_TOKEN and $TARN_FINGERPRINT come before
 * them. Without a fingerprint, this machine must trust the certificate.
 */

#include <stdbool.h>

#include "base/error.h"

enum { HTTPS_WORDS = 4, HTTPS_PORT_DEFAULT = 9443 };

struct https {
    char *url;                /* https://box:9443 */
    char *words[HTTPS_WORDS]; /* of tarn-tls */
    char *headers;            /* of each request, without an authorization if there is no token */
};

struct https_look {
    char *url, *fingerprint;
    char *trouble; /* why this machine does not trust the certificate; NULL: it does */
};

bool https_is_url(const char *text); /* NULL: false */
/* With the default port and without a slash at the end; malloc'd. Fails with -EINVAL. */
int https_normalize(const char *given, char **ret, struct error *err);
/* The caller frees what *ret has. Fails with -ENOENT if there is no token for it. */
int https_open(const char *given, struct https *ret, struct error *err);
/* With this token and fingerprint instead. */
int https_open_with(const char *given, const char *fingerprint, const char *token,
                    struct https *ret, struct error *err);
/* The certificate that the server shows. */
int https_look(const char *given, struct https_look *ret, struct error *err);

#endif
