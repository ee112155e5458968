/* SPDX-License-Identifier: Apache-2.0 */

/* Gangs with roles: what is placed is sound, and there is nearly always a place where a search of
 * all of them finds one. */
#include "core/job/role.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos.h"
#include "sched/brain.h"
#include "sched/placement/role_order.h"

enum { SEEDS = 3000, NODES = 3, MEMBERS = 6, DEVICES = 12 };

struct world {
    struct lab *lab;
    struct random random;
    struct role roles[3];
    uint32_t roles_count;
};

static uint32_t below(struct world *world, uint32_t bound)
{
    return random_below(&world->random, bound);
}

static void build(struct world *world)
{
    static const char *const names[] = { "a", "b", "c" };

    for (uint32_t i = 0; i < NODES; i++) {
        lab_node(world->lab, names[i], (2 + below(world, 7)) * 1000, (4 + below(world, 13)) * 1024);
        if (below(world, 4) > 0)
            lab_gpus(world->lab, names[i], "h100", 81920, 1 + below(world, 2));
        if (below(world, 2) > 0)
            lab_gpus(world->lab, names[i], "l4", 24576, 1 + below(world, 2));
    }
    for (uint32_t i = below(world, 4); i > 0; i--)
        lab_submit(world->lab, below(world, 2) ? "1" : "0.5", USEC_NEVER);
    lab_settle(world->lab);
}

static void cast_roles(struct world *world, struct request *request)
{
    static const char *const names[] = { "learner", "actor", "replay" };
    static const char *const asks[] = { "", "1", "2", "h100:1", "l4:1", "h100:1|l4:1", "0.5" };

    world->roles_count = 1 + below(world, 3);
    for (uint32_t i = 0; i < world->roles_count; i++) {
        struct role *role = &world->roles[i];
        memset(role, 0, sizeof(*role));
        snprintf(role->name, sizeof(role->name), "%s", names[i]);
        request_default(&role->request);
        assert_int_equal(
            request_parse_gpus(&role->request, asks[below(world, COUNT_OF(asks))], NULL), 0);
        role->request.members = 1 + below(world, 2);
        role->request.cpu_milli = below(world, 4) * 1000;
        role->request.memory_mib = below(world, 4) * 1024;
    }
    request_default(request);
    request_set_roles(request, world->roles, world->roles_count);
}

/* ---- the search of all places ---- */

struct searching {
    const struct state *state;
    const struct gpu_ask *asks[MEMBERS]; /* NULL: no GPU */
    const struct request *parts[MEMBERS];
    const char *models[MEMBERS]; /* of the devices of each role so far, or NULL */
    uint32_t roles[MEMBERS];
    uint32_t members, steps;
    int64_t cpu[NODES], memory[NODES], milli[DEVICES], mib[DEVICES];
};

static bool place_from(struct searching *searching, uint32_t member);

static bool suits(const struct gpu_ask *ask, const struct device *device)
{
    return !ask->model[0] || strcmp(ask->model, device->model) == 0;
}

/* The devices of the member, from this one on; then the next member. */
static bool place_devices(struct searching *searching, uint32_t member, uint32_t node,
                          uint32_t from, uint32_t left)
{
    const struct gpu_ask *ask = searching->asks[member];

    if (left == 0)
        return place_from(searching, member + 1);
    for (uint32_t i = from; i < searching->state->devices.count; i++) {
        const struct device *device = &searching->state->devices.items[i];
        int64_t milli = ask->kind == SHARE_WHOLE ? GPU_MILLI : ask->milli;
        int64_t mib = device->memory_mib * milli / GPU_MILLI;
        if (device->node != node || !suits(ask, device) || searching->milli[i] < milli ||
            searching->mib[i] < mib)
            continue;
        uint32_t role = searching->roles[member];
        const char *model = searching->models[role];
        if (model && strcmp(model, device->model) != 0)
            continue; /* those of a role are of one model */
        searching->models[role] = device->model;
        searching->milli[i] -= milli;
        searching->mib[i] -= mib;
        bool is_placed = place_devices(searching, member, node, i + 1, left - 1);
        searching->milli[i] += milli;
        searching->mib[i] += mib;
        searching->models[role] = model;
        if (is_placed)
            return true;
    }
    return false;
}

