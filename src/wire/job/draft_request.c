/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/job/gang_size.h"
#include "wire/job/draft.h"

enum { CPU_MILLI_MAX = 100000 * 1000, GPU_TEXT_MAX = 512 };

static const char gpus_expected[] = "a string or number like h100:2";

/* The alternatives of any_of with '|' between them. */
static int join_any_of(const struct reader *reader, const json_t *map, struct text *gpus)
{
    const json_t *list = reader_get(map, "any_of");
    char buffer[READER_SCALAR_SIZE];

    if (!json_is_array(list) || json_array_size(list) == 0)
        return reader_fail(reader, -EINVAL, map, "any_of", "expected a list like [\"h100:1\", 2]");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);

        if (!json_is_string(item) && !json_is_number(item))
            return reader_fail(reader, -EINVAL, map, "any_of", "expected %s, not %s", gpus_expected,
                               reader_kind(item));
        if (gpus->length > GPU_TEXT_MAX)
            return reader_fail(reader, -E2BIG, map, "any_of", "longer than %d bytes", GPU_TEXT_MAX);
        text_printf(gpus, "%s%s", i > 0 ? "|" : "",
                    json_is_string(item) ? json_string_value(item) : number_spell(item, buffer));
    }
    return 0;
}

enum sharing { SHARING_ANY, SHARING_EXCLUSIVE, SHARING_MPS };

/* What the key "sharing" asks of the shares that the grammar gave. */
static int apply_sharing(const struct reader *reader, const json_t *map, enum sharing sharing,
                         struct request *request)
{
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        struct gpu_ask *ask = &request->gpus[i];
        bool is_share = ask->kind == SHARE_FRACTION || ask->kind == SHARE_MPS;

        if (sharing == SHARING_EXCLUSIVE && is_share)
            return reader_fail(reader, -EINVAL, map, "sharing",
                               "exclusive, but a part of a gpu is asked for");
        if (sharing == SHARING_MPS && !(is_share && ask->milli > 0))
            return reader_fail(reader, -EINVAL, map, "sharing",
                               "mps, but no part like 0.5 is asked for");
        if (sharing == SHARING_MPS)
            ask->kind = SHARE_MPS;
    }
    return 0;
}

static int read_gpu_map(const struct scope_layer *layer, const json_t *map, struct request *request)
{
    static const char *const keys[] = { "any_of", "sharing", NULL };
    static const char *const words[] = { "any", "exclusive", "mps", NULL };
    AUTO_RELEASE(text) struct text gpus = { 0 };
    struct reader inner = layer->reader;
    size_t word = SHARING_ANY;

    snprintf(inner.where, sizeof(inner.where), "%.*s%sgpus", READER_WHERE_SIZE - 16,
             layer->reader.where, layer->reader.where[0] ? ": " : "");
    int code = reader_check_keys(&inner, map, keys);
    if (code == 0)
        code = reader_word(&inner, map, "sharing", words, &word);
    if (code == 0)
        code = join_any_of(&inner, map, &gpus);
    if (code < 0)
        return code;
    code = request_parse_gpus(request, text_string(&gpus), inner.err);
    if (code < 0)
        return reader_place_line(&layer->reader, code, map, "any_of");
    return apply_sharing(&inner, map, (enum sharing)word, request);
}

static int read_gpus(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = scope_find(source->scope, "gpus");
    const json_t *value = reader_get(layer->object, "gpus");
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    if (json_is_object(value))
        return read_gpu_map(layer, value, &draft->request);
    int code = reader_scalar(&layer->reader, layer->object, "gpus", gpus_expected, buffer, &text);
    if (code < 0 || !text)
        return code;
    code = request_parse_gpus(&draft->request, text, layer->reader.err);
    return code < 0 ? reader_place_line(&layer->reader, code, layer->object, "gpus") : 0;
}

static int read_cpus_and_memory(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *cpus = scope_find(source->scope, "cpus");
    const struct scope_layer *memory = scope_find(source->scope, "memory");
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code =
        reader_milli(&cpus->reader, cpus->object, "cpus", CPU_MILLI_MAX, &draft->request.cpu_milli);
    if (code < 0)
        return code;
    draft->request.cpu_given = reader_get(cpus->object, "cpus") != NULL;
    code =
        reader_scalar(&memory->reader, memory->object, "memory", "a size like 8G", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = units_parse_mib(text, &draft->request.memory_mib, memory->reader.err);
    if (code < 0)
        return reader_place(&memory->reader, code, memory->object, "memory");
    draft->request.memory_given = draft->request.memory_mib > 0;
    return 0;
}

/* "2" or "1..2" */
static bool parse_nodes(const char *text, uint32_t *ret_min, uint32_t *ret_max)
{
    char rest;

    if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 12)
        return false;
    if (sscanf(text, "%" SCNu32 "%c", ret_min, &rest) == 1) {
        *ret_max = *ret_min;
        return true;
    }
    return sscanf(text, "%" SCNu32 "..%" SCNu32 "%c", ret_min, ret_max, &rest) == 2;
}

