/* SPDX-License-Identifier: Apache-2.0 */
#include "device/model.h"

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
