/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/journal/event.h"
#include "core/snapshot/snapshot.h"
#include "fuzz.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* What could be read is written so that it reads as the same again. */
static void check_event(const uint8_t *data, size_t size)
{
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    AUTO_RELEASE(text) struct text once = { 0 };
    AUTO_RELEASE(text) struct text twice = { 0 };
    struct event event, again;
    struct error err = { 0 };

    if (event_decode(data, size, &arena, &event, &err) < 0) {
        must(err.text[0]);
        return;
    }
    event_encode(&event, &once);
    must(event_decode(once.bytes, once.length, &arena, &again, &err) == 0);
    event_encode(&again, &twice);
    must(once.length == twice.length && memcmp(once.bytes, twice.bytes, once.length) == 0);
}

static void check_snapshot(const uint8_t *data, size_t size)
{
    AUTO_RELEASE(text) struct text once = { 0 };
    AUTO_RELEASE(text) struct text twice = { 0 };
    struct state *state = NULL, *again = NULL;
    struct error err = { 0 };

    if (snapshot_load(data, size, &state, &err) < 0) {
        must(err.text[0]);
        return;
    }
    snapshot_save(state, &once);
    must(snapshot_load(once.bytes, once.length, &again, &err) == 0);
    snapshot_save(again, &twice);
    must(once.length == twice.length && memcmp(once.bytes, twice.bytes, once.length) == 0);
    state_destroy(state);
    state_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_event(data, size);
    check_snapshot(data, size);
    return 0;
}
