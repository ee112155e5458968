/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/failure_rate.h"

#include <assert.h>

#include "base/wide.h"

#define MTBF_TIME_MAX (USEC_NEVER / 4)

static usec_t time_of(const struct mtbf *mtbf, enum mtbf_kind kind, usec_t now)
{
    uint64_t since = now > mtbf->at ? (uint64_t)(now - mtbf->at) : 0;
    uint64_t more = wide_scale(since, mtbf->up[kind], 1);

    return more < (uint64_t)(MTBF_TIME_MAX - mtbf->time[kind]) ? mtbf->time[kind] + (usec_t)more
                                                               : MTBF_TIME_MAX;
}

void mtbf_advance(struct mtbf *mtbf, usec_t now)
{
    if (now <= mtbf->at)
        return;
    for (enum mtbf_kind kind = 0; kind < MTBF_KINDS; kind++)
        mtbf->time[kind] = time_of(mtbf, kind, now);
    mtbf->at = now;
}

usec_t mtbf_of(const struct mtbf *mtbf, enum mtbf_kind kind, usec_t now)
{
    usec_t prior = kind == MTBF_SPOT ? MTBF_PRIOR_SPOT : MTBF_PRIOR;

    return (prior + time_of(mtbf, kind, now)) / (1 + (usec_t)mtbf->interruptions[kind]);
}

/* 1 / (own/Mo + spot/Ms) = Mo Ms / (own Ms + spot Mo) */
usec_t mtbf_of_gang(const struct mtbf *mtbf, const uint32_t counts[MTBF_KINDS], usec_t now)
{
    uint64_t own = (uint64_t)mtbf_of(mtbf, MTBF_OWN, now);
    uint64_t spot = (uint64_t)mtbf_of(mtbf, MTBF_SPOT, now);
    wide_t rate = (wide_t)counts[MTBF_OWN] * spot + (wide_t)counts[MTBF_SPOT] * own;

    assert(rate > 0);
    usec_t between = (usec_t)((wide_t)own * spot / rate);
    return between > 0 ? between : 1;
}
