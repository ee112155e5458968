/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CONTROL_DESK_H
#define TESTS_CONTROL_DESK_H

/* desk - a small port over a real state: one machine "a" with four h100, and one "b" with two a100
 *
 * The clock stands still unless a test moves it. Changes are run at once by desk_run_changes().
 */

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "base/text.h"
#include "control/control.h"
#include "wire/config/config.h"
#include "wire/json.h"

struct desk {
    struct state *state;
    struct control control;
    usec_t now, wall_ahead;
    LIST(struct text) blobs;
    struct change *changes;
    unsigned emitted, tended, described;
    enum event_kind last; /* of what was emitted */
    struct identity root, ana, eve;
};

struct desk *desk_create(void);
void desk_destroy(struct desk *desk);
DEFINE_AUTO(desk)

void desk_tell(struct desk *desk, struct event event);
/* All changes that were enqueued; returns how many. */
unsigned desk_run_changes(struct desk *desk);
/* YAML as JSON. */
json_t *desk_json(const char *yaml);
struct config *desk_config(const char *yaml);
/* The configuration is in force. */
void desk_configure(struct desk *desk, const char *yaml);
/* Submit as a user; returns the number of the first. */
uint64_t desk_submit(struct desk *desk, const struct identity *who, const char *yaml);
/* It runs on the first device of "a". */
void desk_start(struct desk *desk, uint64_t job);
void desk_end(struct desk *desk, uint64_t job);

/* It failed with this code and these words, and emitted nothing. */
#define ASSERT_REFUSED(desk, call, code, words)                                                    \
    do {                                                                                           \
        unsigned before_ = (desk)->emitted;                                                        \
        struct error err = { "" };                                                                 \
        int got_ = (call);                                                                         \
        assert_string_equal(err.text, words);                                                      \
        assert_int_equal(got_, code);                                                              \
        assert_int_equal((desk)->emitted, before_);                                                \
    } while (0)

#define ASSERT_DONE(call)                                                                          \
    do {                                                                                           \
        struct error err = { "" };                                                                 \
        if ((call) < 0)                                                                            \
            fail_msg("%s", err.text);                                                              \
    } while (0)

#endif
