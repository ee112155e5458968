/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/engine.h"
#include "core/job/gang_size.h"
#include "core/predict/speed.h"
#include "wire/job/draft.h"
#include "wire/job/signal_name.h"

enum { CPU_MILLI_MAX = 100000 * 1000, GPU_TEXT_MAX = 512 };
#define WARN_BEFORE (60 * USEC_PER_SEC) /* as in Slurm */

static const char speeds_expected[] = "models and speeds like {a100: 3, k80: 1}";
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
                               "exclusive, but a part of a gpu is requested");
        if (sharing == SHARING_MPS && !(is_share && ask->milli > 0))
            return reader_fail(reader, -EINVAL, map, "sharing",
                               "mps, but no part like 0.5 is requested");
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
    const struct reader inner = layer_inside(layer, "gpus").reader;
    size_t word = SHARING_ANY;

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

static int read_gpus(const struct draft_key *key, struct job_draft *draft)
{
    if (!key->text)
        return read_gpu_map(key->layer, key->value, &draft->request);
    int code = request_parse_gpus(&draft->request, key->text, key->reader->err);
    return code < 0 ? reader_place_line(key->reader, code, key->object, key->name) : 0;
}

/* After gpus: of the two, the one of the inner layer counts. */
static int read_accelerator(const struct draft_key *key, struct job_draft *draft)
{
    struct draft_key gpus = draft_key_of(key->source, "gpus");

    if (gpus.value && gpus.layer == key->layer)
        return key_fail(key, -EINVAL, "'%.40s' and gpus at once; expected one of them", key->text);
    if (gpus.value && gpus.layer < key->layer)
        return 0;
    int code = request_parse_accelerator(&draft->request, key->text, key->reader->err);
    return code < 0 ? reader_place_line(key->reader, code, key->object, key->name) : 0;
}

static int read_cpus(const struct draft_key *key, struct job_draft *draft)
{
    draft->request.cpu_given = true;
    return reader_milli(key->reader, key->object, key->name, CPU_MILLI_MAX,
                        &draft->request.cpu_milli);
}