static bool place_from(struct searching *searching, uint32_t member)
{
    bool is_placed = false;

    if (member == searching->members)
        return true;
    const struct request *part = searching->parts[member];
    for (uint32_t node = 0; node < NODES && !is_placed; node++) {
        if (searching->cpu[node] < part->cpu_milli || searching->memory[node] < part->memory_mib)
            continue;
        searching->cpu[node] -= part->cpu_milli;
        searching->memory[node] -= part->memory_mib;
        is_placed = place_devices(searching, member, node, 0,
                                  searching->asks[member] ? searching->asks[member]->count : 0);
        searching->cpu[node] += part->cpu_milli;
        searching->memory[node] += part->memory_mib;
    }
    return is_placed;
}

/* All members of a role by the same alternative: each combination of these in turn. */
static bool is_possible(const struct state *state, const struct request *request)
{
    struct searching searching = { .state = state, .members = request->members };
    struct role_order cast = { .request = request };

    for (uint32_t i = 0; i < NODES; i++) {
        searching.cpu[i] = state->room.nodes.items[i].cpu_milli;
        searching.memory[i] = state->room.nodes.items[i].memory_mib;
    }
    for (uint32_t i = 0; i < state->devices.count; i++) {
        searching.milli[i] = state->room.devices.items[i].milli;
        searching.mib[i] = state->room.devices.items[i].memory_mib;
    }
    do {
        for (uint32_t i = 0, number; i < request->members; i++) {
            uint32_t role = request_part_of(request, i, &number);
            const struct request *part = request_part(request, role);
            searching.parts[i] = part;
            searching.roles[i] = role;
            searching.asks[i] =
                part->gpu_alternatives > 0 ? &part->gpus[cast.alternatives[role]] : NULL;
        }
        if (place_from(&searching, 0))
            return true;
    } while (role_order_next(&cast, CAST_ALL_PLACED));
    return false;
}

/* ---- what comes of it ---- */

static uint64_t submit(struct world *world, const struct request *request)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = world->lab->state->next_id,
                                       .name = "gang",
                                       .user = "ana",
                                       .queue = "default",
                                       .request = *request } };

    lab_tell(world->lab, &event);
    return event.submit.id;
}

static void assert_sound(const struct state *state, const struct request *request,
                         const struct lease *lease)
{
    assert_int_equal(lease->members_count, request->members);
    assert_int_equal(lease->roles_count, request->roles_count);
    for (uint32_t i = 0, number, slice = 0; i < lease->members_count; i++) {
        uint32_t role = request_part_of(request, i, &number), count = 0;
        const struct request *part = request_part(request, role);
        assert_int_equal(lease->members[i].role, role);
        assert_int_equal(lease_cpu_milli(lease, i), part->cpu_milli);
        assert_int_equal(lease_memory_mib(lease, i), part->memory_mib);
        for (; slice < lease->slices_count && lease->slices[slice].rank == i; slice++, count++)
            assert_int_equal(state->devices.items[lease->slices[slice].device].node,
                             lease->members[i].node);
        assert_int_equal(count, part->gpu_alternatives == 0
                                    ? 0
                                    : part->gpus[lease->roles[role].alternative].count);
    }
}

static void a_place_is_found_where_there_is_one(void **state)
{
    uint32_t placed = 0, missed = 0;
    (void)state;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world = { .lab = lab_create(), .random = { seed } };
        struct request request;
        struct place_query query;
        struct lease lease;
        struct why why;

        build(&world);
        cast_roles(&world, &request);
        uint64_t id = submit(&world, &request);
        const struct job *job = lab_job(world.lab, id);
        brain_refresh(world.lab->brain);
        query = brain_query(world.lab->brain, job);
        bool is_placed = place_job(&query, &world.lab->brain->arena, &lease, &why);
        bool could_be = is_possible(world.lab->state, &request);
        if (is_placed && !could_be)
            fail_msg("seed %" PRIu64 ": placed where there is no room", seed);
        if (is_placed)
            assert_sound(world.lab->state, &request, &lease);
        placed += is_placed;
        missed += could_be && !is_placed;
        lab_settle(world.lab);
        assert_int_equal(job->state == JOB_GRANTED, is_placed);
        lab_destroy(world.lab);
    }
    print_message("%" PRIu32 " placed, %" PRIu32 " places missed\n", placed, missed);
    assert_true(placed > SEEDS / 4);
    assert_true(missed < placed / 100);
}

