/* SPDX-License-Identifier: Apache-2.0 */
/* How a job saves its work. */
#include <errno.h>
#include <string.h>

#include "wire/job/draft.h"
#include "wire/job/signal_name.h"

static int read_every(const struct draft_key *key, struct job_draft *draft)
{
    usec_t *every = &draft->checkpoint_every;

    draft->checkpoint_auto = strcmp(key->text, "auto") == 0;
    if (draft->checkpoint_auto)
        return 0;
    int code = reader_duration(key->reader, key->object, key->name, every);
    if (code == 0 && *every < USEC_PER_SEC)
        return key_fail(key, -EINVAL, "'%.40s': expected 1s or more, or auto", key->text);
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
        { "every", .read = read_every, .expected = "a duration, or auto" },
        { "takes", .read = read_duration, .offset = MEMBER(checkpoint_takes), UP_TO_A_DAY },
        { "signal", .read = read_signal, .expected = "a signal" },
        { "grace", .read = read_grace, .offset = MEMBER(grace), UP_TO_A_DAY },
    };

    if (!json_is_object(key->value))
        return key_fail(key, -EINVAL, "expected a map like {every: 10m, signal: USR1}, not %s",
                        reader_kind(key->value));
    return draft_read_map(key, rows, COUNT_OF(rows), draft);
}
