/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_check.h"

#include <stdlib.h>

#define INVARIANT(name, when, decision, meaning)                                                   \
    { #name, meaning, FUZZ_##when, EVENT_##decision, check_##name },
const struct fuzz_invariant fuzz_invariants[] = {
#include "worlds/fuzz_check.def"
};
#undef INVARIANT
const size_t fuzz_invariant_count = COUNT_OF(fuzz_invariants);

struct fuzz_checks *fuzz_checks_create(void)
{
    return mem_zero(1, sizeof(struct fuzz_checks));
}

void fuzz_checks_destroy(struct fuzz_checks *checks)
{
    if (!checks)
        return;
    list_release(&checks->misfits);
    map_release(&checks->seen);
    free(checks);
}

void fuzz_check(struct fuzz_run *run, enum fuzz_when when, const struct event *decision)
{
    enum event_kind kind = decision ? decision->kind : EVENT_NONE;
    struct error found;

    if (!run->checks)
        return;
    if (when == FUZZ_SETTLED)
        run->checks->settled++;
    if (when == FUZZ_SAMPLED && run->checks->settled % run->look->sample != 0)
        return;
    for (size_t i = 0; i < fuzz_invariant_count && !run->failure.invariant; i++) {
        const struct fuzz_invariant *invariant = &fuzz_invariants[i];
        if (invariant->when == when && invariant->decision == kind &&
            !invariant->holds(run, decision, &found))
            fuzz_fail(run, invariant->name, &found);
    }
}