static int read_memory(const struct draft_key *key, struct job_draft *draft)
{
    int64_t *mib = &draft->request.memory_mib;

    draft->all_memory = strcmp(key->text, "all") == 0;
    if (draft->all_memory)
        return 0;
    int code = units_parse_mib(key->text, mib, key->reader->err);
    draft->request.memory_given = *mib > 0;
    return key_check(key, code);
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
static int read_ranks(const struct draft_key *key, struct job_draft *draft)
{
    struct request *request = &draft->request;
    const char *text = json_string_value(key->value);
    int64_t members = 1;
    uint32_t least, most;

    if (!text || !strstr(text, "..")) {
        int code =
            reader_integer(key->reader, key->object, key->name, 1, REQUEST_MEMBERS_MAX, &members);
        request->members = (uint32_t)members;
        return code;
    }
    if (!parse_nodes(text, &least, &most) || least < 1 || most < least ||
        most > REQUEST_MEMBERS_MAX)
        return key_fail(key, -EINVAL, "'%.40s': expected 1 to %d, or a range like 2..8", text,
                        REQUEST_MEMBERS_MAX);
    request->members = least;
    request->members_max = most > least ? most : 0;
    return 0;
}

/* After ranks: without them there is one member on each node. */
static int read_nodes(const struct draft_key *key, struct job_draft *draft)
{
    struct request *request = &draft->request;

    if (!parse_nodes(key->text, &request->nodes_min, &request->nodes_max) ||
        request->nodes_min < 1 || request->nodes_max < request->nodes_min ||
        request->nodes_max > REQUEST_MEMBERS_MAX)
        return key_fail(key, -EINVAL, "'%.40s': expected 1 to %d, or a range like 1..2", key->text,
                        REQUEST_MEMBERS_MAX);
    if (draft_key_of(key->source, "ranks").value)
        return 0;
    request->members = request->nodes_min;
    if (request->nodes_max > request->nodes_min) {
        request->members_max = request->nodes_max;
        request->nodes_max = request->nodes_min;
        request->per_node = 1;
    }
    return 0;
}

static int read_work(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { "any", "training", "inference", NULL };
    size_t word = WORK_ANY;

    int code = reader_word(key->reader, key->object, key->name, words, &word);
    draft->request.work = (uint8_t)word;
    return code;
}

/* {a100: 3, k80: 1}, or the same as a text. */
static int read_speeds(const struct draft_key *key, struct job_draft *draft)
{
    char buffer[READER_SCALAR_SIZE];
    const char *name;
    json_t *value;
    int code = 0;

    draft->speeds.count = 0;
    if (key->text)
        code = own_speeds_parse(&draft->speeds, key->text, key->reader->err);
    json_object_foreach((json_t *)(uintptr_t)key->value, name, value)
    {
        if (!json_is_number(value))
            return key_fail(key, -EINVAL, "expected %s", speeds_expected);
        if (code == 0)
            code = own_speeds_read(&draft->speeds, name, number_spell(value, buffer),
                                   key->reader->err);
    }
    draft->request.speeds = draft->speeds.items;
    draft->request.speeds_count = (uint32_t)draft->speeds.count;
    if (code == 0 && draft->speeds.count > 0 && !request_wants_gpus(&draft->request) &&
        key->layer == &key->source->scope->layers[0]) /* defaults say it for all stages */
        return key_fail(key, -EINVAL, "no effect without gpus");
    return key_check(key, code);
}

/* sizes and resize are about elastic gangs alone; defaults say them for all stages. */
static int read_sizes(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { "powers", "any", NULL };
    size_t word = SIZES_POWERS;

    int code = reader_word(key->reader, key->object, key->name, words, &word);
    if (request_is_elastic(&draft->request))
        draft->request.sizes = (uint8_t)word;
    return code;
}

static int read_resize(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { "restart", "never", "live", NULL };
    size_t how = RESIZE_RESTART;

    int code = reader_word(key->reader, key->object, key->name, words, &how);
    if (how > RESIZE_NEVER)
        return key_fail(key, -ENOTSUP, "live: not supported yet; expected restart or never");
    if (request_is_elastic(&draft->request))
        draft->resize = (enum resize)how;
    return code;
}

/* With heals. */
static int read_loss(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { "end", "heal", "go_on", NULL };
    enum { END, HEAL, GO_ON };
    struct draft_key heals = draft_key_of(key->source, "heals");
    size_t word = END;
    int64_t count = SUBMISSION_HEALS;

    int code = reader_word(key->reader, key->object, key->name, words, &word);
    if (code == 0)
        code = reader_integer(&heals.layer->reader, heals.layer->object, heals.name, 1,
                              SUBMISSION_HEALS_MAX, &count);
    if (code < 0)
        return code;
    bool is_elastic = request_is_elastic(&draft->request);
    if (word == GO_ON && !is_elastic && key->layer == &key->source->scope->layers[0])
        return key_fail(key, -EINVAL,
                        "go_on: only for a gang with a minimum size, like ranks: 2..8; heal "
                        "restarts other gangs");
    if (word == END && heals.value)
        return key_fail(&heals, -EINVAL, "no effect without on_member_loss: heal");
    draft->goes_on = word == GO_ON && is_elastic; /* defaults say it for all stages */
    draft->heals = word != END ? (uint32_t)count : 0;
    return 0;
}

static const struct draft_row request_rows[] = {
    { "gpus", .read = read_gpus, .expected = gpus_expected, .may_be_map = true },
    { "accelerator", .read = read_accelerator, .expected = "a kind and a number like tpu:4" },
    { "cpus", .read = read_cpus },
    { "memory", .read = read_memory, .expected = "a size like 8G, or all" },
    { "ranks", .read = read_ranks },
    { "nodes", .read = read_nodes, .expected = "a number, or 1..2" },
    { "work", .read = read_work },
    { "speeds", .read = read_speeds, .expected = speeds_expected, .may_be_map = true },
    { "sizes", .read = read_sizes },
    { "resize", .read = read_resize },
    { "on_member_loss", .read = read_loss, .is_always = true },
};
enum { MEMBER_ROWS = 4, WHOLE_ROWS = 6 }; /* those of a member, and of all members together */

int draft_read_member(const struct draft_source *source, struct job_draft *draft)
{
    return draft_read_keys(source, request_rows, MEMBER_ROWS, draft);
}

/* Of all alike, or of the roles, which are read already. */
int draft_read_request(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];

    size_t first = draft->role_count > 0 ? WHOLE_ROWS : 0;

    if (draft->role_count > 0)
        request_set_roles(&draft->request, draft->roles, draft->role_count);
    int code = draft_read_keys(source, &request_rows[first], COUNT_OF(request_rows) - first, draft);
    if (code < 0)
        return code;
    code = request_check(&draft->request, layer->reader.err);
    return code < 0 ? reader_place(&layer->reader, code, layer->object, NULL) : 0;
}