static struct request two_roles(struct role roles[2], const char *learner, const char *actor)
{
    const char *gpus[] = { learner, actor };
    struct request request;

    for (uint32_t i = 0; i < 2; i++) {
        memset(&roles[i], 0, sizeof(roles[i]));
        snprintf(roles[i].name, sizeof(roles[i].name), "%s", i == 0 ? "learner" : "actor");
        request_default(&roles[i].request);
        assert_int_equal(request_parse_gpus(&roles[i].request, gpus[i], NULL), 0);
        roles[i].request.members = i + 1;
        roles[i].request.cpu_milli = 4000 - 2000 * i;
    }
    request_default(&request);
    request_set_roles(&request, roles, 2);
    return request;
}

static void classes_are_told_apart_by_their_roles(void **state)
{
    struct class_table table = { 0 };
    struct role one[2], other[2], same[2];
    struct request first = two_roles(one, "2", "1"), second = two_roles(other, "2", "0.5");
    struct request third = two_roles(same, "2", "1");
    (void)state;

    uint32_t number = class_claim(&table, &first);
    assert_int_not_equal(class_claim(&table, &second), number);
    assert_int_equal(class_claim(&table, &third), number);
    const struct request *kept = class_request(&table, number);
    memset(one, 0, sizeof(one)); /* it has its own */
    assert_string_equal(kept->roles[1].name, "actor");
    assert_int_equal(kept->roles[1].request.nodes_min, 1);
    assert_int_equal(request_milli(kept, 0, 0), 4000);
    assert_int_equal(request_cpus(kept), 8000);
    assert_int_equal(kept->members, 3);
    class_table_release(&table);
}

static void roles_that_make_no_sense_are_refused(void **state)
{
    struct role roles[2];
    struct request request = two_roles(roles, "1", "1");
    struct error err;
    (void)state;

    assert_int_equal(request_check(&request, &err), 0);
    snprintf(roles[1].name, sizeof(roles[1].name), "learner");
    assert_true(request_check(&request, &err) < 0);
    assert_string_equal(err.text, "role learner: there are two of them");
    request = two_roles(roles, "1", "1");
    roles[1].request.members = 0;
    assert_true(request_check(&request, &err) < 0);
    assert_string_equal(err.text, "role actor: ranks: 0, not 1 to 4096");
    request = two_roles(roles, "1", "1");
    request.members = 4;
    assert_true(request_check(&request, &err) < 0);
    assert_string_equal(err.text, "roles: not together with other numbers of members");
    request = two_roles(roles, "1", "1");
    roles[0].name[0] = '-';
    assert_true(request_check(&request, &err) < 0);
    assert_string_equal(err.text, "role -earner: '-earner' is not a valid name");
}

static void events_keep_the_roles(void **state)
{
    struct role roles[2];
    struct request request = two_roles(roles, "h100:2|l4:1", "0.5");
    struct event event = { .kind = EVENT_SUBMIT, .submit = { .id = 1, .request = request } }, read;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct arena arena = { 0 };
    (void)state;

    event_encode(&event, &bytes);
    assert_int_equal(event_decode(bytes.bytes, bytes.length, &arena, &read, NULL), 0);
    assert_int_equal(read.submit.request.roles_count, 2);
    assert_string_equal(read.submit.request.roles[1].name, "actor");
    assert_int_equal(read.submit.request.roles[0].request.gpus[1].count, 1);
    assert_int_equal(request_check(&read.submit.request, NULL), 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_found_where_there_is_one),
        cmocka_unit_test(classes_are_told_apart_by_their_roles),
        cmocka_unit_test(roles_that_make_no_sense_are_refused),
        cmocka_unit_test(events_keep_the_roles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
