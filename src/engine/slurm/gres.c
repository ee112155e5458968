/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/gres.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The part after this one: commas in brackets do not separate. */
static const char *next_part(const char *at)
{
    int depth = 0;

    for (; *at && (*at != ',' || depth > 0); at++)
        depth += (*at == '(') - (*at == ')');
    return *at ? at + 1 : at;
}

/* NULL: it is another resource. */
static const char *after(const char *part, const char *name)
{
    size_t length = strcspn(part, ":,(");

    return length == strlen(name) && strncmp(part, name, length) == 0 ? part + length : NULL;
}

/* The number is the last word: gpu, gpu:2, gpu:h100, gpu:h100:2, mps:1K. */
static uint64_t count_at(const char *at)
{
    const char *number = at + strcspn(at, ",(");
    char *end;

    while (number > at && number[-1] != ':')
        number--;
    if (number == at || !isdigit((unsigned char)*number))
        return 1;
    uint64_t count = strtoul(number, &end, 10);
    return *end == 'K' ? count << 10 : *end == 'M' ? count << 20 : count;
}

uint32_t gres_models(const char *gres, char (**ret_models)[GRES_MODEL_SIZE])
{
    uint32_t count = 0;

    *ret_models = mem_zero(GRES_INDEX_MAX, sizeof(**ret_models));
    for (const char *part = gres ? gres : ""; *part; part = next_part(part)) {
        const char *at = after(part, "gpu");
        char model[GRES_MODEL_SIZE] = "gpu";
        size_t length = at && *at == ':' ? strcspn(at + 1, ":,(") : 0;
        if (!at)
            continue;
        if (length > 0 && length < sizeof(model) && !isdigit((unsigned char)at[1])) {
            for (size_t i = 0; i < length; i++)
                model[i] = (char)tolower((unsigned char)at[1 + i]);
            model[length] = '\0';
        }
        for (uint64_t found = count_at(at); found > 0 && count < GRES_INDEX_MAX; found--)
            snprintf((*ret_models)[count++], GRES_MODEL_SIZE, "%s", model);
    }
    return count;
}

uint32_t gres_count(const char *gres)
{
    AUTO_FREE char(*models)[GRES_MODEL_SIZE] = NULL;

    return gres_models(gres, &models);
}

uint32_t gres_parts(const char *gres, const char *name)
{
    uint64_t count = 0;
    uint32_t gpus = gres_count(gres);

    for (const char *part = gres ? gres : ""; *part; part = next_part(part)) {
        const char *at = after(part, name);
        count += at ? count_at(at) : 0;
    }
    return gpus > 0 && count / gpus <= UINT32_MAX ? (uint32_t)(count / gpus) : 0;
}

uint64_t gres_number(const char *text)
{
    const char *colon = text ? strrchr(text, ':') : NULL;

    return colon && isdigit((unsigned char)colon[1]) ? count_at(colon) : 0;
}

static const char *add_range(const char *at, uint32_t *indices, uint32_t *count)
{
    char *end;
    unsigned long first = strtoul(at, &end, 10), last = first;

    if (end == at)
        return NULL;
    if (*end == '-')
        last = strtoul(end + 1, &end, 10);
    for (; first <= last && first < GRES_INDEX_MAX && *count < GRES_INDEX_MAX; first++)
        indices[(*count)++] = (uint32_t)first;
    return *end == ',' ? end + 1 : NULL;
}

uint32_t gres_indices(const char *gres, uint32_t **ret_indices)
{
    uint32_t count = 0;

    *ret_indices = mem_zero(GRES_INDEX_MAX, sizeof(**ret_indices));
    for (const char *part = gres ? gres : ""; *part; part = next_part(part)) {
        bool is_of_gpus = after(part, "gpu") || after(part, "shard") || after(part, "mps");
        const char *brackets = is_of_gpus ? strstr(part, "(IDX:") : NULL;
        if (!brackets || brackets > next_part(part))
            continue;
        for (const char *at = brackets + 5; at;)
            at = add_range(at, *ret_indices, &count);
    }
    return count;
}
