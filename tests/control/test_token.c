/* SPDX-License-Identifier: Apache-2.0 */
#include "control/token.h"

#include "control/job_change.h"
#include "control/queue_policy.h"
#include "core/snapshot/snapshot.h"
#include "desk.h"

#include <stdlib.h>

static int create(struct desk *desk, const char *name, const char *queues, usec_t life,
                  uint64_t *ret, struct error *err)
{
    const struct token_wish wish = { .name = name,
                                     .user = "ana",
                                     .uid = desk->ana.uid,
                                     .scope = SCOPE_SUBMIT,
                                     .queues = queues,
                                     .hash = "00",
                                     .life = life };

    return token_create(&desk->control, &wish, ret, err);
}

static void a_token_is_kept_until_it_is_revoked(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = 0, second = 0;

    ASSERT_DONE(create(desk, "laptop", "", USEC_PER_DAY, &id, &err));
    assert_int_equal(id, 1);
    const struct event_token *token = token_list_find(&desk->state->tokens, id);
    assert_string_equal(token->name, "laptop");
    assert_int_equal(token->expires, desk->now + USEC_PER_DAY);
    ASSERT_REFUSED(desk, token_revoke(&desk->control, &desk->eve, id, &err), REFUSED_FORBIDDEN,
                   "token 1: it is ana's");
    ASSERT_REFUSED(desk, token_revoke(&desk->control, &desk->ana, 7, &err), REFUSED_NOT_FOUND,
                   "token 7: there is none");
    ASSERT_DONE(token_revoke(&desk->control, &desk->ana, id, &err));
    assert_null(token_list_find(&desk->state->tokens, id));
    ASSERT_DONE(create(desk, "laptop", "", USEC_PER_DAY, &second, &err));
    assert_int_equal(second, 2); /* a number is not used again */
}

static void those_that_have_expired_go_when_another_one_is_made(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = 0;

    ASSERT_DONE(create(desk, "short", "", USEC_PER_SEC, &id, &err));
    desk->now += USEC_PER_MIN;
    ASSERT_DONE(create(desk, "long", "", USEC_PER_DAY, &id, &err));
    assert_int_equal(desk->state->tokens.items.count, 1);
    assert_string_equal(desk->state->tokens.items.items[0].name, "long");
}

static void the_number_of_a_user_is_limited(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = 0;

    for (int i = 0; i < TOKENS_USER_MAX; i++)
        ASSERT_DONE(create(desk, "t", "", USEC_PER_DAY, &id, &err));
    ASSERT_REFUSED(desk, create(desk, "t", "", USEC_PER_DAY, &id, &err), REFUSED_TOO_MANY,
                   "more than 100 tokens of ana; revoke some");
    ASSERT_REFUSED(desk, create(desk, "t", "nope", USEC_PER_DAY, &id, &err), REFUSED_NOT_FOUND,
                   "token: no queue 'nope'");
}

static void a_use_is_recorded_once_an_hour(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t id = 0;

    desk->now += USEC_PER_DAY;
    ASSERT_DONE(create(desk, "laptop", "", 9 * USEC_PER_DAY, &id, &err));
    unsigned before = desk->emitted;
    for (int i = 0; i < 3; i++)
        token_note_use(&desk->control, id);
    assert_int_equal(desk->emitted, before + 1);
    assert_int_equal(token_list_find(&desk->state->tokens, id)->used, desk->now);
    desk->now += USEC_PER_HOUR;
    token_note_use(&desk->control, id);
    assert_int_equal(desk->emitted, before + 2);
    token_note_use(&desk->control, 77); /* there is none */
}

static void a_session_ends_with_its_token(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    uint64_t token = 0, session = 0, again = 0;

    ASSERT_DONE(create(desk, "short", "", USEC_PER_MIN, &token, &err));
    ASSERT_DONE(token_begin_session(&desk->control, token, "11", &session, &err));
    assert_int_equal(token_list_find(&desk->state->tokens, session)->expires,
                     desk->now + USEC_PER_MIN);
    ASSERT_REFUSED(desk, token_begin_session(&desk->control, session, "22", &again, &err),
                   REFUSED_FORBIDDEN, "a session cannot begin another one");
    ASSERT_DONE(token_revoke(&desk->control, &desk->ana, token, &err));
    assert_int_equal(desk->state->tokens.items.count, 0);
    ASSERT_DONE(create(desk, "long", "", 90 * USEC_PER_DAY, &token, &err));
    ASSERT_DONE(token_begin_session(&desk->control, token, "11", &session, &err));
    assert_int_equal(token_list_find(&desk->state->tokens, session)->expires,
                     desk->now + SESSION_LIFE);
    ASSERT_DONE(token_revoke(&desk->control, &desk->ana, session, &err));
    assert_non_null(token_list_find(&desk->state->tokens, token));
}

