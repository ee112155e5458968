/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_SECRET_H
#define IO_SECRET_H

/* secret - random secrets, and the hashes that are kept in their place
 *
 * A secret has 256 random bits. Nobody can guess it, so a plain SHA-256 suffices as its hash.
 */

#include <stdbool.h>

enum { SECRET_SIZE = 44, SECRET_HASH_SIZE = 65 };

/* 43 characters of base64url, and NUL. Aborts if the kernel has no random bytes. */
void secret_make(char ret[SECRET_SIZE]);
/* SHA-256 in hexadecimal digits. */
void secret_hash(const char *secret, char ret[SECRET_HASH_SIZE]);
/* In a time that does not depend on where they differ. */
bool secret_is_equal(const char *left, const char *right);

#endif
