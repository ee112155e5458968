/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/request.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "core/job/gang_size.h"
#include "core/job/role.h"

void request_default(struct request *request)
{
    memset(request, 0, sizeof(*request));
    request->cpu_milli = 1000;
    request->max_duration = USEC_NEVER;
    request->members = 1;
    request->nodes_min = 1;
    request->nodes_max = 1;
}

static void format_size(struct text *text, int64_t mib)
{
    if (mib % 1024 == 0)
        text_printf(text, "%" PRId64 "G", mib / 1024);
    else
        text_printf(text, "%" PRId64 "M", mib);
}

static void format_separator(struct text *text, size_t start)
{
    if (text->length > start)
        text_add_char(text, ',');
}

static void format_ask(const struct gpu_ask *ask, struct text *text)
{
    char amount[UNITS_TEXT_SIZE];
    size_t start = text->length;
    bool has_amount = ask->kind == SHARE_WHOLE || (ask->kind == SHARE_FRACTION && ask->milli > 0);

    units_format_milli(amount,
                       ask->kind == SHARE_WHOLE ? (int64_t)ask->count * GPU_MILLI : ask->milli);
    if (ask->model[0])
        text_printf(text, has_amount ? "%s:%s" : "%s", ask->model, amount);
    if (ask->accelerator[0]) {
        format_separator(text, start);
        text_printf(text, has_amount && !ask->model[0] ? "kind=%s:%s" : "kind=%s", ask->accelerator,
                    amount);
        has_amount = false;
    }
    if (ask->size_mib_min > 0) {
        format_separator(text, start);
        format_size(text, ask->size_mib_min);
        text_add(text, "..");
        if (ask->size_mib_max > 0)
            format_size(text, ask->size_mib_max);
        if (has_amount && !ask->model[0])
            text_printf(text, ":%s", amount);
    } else if (has_amount && !ask->model[0]) {
        text_add(text, amount);
    }
    if (ask->kind == SHARE_MIG) {
        format_separator(text, start);
        text_printf(text, ask->count > 1 ? "mig=%s:%u" : "mig=%s", ask->profile,
                    (unsigned)ask->count);
    }
    if (ask->kind == SHARE_MPS) {
        format_separator(text, start);
        text_printf(text, "mps=%s%%", units_format_milli(amount, (int64_t)ask->milli * 100));
    }
    if (ask->memory_mib > 0) {
        format_separator(text, start);
        text_add(text, "mem=");
        format_size(text, ask->memory_mib);
    }
    if (ask->nvlink)
        text_add(text, ",nvlink");
}

void request_format_gpus(const struct request *request, struct text *text)
{
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        if (i > 0)
            text_add_char(text, '|');
        format_ask(&request->gpus[i], text);
    }
}

static void describe_sizes(const struct gpu_ask *ask, struct text *text)
{
    char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];

    if (ask->size_mib_min == 0)
        return;
    units_format_mib(low, ask->size_mib_min);
    if (ask->size_mib_max == 0)
        text_printf(text, " of at least %s", low);
    else
        text_printf(text, " of %s to %s", low, units_format_mib(high, ask->size_mib_max));
}

static void describe_ask(const struct gpu_ask *ask, struct text *text)
{
    char amount[UNITS_TEXT_SIZE];
    const char *name = ask->model[0] ? ask->model : ask->accelerator;
    const char *model = name[0] ? name : "gpu";

    switch ((enum share_kind)ask->kind) {
    case SHARE_WHOLE:
        if (name[0])
            text_printf(text, "%u x %s", (unsigned)ask->count, name);
        else
            text_printf(text, "%u gpu%s", (unsigned)ask->count, ask->count > 1 ? "s" : "");
        break;
    case SHARE_MIG:
        text_printf(text, "%u x mig %s", (unsigned)ask->count, ask->profile);
        if (ask->model[0])
            text_printf(text, " of %s", ask->model);
        break;
    case SHARE_FRACTION:
    case SHARE_MPS:
        if (ask->milli > 0)
            text_printf(text, "%s %s%s", units_format_milli(amount, ask->milli), model,
                        ask->kind == SHARE_MPS ? " by mps" : "");
        else if (ask->model[0])
            text_printf(text, "part of one %s", model);
        if (ask->memory_mib > 0) {
            text_add(text, ask->milli > 0 || ask->model[0] ? ", mem=" : "mem=");
            format_size(text, ask->memory_mib);
        }
        break;
    }
    describe_sizes(ask, text);
    if (ask->nvlink)
        text_add(text, ", linked");
}

