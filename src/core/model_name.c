/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The next word in lower case; false at the end. */
static bool take_word(const char **s, char *word, size_t size)
{
    size_t length = 0;

    while (**s && !isalnum((unsigned char)**s))
        (*s)++;
    for (; isalnum((unsigned char)**s); (*s)++) {
        if (length + 1 < size)
            word[length++] = (char)tolower((unsigned char)**s);
    }
    word[length] = '\0';
    return length > 0;
}

/* Families stay ("rtx"), makers and brands go, the number (or letter) is the name, and of what
 * comes after it only what makes another chip of it stays. */
void model_shorten(const char *product, char ret[PROBE_MODEL_SIZE])
{
    static const char *const brands[] = { "nvidia",   "tesla",    "geforce", "quadro", "grid",
                                          "hgx",      "dgx",      "device",  "amd",    "radeon",
                                          "instinct", "graphics", "intel",   "r",      "tm",
                                          "data",     "center",   "gpu",     NULL };
    static const char *const families[] = { "rtx", "gtx", "gt",  "titan", "pro",
                                            "rx",  "arc", "max", "flex",  NULL };
    static const char *const variants[] = { "ti",  "super", "ada", "laptop", "sff",
                                            "xtx", "xt",    "gre", "d",      NULL };
    enum { LENGTH_MAX = 31 }; /* what a request can name */
    char word[PROBE_MODEL_SIZE];
    bool has_name = false;
    size_t length = 0;

    while (take_word(&product, word, sizeof(word))) {
        if (!has_name && string_is_in(word, brands))
            continue;
        if (has_name && !string_is_in(word, variants))
            break;
        has_name = has_name || !string_is_in(word, families);
        length += (size_t)snprintf(ret + length, LENGTH_MAX + 1 - length, "%s", word);
        if (length > LENGTH_MAX)
            length = LENGTH_MAX;
    }
    if (length == 0)
        strcpy(ret, "gpu");
}
