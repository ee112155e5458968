/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/sim_engine.h"

#include <signal.h>

static struct sim_engine *engine_of(struct engine *port)
{
    return CONTAINER_OF(port, struct sim_engine, port);
}

static int start(struct engine *port, const struct engine_launch *members, uint32_t count,
                 struct error *err)
{
    (void)err;
    for (uint32_t i = 0; i < count; i++)
        list_add(&engine_of(port)->outcomes,
                 (struct engine_outcome){ .id = members[i].id, .kind = ENGINE_STARTED });
    return 0;
}

static void stop(struct engine *port, const struct engine_attempt *attempt, usec_t grace)
{
    (void)grace;
    for (uint32_t i = 0; i < attempt->count; i++)
        list_add(
            &engine_of(port)->outcomes,
            (struct engine_outcome){ .id = { attempt->job, attempt->attempt, attempt->ranks[i] },
                                     .kind = ENGINE_ENDED,
                                     .exit_code = -1,
                                     .signal = SIGTERM,
                                     .was_stopped = true });
}

void sim_engine_end(struct sim_engine *engine, struct member_id first, uint32_t count)
{
    for (; count > 0; count--, first.rank++)
        list_add(&engine->outcomes, (struct engine_outcome){ .id = first, .kind = ENGINE_ENDED });
}

bool sim_engine_take(struct sim_engine *engine, struct engine_outcome *ret)
{
    if (engine->taken == engine->outcomes.count) {
        engine->taken = engine->outcomes.count = 0;
        return false;
    }
    *ret = engine->outcomes.items[engine->taken++];
    return true;
}

void sim_engine_init(struct sim_engine *engine)
{
    static const struct engine_ops ops = { .name = "sim", .start = start, .stop = stop };

    *engine =
        (struct sim_engine){ .port = { &ops,
                                       { .has_exact_devices = true, .has_fractions = true } } };
}

void sim_engine_release(struct sim_engine *engine)
{
    list_release(&engine->outcomes);
}
