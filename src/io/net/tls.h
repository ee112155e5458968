/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_TLS_H
#define IO_NET_TLS_H

/* tls - the certificate of this server, from two PEM files
 *
 * A program has one. It is read again when the files change; if they are wrong then, the former one
 * stays in use and the log says why. Without files, a self-signed one is made: its
 * users compare its fingerprint once.
 */

#include <stdbool.h>

#include "base/error.h"

enum { TLS_FINGERPRINT_SIZE = 72 }; /* "sha256:" and 64 hexadecimal digits */

/* TLS 1.2 and later, with forward secrecy and authenticated encryption only. */
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:" \
    "+AES-128-GCM"

/* Both files are in PEM; the key must be readable by this user only. Fails with -EBADMSG (not such
 * a file, or the key is of another certificate), or as open(2) does. */
int tls_load(const char *certificate, const char *key, struct error *err);
/* Make these files, if they do not exist: a key, and a certificate for the names of this machine,
 * valid for ten years. */
int tls_make(const char *certificate, const char *key, struct error *err);
void tls_unload(void);

/* Whether the certificate in use has this name. */
bool tls_names(const char *host);
/* Of the certificate in use. */
void tls_fingerprint(char ret[TLS_FINGERPRINT_SIZE]);
/* What libmicrohttpd asks for each connection (gnutls_certificate_retrieve_function2). */
void *tls_retrieve(void);

#endif
