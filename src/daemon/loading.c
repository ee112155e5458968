/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/loading.h"

#include <inttypes.h>

#include "base/arena.h"
#include "core/journal/event.h"
#include "core/snapshot/snapshot.h"
#include "io/log.h"

struct loading {
    struct state *state;
    struct arena arena;
};

static int fold_record(void *user, const struct journal_record *record, struct error *err)
{
    struct loading *loading = user;
    struct event event;

    arena_clear(&loading->arena);
    int code = event_decode(record->bytes, record->length, &loading->arena, &event, err);
    if (code == 0)
        code = state_apply(loading->state, &event, err);
    return code < 0 ? error_prefix(err, code, "journal: record %" PRIu64, record->sequence) : 0;
}

int state_load(struct journal *journal, struct state **ret, uint64_t *ret_sequence,
               struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct loading loading = { 0 };
    uint64_t sequence = 0;

    int code = journal_snapshot_load(journal, &bytes, &sequence, err);
    if (code == 0 && sequence > 0) {
        code = snapshot_load(bytes.bytes, bytes.length, &loading.state, err);
        if (code < 0) { /* the records make up for it */
            log_line(LOG_WARNING, "an unusable snapshot is skipped reason='%s'", err->text);
            sequence = 0;
            code = 0;
        }
    }
    if (!loading.state)
        loading.state = state_create();
    if (code == 0)
        code = journal_read(journal, sequence + 1, fold_record, &loading, err);
    arena_release(&loading.arena);
    if (code < 0) {
        state_destroy(loading.state);
        return code;
    }
    *ret = loading.state;
    *ret_sequence = sequence;
    return 0;
}
