/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/handover.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/health/health.h"
#include "core/probe.h"

void handover_begin(struct handover *handover, uint64_t job, usec_t now)
{
    handover->is_open = handover->is_after = true;
    handover->is_mode_kept = false;
    handover->reset = 0;
    handover->since = now;
    handover->job = job;
}

void handover_renew(struct handover *handover, usec_t now)
{
    assert(handover->is_open);
    handover->since = now;
}

/* The administrator may change the mode at any time: the last counts. */
static void learn(struct handover *handover, const struct handover_look *look)
{
    int mode = (int)look->reading->values[READING_COMPUTE_MODE];
    bool is_of_shares =
        look->is_shared || (handover->was_shared && mode == PROBE_COMPUTE_EXCLUSIVE);

    if (reading_has(look->reading, READING_COMPUTE_MODE) && !is_of_shares)
        handover->usual_mode = mode + 1;
    if (look->unowned_mib >= 0 &&
        (handover->usual_mib == 0 || look->unowned_mib < handover->usual_mib - 1))
        handover->usual_mib = look->unowned_mib + 1;
}

bool handover_needs_reset(const struct handover *handover, const struct handover_look *look)
{
    return handover->is_after && !handover->is_mode_kept && !look->is_used && !look->is_shared &&
           look->left_pid == 0 && handover->usual_mode > 0 &&
           reading_has(look->reading, READING_COMPUTE_MODE) &&
           look->reading->values[READING_COMPUTE_MODE] != handover->usual_mode - 1;
}

/* Give the driver some time. */
static void wait_for_reset(struct handover *handover, const struct handover_look *look)
{
    if (!handover_needs_reset(handover, look))
        return;
    if (handover->reset == 0)
        handover->reset = look->began;
    handover->is_mode_kept = look->began - handover->reset >= HANDOVER_RESET_S * USEC_PER_SEC;
}

static void say(struct handover *handover, const struct handover_look *look)
{
    int64_t most = /* without jobs */
        handover->usual_mib > 0 ? handover->usual_mib - 1 + HEALTH_LEFT_MIB : HEALTH_CONTEXT_MIB;
    char *words = handover->words;

    words[0] = '\0';
    if (look->left_pid > 0)
        snprintf(words, HANDOVER_WORDS_SIZE,
                 "process %" PRIu32 " (%s) of job %" PRIu64 " is still on it", look->left_pid,
                 look->left_name, look->left_job);
    else if (!handover->is_after || look->is_used)
        return;
    else if (look->unowned_mib > most)
        snprintf(words, HANDOVER_WORDS_SIZE,
                 "%.1f GiB are still in use after job %" PRIu64 ", and no process has them",
                 (double)look->unowned_mib / 1024, handover->job);
    else if (handover_needs_reset(handover, look))
        snprintf(words, HANDOVER_WORDS_SIZE,
                 "its compute mode is %d after job %" PRIu64 ", and %d without jobs",
                 (int)look->reading->values[READING_COMPUTE_MODE], handover->job,
                 handover->usual_mode - 1);
}

bool handover_judge(struct handover *handover, const struct handover_look *look)
{
    if (look->began < handover->since)
        return handover->words[0] != '\0';
    handover->was_shared |= look->is_shared;
    if (!handover->is_after && !look->is_used)
        learn(handover, look);
    wait_for_reset(handover, look);
    say(handover, look);
    if (handover->words[0])
        return true;
    handover->is_open = handover->is_after = false;
    return false;
}