/* "4", or "2..8" of an elastic gang. */
static int read_ranks(const struct draft_source *source, struct request *request, bool *ret_given)
{
    const struct scope_layer *layer = scope_find(source->scope, "ranks");
    const json_t *value = reader_get(layer->object, "ranks");
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    int64_t members = 0;
    uint32_t least, most;

    *ret_given = value != NULL;
    if (!strstr(text, "..")) {
        int code = reader_integer(&layer->reader, layer->object, "ranks", 1, REQUEST_MEMBERS_MAX,
                                  &members);
        request->members = members > 0 ? (uint32_t)members : 1;
        return code;
    }
    if (!parse_nodes(text, &least, &most) || least < 1 || most < least ||
        most > REQUEST_MEMBERS_MAX)
        return reader_fail(&layer->reader, -EINVAL, layer->object, "ranks",
                           "'%.40s': expected 1 to %d, or a range like 2..8", text,
                           REQUEST_MEMBERS_MAX);
    request->members = least;
    request->members_max = most > least ? most : 0;
    return 0;
}

/* Without ranks there is one member on each node. */
static int read_members(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *nodes = scope_find(source->scope, "nodes");
    struct request *request = &draft->request;
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    bool has_ranks;

    int code = read_ranks(source, request, &has_ranks);
    if (code == 0)
        code = reader_scalar(&nodes->reader, nodes->object, "nodes", "a number, or 1..2", buffer,
                             &text);
    if (code < 0)
        return code;
    if (text &&
        (!parse_nodes(text, &request->nodes_min, &request->nodes_max) || request->nodes_min < 1 ||
         request->nodes_max < request->nodes_min || request->nodes_max > REQUEST_MEMBERS_MAX))
        return reader_fail(&nodes->reader, -EINVAL, nodes->object, "nodes",
                           "'%.40s': expected 1 to %d, or a range like 1..2", text,
                           REQUEST_MEMBERS_MAX);
    if (has_ranks)
        return 0;
    request->members = request->nodes_min;
    if (request->nodes_max > request->nodes_min) {
        request->members_max = request->nodes_max;
        request->nodes_max = request->nodes_min;
        request->per_node = 1;
    }
    return 0;
}

/* Both are about elastic gangs alone. */
static int read_sizes(const struct draft_source *source, struct job_draft *draft)
{
    static const char *const sizes[] = { "powers", "any", NULL };
    static const char *const resizes[] = { "restart", "never", "live", NULL };
    const struct scope_layer *size = scope_find(source->scope, "sizes");
    const struct scope_layer *resize = scope_find(source->scope, "resize");
    size_t word = SIZES_POWERS, how = RESIZE_RESTART;

    int code = reader_word(&size->reader, size->object, "sizes", sizes, &word);
    if (code == 0)
        code = reader_word(&resize->reader, resize->object, "resize", resizes, &how);
    if (code < 0)
        return code;
    if (how > RESIZE_NEVER)
        return reader_fail(&resize->reader, -ENOTSUP, resize->object, "resize",
                           "live: not supported yet; expected restart or never");
    if (!request_is_elastic(&draft->request))
        return 0; /* defaults say it for all stages */
    draft->request.sizes = (uint8_t)word;
    draft->resize = (enum resize)how;
    return 0;
}

static int read_loss(const struct draft_source *source, struct job_draft *draft)
{
    static const char *const words[] = { "end", "heal", "go_on", NULL };
    enum { END, HEAL, GO_ON };
    const struct scope_layer *loss = scope_find(source->scope, "on_member_loss");
    const struct scope_layer *heals = scope_find(source->scope, "heals");
    size_t word = END;
    int64_t count = SUBMISSION_HEALS;

    int code = reader_word(&loss->reader, loss->object, "on_member_loss", words, &word);
    if (code == 0)
        code =
            reader_integer(&heals->reader, heals->object, "heals", 1, SUBMISSION_HEALS_MAX, &count);
    if (code < 0)
        return code;
    bool is_elastic = request_is_elastic(&draft->request);
    if (word == GO_ON && !is_elastic && loss == &source->scope->layers[0])
        return reader_fail(&loss->reader, -EINVAL, loss->object, "on_member_loss",
                           "go_on: without a least number of members, as in ranks: 2..8, none can "
                           "be missing; see heal");
    if (word == END && reader_get(heals->object, "heals"))
        return reader_fail(&heals->reader, -EINVAL, heals->object, "heals",
                           "without on_member_loss: heal it is never healed");
    draft->goes_on = word == GO_ON && is_elastic; /* defaults say it for all stages */
    draft->heals = word != END ? (uint32_t)count : 0;
    return 0;
}

int draft_read_member(const struct draft_source *source, struct job_draft *draft)
{
    int code = read_gpus(source, draft);

    return code < 0 ? code : read_cpus_and_memory(source, draft);
}

/* Of all alike, or of the roles, which are read already. */
static int read_whole(const struct draft_source *source, struct job_draft *draft)
{
    if (draft->role_count > 0) {
        request_set_roles(&draft->request, draft->roles, draft->role_count);
        return 0;
    }
    int code = draft_read_member(source, draft);
    return code < 0 ? code : read_members(source, draft);
}

int draft_read_request(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];

    int code = read_whole(source, draft);
    if (code == 0)
        code = read_sizes(source, draft);
    if (code == 0)
        code = read_loss(source, draft);
    if (code < 0)
        return code;
    code = request_check(&draft->request, layer->reader.err);
    return code < 0 ? reader_place(&layer->reader, code, layer->object, NULL) : 0;
}
