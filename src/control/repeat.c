/* SPDX-License-Identifier: Apache-2.0 */
#include "control/repeat.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "control/submit.h"
#include "control/tend.h"
#include "control/times.h"
#include "wire/json.h"

enum { DOCUMENT_MAX = 32 << 20 };

/* The outcome: submitted as `job`, refused with a reason, or only a new next time. */
struct news {
    uint64_t job;
    const char *trouble;
    usec_t next; /* where only the clock was set; 0: the time after this one */
};

/* Schedules are in whole minutes of wall time, which drifts against journal time. The due time is
 * rounded to the minute, so that the job does not fire twice. */
static usec_t next_of(const struct control *control, const struct event_cron *entry)
{
    usec_t ahead = control_wall_ahead(control), wall = control_wall(control);
    usec_t due = (entry->next + ahead + USEC_PER_MIN / 2) / USEC_PER_MIN * USEC_PER_MIN;
    bool is_near = due > wall && due - wall < USEC_PER_MIN;

    return times_next_cron(control, entry->schedule, is_near ? due : wall);
}

static void emit_entry(const struct control *control, const struct event_cron *entry,
                       const struct news *news)
{
    struct event event = { .kind = EVENT_CRON, .cron = *entry };

    event.cron.next = news->next ? news->next : next_of(control, entry);
    event.cron.fired = news->next ? entry->fired : control_now(control);
    event.cron.count += news->job > 0;
    event.cron.job = news->job > 0 ? news->job : entry->job;
    event.cron.trouble = news->next ? entry->trouble : news->trouble;
    event.cron.stored = event_size(&event);
    control_emit(control, event);
}

/* After a short step the wall time of the next run remains: a run that the step passed over is due
 * at once. */
void cron_renew(const struct control *control, const struct event_cron *entry, usec_t step)
{
    bool is_short = step != 0 && step < TEND_STEP_MAX && step > -TEND_STEP_MAX;
    usec_t next = is_short ? entry->next - step
                           : times_next_cron(control, entry->schedule, control_wall(control));

    emit_entry(control, entry, &(struct news){ .next = next > 1 ? next : 1 });
}

struct firing {
    struct change change;
    const struct control *control;
    uint64_t id;
};

/* As its sender would, now. */
static int submit_again(const struct control *control, const struct event_cron *entry,
                        uint64_t *ret_job, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct identity who;
    struct submit submit;
    json_t *document = NULL;

    int code = control->blobs.get(control->blobs.user, entry->document, &bytes, err);
    if (code == 0)
        code =
            json_parse(text_string(&bytes), bytes.length, DOCUMENT_MAX, "document", &document, err);
    if (code < 0)
        return code;
    identity_set(&who, IDENTITY_STORED, entry->user, entry->uid, entry->gid, control->owner);
    code = submit_read(&submit, &who, document, err);
    if (code == 0)
        code = submit_run(control, &submit, err);
    if (code == 0)
        *ret_job = submit.ids[0];
    submit_release(&submit);
    return code;
}

void cron_submit(const struct control *control, uint64_t id)
{
    const struct agenda *agenda = &control_state(control)->agenda;
    const struct event_cron *entry = agenda_find_cron(agenda, id);
    struct news news = { .trouble = "" };
    struct error why = { "" };

    if (!entry || entry->next > control_now(control))
        return;
    if (submit_again(control, entry, &news.job, &why) < 0)
        news.trouble = why.text;
    emit_entry(control, agenda_find_cron(agenda, id), &news);
}

/* The submission and the next time are one batch: a crash cannot submit the job twice. */
static int run_fire(struct change *change, struct error *err)
{
    const struct firing *firing = CONTAINER_OF(change, struct firing, change);

    (void)err;
    cron_submit(firing->control, firing->id);
    return 0;
}

static void done_fire(struct change *change, int code, const struct error *err)
{
    struct firing *firing = CONTAINER_OF(change, struct firing, change);

    (void)err;
    if (code == 0) /* on failure (full disk) the job is still due */
        control_tend_soon(firing->control);
    free(firing);
}

void cron_fire(const struct control *control, uint64_t id)
{
    struct firing *firing = mem_zero(1, sizeof(*firing));

    *firing = (struct firing){ .change = { .run = run_fire, .done = done_fire },
                               .control = control,
                               .id = id };
    control_enqueue(control, &firing->change);
}

int cron_remove(const struct control *control, const struct identity *who, uint64_t id,
                struct error *err)
{
    const struct event_cron *entry = agenda_find_cron(&control_state(control)->agenda, id);

    if (!entry)
        return error_set(err, REFUSED_NOT_FOUND, "cron %" PRIu64 ": there is none", id);
    if (who->queues)
        return error_set(err, REFUSED_FORBIDDEN,
                         "cron %" PRIu64 ": the token is only for jobs of %s", id, who->queues);
    if (!identity_may(who, entry->uid))
        return error_set(err, REFUSED_FORBIDDEN, "cron %" PRIu64 ": it is %s's", id, entry->user);
    control_emit(control, (struct event){ .kind = EVENT_CRON_REMOVE, .cron_remove = { .id = id } });
    return 0;
}
