/* SPDX-License-Identifier: Apache-2.0 */
#include "io/secret.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { BYTES = 32 };

void secret_make(char ret[SECRET_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[BYTES + 1] = { 0 };

    if (getrandom(bytes, BYTES, 0) != BYTES)
        abort();
    for (size_t i = 0; i < SECRET_SIZE - 1; i++) {
        size_t bit = i * 6;
        unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
        ret[i] = digits[pair >> (10 - bit % 8) & 63];
    }
    ret[SECRET_SIZE - 1] = '\0';
    explicit_bzero(bytes, sizeof(bytes));
}

void secret_hash(const char *secret, char ret[SECRET_HASH_SIZE])
{
    unsigned char hash[BYTES];

    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, secret, strlen(secret), hash) < 0)
        abort();
    for (size_t i = 0; i < BYTES; i++)
        snprintf(ret + 2 * i, 3, "%02x", hash[i]);
}

bool secret_is_equal(const char *left, const char *right)
{
    size_t length = strlen(left);

    return strlen(right) == length && gnutls_memcmp(left, right, length) == 0;
}