static void a_token_revokes_none_with_more_rights(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    static const char words[] = "token 1: it has more rights than the token of this request";
    struct identity narrow = desk->ana;
    uint64_t strong = 0, weak = 0;

    desk_configure(desk, "{queues: {a: {}}}");
    ASSERT_DONE(create(desk, "strong", "", USEC_PER_DAY, &strong, &err));
    ASSERT_DONE(create(desk, "weak", "a", USEC_PER_DAY, &weak, &err));
    narrow.token = weak;
    identity_narrow(&narrow, SCOPE_SUBMIT, "a");
    ASSERT_REFUSED(desk, token_revoke(&desk->control, &narrow, strong, &err), REFUSED_FORBIDDEN,
                   words);
    identity_narrow(&narrow, SCOPE_READ, NULL);
    ASSERT_REFUSED(desk, token_revoke(&desk->control, &narrow, strong, &err), REFUSED_FORBIDDEN,
                   words);
    ASSERT_DONE(token_revoke(&desk->control, &narrow, weak, &err));
    narrow = desk->ana;
    narrow.token = 77;
    ASSERT_DONE(token_revoke(&desk->control, &narrow, strong, &err));
}

static void tokens_survive_a_snapshot(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(state) struct state *loaded = NULL;
    uint64_t id = 0;

    desk_configure(desk, "{queues: {a: {}, b: {}}}");
    ASSERT_DONE(create(desk, "one", "a,b", USEC_PER_DAY, &id, &err));
    ASSERT_DONE(create(desk, "two", "", USEC_PER_DAY, &id, &err));
    ASSERT_DONE(token_revoke(&desk->control, &desk->ana, 2, &err));
    snapshot_save(desk->state, &bytes);
    ASSERT_DONE(snapshot_load(bytes.bytes, bytes.length, &loaded, &err));
    assert_int_equal(loaded->tokens.last, 2);
    assert_string_equal(token_list_find(&loaded->tokens, 1)->queues, "a,b");
}

static int cancel(struct desk *desk, const struct identity *who, uint64_t id, struct error *err)
{
    struct job_change wish = { .kind = EVENT_CANCEL, .verb = "cancel", .who = who, .id = id };

    int code = job_change(&desk->control, &wish, err);
    list_release(&wish.changed);
    return code;
}

static void a_token_for_queues_changes_no_job_of_others(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct identity narrow = desk->ana;

    desk_configure(desk, "{queues: {a: {queues: {below: {}}}, b: {}}}");
    narrow.queues = NULL;
    identity_narrow(&narrow, SCOPE_SUBMIT, "a");
    uint64_t mine = desk_submit(desk, &desk->ana, "{run: x, queue: below}");
    uint64_t other = desk_submit(desk, &desk->ana, "{run: x, queue: b}");
    ASSERT_REFUSED(desk, cancel(desk, &narrow, other, &err), REFUSED_FORBIDDEN,
                   "queue b: the token is only for a");
    ASSERT_DONE(cancel(desk, &narrow, mine, &err));
    free(narrow.queues);
}

static void the_scope_of_a_token_is_below_its_owners_rights(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    struct identity narrow = desk->ana;

    desk_configure(desk, "{queues: {a: {administer: {users: [ana]}}}}");
    uint32_t queue = (uint32_t)state_find_queue(desk->state, "a");
    assert_true(queue_policy_administers(desk->state, &desk->ana, queue));
    identity_narrow(&narrow, SCOPE_SUBMIT, NULL);
    assert_false(queue_policy_administers(desk->state, &narrow, queue));
    narrow = desk->root;
    identity_narrow(&narrow, SCOPE_QUEUES, NULL);
    assert_false(narrow.is_admin);
    narrow = desk->root;
    identity_narrow(&narrow, SCOPE_ADMIN, NULL);
    assert_true(narrow.is_admin);
    identity_narrow(&narrow, SCOPE_ADMIN, "a");
    assert_false(narrow.is_admin);
    free(narrow.queues);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_kept_until_it_is_revoked),
        cmocka_unit_test(those_that_have_expired_go_when_another_one_is_made),
        cmocka_unit_test(the_number_of_a_user_is_limited),
        cmocka_unit_test(a_use_is_recorded_once_an_hour),
        cmocka_unit_test(a_session_ends_with_its_token),
        cmocka_unit_test(a_token_revokes_none_with_more_rights),
        cmocka_unit_test(tokens_survive_a_snapshot),
        cmocka_unit_test(a_token_for_queues_changes_no_job_of_others),
        cmocka_unit_test(the_scope_of_a_token_is_below_its_owners_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