/* Of a member: its GPUs, or its CPUs when it has none. */
static void describe_gpus(const struct request *request, struct text *text)
{
    char amount[UNITS_TEXT_SIZE];

    if (request->gpu_alternatives == 0)
        text_printf(text, "%s cpu%s", units_format_milli(amount, request->cpu_milli),
                    request->cpu_milli > 1000 || request->cpu_milli == 0 ? "s" : "");
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        if (i > 0)
            text_add(text, " or ");
        describe_ask(&request->gpus[i], text);
    }
}

void request_describe(const struct request *request, struct text *text)
{
    for (uint32_t i = 0; i < request->roles_count; i++) {
        if (i > 0)
            text_add(text, " and ");
        text_printf(text, "%" PRIu32 " %s of ", request->roles[i].request.members,
                    request->roles[i].name);
        describe_gpus(&request->roles[i].request, text);
    }
    if (request->roles_count > 0)
        return;
    if (request_is_elastic(request))
        text_printf(text, "%" PRIu32 " to %" PRIu32 " members of ", request->members,
                    request->members_max);
    else if (request->members > 1)
        text_printf(text, "%" PRIu32 " members of ", request->members);
    describe_gpus(request, text);
}

/* One member's share of one GPU: what it takes most of, and not more than the whole. */
static int64_t share_milli(const struct gpu_ask *ask, int64_t reference_mib)
{
    int64_t milli = ask->milli;

    if (ask->memory_mib > 0) {
        int64_t by_memory = reference_mib > 0
                                ? (ask->memory_mib * GPU_MILLI + reference_mib - 1) / reference_mib
                            : milli > 0 ? 0
                                        : GPU_MILLI;
        if (by_memory > milli)
            milli = by_memory;
    }
    return milli < GPU_MILLI ? milli : GPU_MILLI;
}

static int64_t part_milli(const struct request *request, uint32_t alternative,
                          int64_t reference_mib)
{
    if (request->gpu_alternatives == 0)
        return 0;
    assert(alternative < request->gpu_alternatives);

    const struct gpu_ask *ask = &request->gpus[alternative];
    int64_t each = GPU_MILLI;
    if (ask->kind == SHARE_MIG) {
        /* memory slices of eight; a board of four has larger ones */
        const char *g = strchr(ask->profile, 'g');
        int64_t slices = g && g > ask->profile ? g[-1] - '0' : REQUEST_MIG_SLICES;
        each = slices < 3 ? slices * GPU_MILLI / 8 : slices < 5 ? GPU_MILLI / 2 : GPU_MILLI;
    } else if (ask->kind != SHARE_WHOLE) {
        each = share_milli(ask, reference_mib);
    }
    return each * ask->count * request->members;
}

int64_t request_milli(const struct request *request, uint32_t alternative, int64_t reference_mib)
{
    int64_t sum = 0;

    if (request->roles_count == 0)
        return part_milli(request, alternative, reference_mib);
    for (uint32_t i = 0; i < request->roles_count; i++) {
        const struct request *part = request_part(request, i);
        sum +=
            part_milli(part, alternative < part->gpu_alternatives ? alternative : 0, reference_mib);
    }
    return sum;
}

static int64_t part_least_milli(const struct request *request)
{
    int64_t least = 0;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        const struct gpu_ask *ask = &request->gpus[i];
        int64_t milli = (int64_t)(ask->milli ? ask->milli : 1) * ask->count * request->members;
        least = i == 0 || milli < least ? milli : least;
    }
    return least;
}

int64_t request_least_milli(const struct request *request)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < request_parts(request); i++)
        sum += part_least_milli(request_part(request, i));
    return sum;
}

DEFINE_NAMES(spot_rule_name, uint8_t, "never", "allow", "prefer", "only")
