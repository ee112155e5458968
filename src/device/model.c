/* SPDX-License-Identifier: Apache-2.0 */
#include "device/model.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* MODEL(name, model, MiB as the driver says it)   in the order in which people look for them */
#define MODELS(MODEL)                                                                              \
    MODEL("p100", "p100", 16384)                                                                   \
    MODEL("v100", "v100", 16384)                                                                   \
    MODEL("v100-32", "v100", 32768)                                                                \
    MODEL("t4", "t4", 15360)                                                                       \
    MODEL("a10", "a10", 23028)                                                                     \
    MODEL("a30", "a30", 24576)                                                                     \
    MODEL("a40", "a40", 46068)                                                                     \
    MODEL("a100", "a100", 81920)                                                                   \
    MODEL("a100-40", "a100", 40960)                                                                \
    MODEL("l4", "l4", 23034)                                                                       \
    MODEL("l40", "l40", 46068)                                                                     \
    MODEL("l40s", "l40s", 46068)                                                                   \
    MODEL("rtx3090", "rtx3090", 24576)                                                             \
    MODEL("rtx4090", "rtx4090", 24564)                                                             \
    MODEL("rtx5090", "rtx5090", 32607)                                                             \
    MODEL("rtxa6000", "rtxa6000", 49140)                                                           \
    MODEL("h100", "h100", 81559)                                                                   \
    MODEL("h200", "h200", 143771)                                                                  \
    MODEL("gh200", "gh200", 97871)                                                                 \
    MODEL("b200", "b200", 183359)                                                                  \
    MODEL("gb200", "gb200", 189471)

#define AS_ROW(name_, model_, mib)  { .name = name_, .model = model_, .memory_mib = mib },
#define AS_NAME(name_, model_, mib) name_,

static const struct model models[] = { MODELS(AS_ROW) };
static const char *const names[] = { MODELS(AS_NAME) NULL };

const struct model *model_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        if (string_equal(models[i].name, name))
            return &models[i];
    }
    return NULL;
}

const char *const *model_names(void)
{
    return names;
}

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
