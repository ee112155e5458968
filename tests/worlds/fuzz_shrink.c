/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_shrink.h"

#include <stdlib.h>
#include <string.h>

struct shrinking {
    struct fuzz_world *world; /* that fails */
    struct fuzz_failure failure;
    uint32_t runs_left;
    struct fuzz_look look;
};

static bool fails_alike(struct shrinking *shrinking, const struct fuzz_world *world)
{
    struct fuzz_result result;

    if (shrinking->runs_left == 0)
        return false;
    shrinking->runs_left--;
    fuzz_run(world, &shrinking->look, &result);
    if (!result.failure.invariant ||
        strcmp(result.failure.invariant, shrinking->failure.invariant) != 0)
        return false;
    shrinking->failure = result.failure;
    return true;
}

/* Nothing after the action that it failed at can matter. */
static void cut_end(struct shrinking *shrinking)
{
    size_t step = shrinking->failure.step;

    if (step > 0 && step < shrinking->world->actions.count)
        shrinking->world->actions.count = step;
}

static bool try_without(struct shrinking *shrinking, size_t from, size_t to)
{
    struct fuzz_world *world = shrinking->world;
    bool *is_kept = mem_zero(world->actions.count, sizeof(bool));

    for (size_t i = 0; i < world->actions.count; i++)
        is_kept[i] = i < from || i >= to;
    struct fuzz_world *part = fuzz_world_part(world, is_kept);
    free(is_kept);
    if (!fails_alike(shrinking, part)) {
        fuzz_world_destroy(part);
        return false;
    }
    fuzz_world_destroy(world);
    shrinking->world = part;
    cut_end(shrinking);
    return true;
}

/* From the end: what comes later hangs on what came before. */
static bool drop_parts(struct shrinking *shrinking, size_t size)
{
    bool is_any = false;

    for (size_t to = shrinking->world->actions.count; to > 0;) {
        size_t from = to > size ? to - size : 0;
        is_any |= try_without(shrinking, from, to);
        to = from < shrinking->world->actions.count ? from : shrinking->world->actions.count;
    }
    return is_any;
}

static void drop_actions(struct shrinking *shrinking)
{
    for (size_t size = shrinking->world->actions.count / 2; size > 1; size /= 2)
        drop_parts(shrinking, size);
    while (shrinking->runs_left > 0 && drop_parts(shrinking, 1))
        continue;
}

/* ---- plainer ---- */

static bool is_plain(const struct field *field, const char *at)
{
    const char *string;

    if (field->kind != FIELD_TEXT) {
        char plain[256] = { 0 };
        memcpy(plain, &field->missing, sizeof(field->missing)); /* little-endian */
        return memcmp(at, plain, field->size) == 0;
    }
    memcpy(&string, at, sizeof(string));
    return !string || !string[0];
}

static void make_plain(const struct field *field, char *at)
{
    static const char *const empty = "";

    memset(at, 0, field->size);
    if (field->missing != 0)
        memcpy(at, &field->missing, field->size);
    if (field->kind == FIELD_TEXT)
        memcpy(at, &empty, sizeof(empty));
}

/* Without it there would be no such event, or another one. */
static bool is_needed(const struct field *field)
{
    static const char *const names[] = {
        "id", "job", "name", "node", "uuid", "members", "nodes_min"
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(field->name, names[i]) == 0)
            return true;
    }
    return false;
}

/* NUMBERs and texts; of a record inside, the same. */
static void plain_fields(struct shrinking *shrinking, const struct record_type *type, char *object)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        char *at = object + field->offset, kept[256];
        if (field->kind == FIELD_RECORD)
            plain_fields(shrinking, field->type, at);
        if (field->kind >= FIELD_RECORD || is_needed(field) || field->size > sizeof(kept) ||
            is_plain(field, at))
            continue;
        memcpy(kept, at, field->size);
        make_plain(field, at);
        if (!fails_alike(shrinking, shrinking->world))
            memcpy(at, kept, field->size);
    }
}

static void plain_temper(struct shrinking *shrinking)
{
    struct fuzz_temper *temper = &shrinking->world->temper;
    uint8_t *knobs[] = { &temper->is_twin, &temper->is_repeated, &temper->fails,   &temper->late,
                         &temper->doubled, &temper->silent,      &temper->chooses, &temper->old };

    for (size_t i = 0; i < COUNT_OF(knobs); i++) {
        uint8_t kept = *knobs[i];
        *knobs[i] = 0;
        if (kept != 0 && !fails_alike(shrinking, shrinking->world))
            *knobs[i] = kept;
    }
}

struct fuzz_world *fuzz_shrink(const struct fuzz_world *world, const struct fuzz_look *look,
                               const struct fuzz_failure *failure, uint32_t runs_max,
                               struct fuzz_failure *ret_failure)
{
    struct shrinking shrinking = { .failure = *failure, .runs_left = runs_max, .look = *look };
    bool *is_kept = mem_zero(world->actions.count + 1, sizeof(bool));

    for (size_t i = 0; i < world->actions.count; i++)
        is_kept[i] = true;
    shrinking.world = fuzz_world_part(world, is_kept);
    free(is_kept);
    cut_end(&shrinking);
    /* Looked at always, it fails no later, and not because of how many instants there were. */
    shrinking.look.sample = 1;
    if (fails_alike(&shrinking, shrinking.world))
        cut_end(&shrinking);
    else
        shrinking.look.sample = look->sample;
    drop_actions(&shrinking);
    plain_temper(&shrinking);
    for (size_t i = 0; i < shrinking.world->actions.count && shrinking.runs_left > 0; i++) {
        struct fuzz_action *action = &shrinking.world->actions.items[i];
        if (action->kind == FUZZ_EVENT)
            plain_fields(&shrinking, event_type(action->event.kind), (char *)&action->event.boot);
    }
    drop_actions(&shrinking);
    *ret_failure = shrinking.failure;
    return shrinking.world;
}