/* ---- how a job saves its work ---- */

static int read_every(const struct draft_key *key, struct job_draft *draft)
{
    usec_t *every = &draft->checkpoint_every;

    draft->checkpoint_auto = strcmp(key->text, "auto") == 0;
    if (draft->checkpoint_auto)
        return 0;
    if (strcmp(key->text, "never") == 0) {
        *every = USEC_NEVER;
        return 0;
    }
    int code = reader_duration(key->reader, key->object, key->name, every);
    if (code == 0 && *every < USEC_PER_SEC)
        return key_fail(key, -EINVAL, "'%.40s': expected 1s or more, auto or never", key->text);
    if (code == 0 && *every > 365 * USEC_PER_DAY)
        return key_fail(key, -ERANGE, "longer than a year");
    return code;
}

static int read_signal(const struct draft_key *key, struct job_draft *draft)
{
    int number = signal_parse(key->text, key->reader->err);

    draft->stop_signal = (uint8_t)(number > 0 ? number : 0);
    return key_check(key, number);
}

static int read_warn_signal(const struct draft_key *key, struct job_draft *draft)
{
    int number = signal_parse(key->text, key->reader->err);

    draft->warn_signal = (uint8_t)(number > 0 ? number : 0);
    return key_check(key, number);
}

static int read_warn_to(const struct draft_key *key, struct job_draft *draft)
{
    static const char *const words[] = { [ENGINE_WARN_ALL] = "all",
                                         [ENGINE_WARN_SHELL] = "shell",
                                         [ENGINE_WARN_STEPS] = "steps",
                                         NULL };
    size_t word = ENGINE_WARN_ALL;

    int code = reader_word(key->reader, key->object, key->name, words, &word);
    draft->warn_to = (uint8_t)word;
    return code;
}

/* {signal: USR1, before: 2m, to: steps} */
int draft_read_warn(const struct draft_key *key, struct job_draft *draft)
{
    static const struct draft_row rows[] = {
        { "signal", .read = read_warn_signal, .expected = "a signal" },
        { "before", .read = read_duration, .offset = OF_DRAFT(warn_before), UP_TO_A_DAY },
        { "to", .read = read_warn_to },
    };

    draft->warn_before = WARN_BEFORE;
    if (!json_is_object(key->value))
        return key_fail(key, -EINVAL, "expected a map like {signal: USR1, before: 2m}, not %s",
                        reader_kind(key->value));
    int code = draft_read_map(key, rows, COUNT_OF(rows), draft);
    return code == 0 && draft->warn_signal == 0
               ? key_fail(key, -EINVAL, "expected a signal, as in {signal: USR1, before: 2m}")
               : code;
}

static int read_grace(const struct draft_key *key, struct job_draft *draft)
{
    usec_t of_job = draft->grace;

    int code = read_duration(key, draft);
    if (code == 0 && of_job >= 0 && draft->grace != of_job)
        return key_fail(key, -EINVAL, "not the same as the job's own grace; expected one of them");
    return code;
}

int draft_read_checkpoint(const struct draft_key *key, struct job_draft *draft)
{
    static const struct draft_row rows[] = {
        { "every", .read = read_every, .expected = "a duration, auto or never" },
        { "takes", .read = read_duration, .offset = OF_DRAFT(checkpoint_takes), UP_TO_A_DAY },
        { "signal", .read = read_signal, .expected = "a signal" },
        { "grace", .read = read_grace, .offset = OF_DRAFT(grace), UP_TO_A_DAY },
    };

    if (!json_is_object(key->value))
        return key_fail(key, -EINVAL, "expected a map like {every: 10m, signal: USR1}, not %s",
                        reader_kind(key->value));
    return draft_read_map(key, rows, COUNT_OF(rows), draft);
}
