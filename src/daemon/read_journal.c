/* SPDX-License-Identifier: Apache-2.0 */
/* tarn simulate: the room sim with what it can't do itself. */
#include "sim/run/simulate.h"

#include "cli/command.h"
#include "daemon/daemon.h"
#include "store/journal.h"

int daemon_read_records(const char *dir, journal_record_fn *fn, void *user, struct error *err)
{
    __attribute__((cleanup(journal_auto_destroy))) struct journal *journal = NULL;

    int code = journal_open(dir, JOURNAL_READ, &journal, err);
    return code < 0 ? code : journal_read(journal, 1, fn, user, err);
}

static bool estimate_start(const struct brain *brain, struct inquiry *inquiry,
                           const struct job *job, struct sim_estimate *ret)
{
    struct start_estimate estimate;

    if (!sched_estimate_start(brain, inquiry, job, &estimate))
        return false;
    *ret = (struct sim_estimate){ .low = estimate.low,
                                  .median = estimate.median,
                                  .high = estimate.high,
                                  .limits_only = estimate.limits_only };
    return true;
}

int run_simulate(const struct options *options)
{
    static const struct sim_ports ports = { .read_journal = daemon_read_records,
                                            .estimate_start = estimate_start };

    return simulate(options->argc, options->argv, &ports);
}
