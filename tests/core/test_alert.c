/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/health/alert.h"

/* What is told over time, as text: "begins hot GPU-0\n". */
struct scene {
    struct alerts alerts;
    const char *silence;
    const struct alert_silence *silences;
    size_t silence_count;
    usec_t wall_ahead;
    bool takes_back;
    char said[512];
};

static struct alert_thing thing_of(const char *name, const char *subject)
{
    struct alert_thing thing = { .gpu = 0, .severity = HEALTH_WARNING };

    snprintf(thing.name, sizeof(thing.name), "%s", name);
    snprintf(thing.subject, sizeof(thing.subject), "%s", subject);
    return thing;
}

static const char *look(struct scene *scene, usec_t second, const struct alert_thing *things,
                        size_t count)
{
    struct alert_messages messages = { 0 };
    struct alert_ask ask = { .things = things,
                             .count = count,
                             .now = second * USEC_PER_SEC,
                             .wall = second * USEC_PER_SEC + scene->wall_ahead,
                             .repeat = 3600 * USEC_PER_SEC,
                             .silence = scene->silence ? scene->silence : "",
                             .silences = scene->silences,
                             .silence_count = scene->silence_count };

    alerts_look(&scene->alerts, &ask, &messages);
    scene->said[0] = '\0';
    for (size_t i = 0; i < messages.list.count; i++) {
        const struct alert_message *message = &messages.list.items[i];
        size_t length = strlen(scene->said);
        snprintf(scene->said + length, sizeof(scene->said) - length, "%s%s %s %s",
                 i > 0 ? "; " : "", alert_state_name(message->state), message->thing.name,
                 message->thing.subject);
    }
    for (size_t i = 0; scene->takes_back && i < messages.list.count; i++)
        alerts_take_back(&scene->alerts, &messages.list.items[i]);
    list_release(&messages.list);
    return scene->said;
}

static void what_begins_and_ends_is_told_once_each(void **state)
{
    (void)state;
    struct scene scene = { 0 };
    struct alert_thing hot = thing_of("hot", "GPU-0");

    assert_string_equal(look(&scene, 0, NULL, 0), "");
    assert_string_equal(look(&scene, 1, &hot, 1), "begins hot GPU-0");
    for (usec_t second = 2; second < 600; second++)
        assert_string_equal(look(&scene, second, &hot, 1), "");
    for (usec_t second = 600; second < 609; second++)
        assert_string_equal(look(&scene, second, NULL, 0), "");
    assert_string_equal(look(&scene, 609, NULL, 0), "over hot GPU-0");
    assert_string_equal(look(&scene, 610, NULL, 0), "");
    assert_int_equal(scene.alerts.entries.count, 0);
    assert_string_equal(look(&scene, 700, &hot, 1), "begins hot GPU-0");
    alerts_release(&scene.alerts);
}

static void what_comes_and_goes_within_seconds_is_one(void **state)
{
    (void)state;
    struct scene scene = { 0 };
    struct alert_thing hot = thing_of("hot", "GPU-0");

    assert_string_equal(look(&scene, 0, &hot, 1), "begins hot GPU-0");
    for (usec_t second = 1; second < 300; second++)
        assert_string_equal(look(&scene, second, &hot, second % 5 == 0), "");
    alerts_release(&scene.alerts);
}

static void what_goes_on_is_told_again_after_the_time_given(void **state)
{
    (void)state;
    struct scene scene = { 0 };
    struct alert_thing hot = thing_of("hot", "GPU-0");
    int told = 0;

    for (usec_t second = 0; second <= 4 * 3600; second++)
        told += look(&scene, second, &hot, 1)[0] != '\0';
    assert_int_equal(told, 5);
    assert_string_equal(look(&scene, 5 * 3600, &hot, 1), "goes_on hot GPU-0");
    alerts_release(&scene.alerts);
}

static void each_device_and_each_fault_is_its_own(void **state)
{
    (void)state;
    struct scene scene = { 0 };
    struct alert_thing things[] = { thing_of("hot", "GPU-0"), thing_of("hot", "GPU-1"),
                                    thing_of("lost", "GPU-1") };

    assert_string_equal(look(&scene, 0, things, 2), "begins hot GPU-0; begins hot GPU-1");
    assert_string_equal(look(&scene, 1, things, 3), "begins lost GPU-1");
    assert_string_equal(look(&scene, 20, things + 1, 1), "over hot GPU-0; over lost GPU-1");
    alerts_release(&scene.alerts);
}

static void silence_keeps_back_the_beginning_until_it_ends(void **state)
{
    (void)state;
    struct scene scene = { .silence = "hot GPU-0 1100", .wall_ahead = 1000 * USEC_PER_SEC };
    struct alert_thing things[] = { thing_of("hot", "GPU-0"), thing_of("hot", "GPU-1") };

    assert_string_equal(look(&scene, 0, things, 2), "begins hot GPU-1");
    assert_string_equal(look(&scene, 99, things, 2), "");
    assert_string_equal(look(&scene, 100, things, 2), "begins hot GPU-0");
    alerts_release(&scene.alerts);
}

static void what_nobody_heard_of_ends_in_silence_and_what_was_told_is_ended(void **state)
{
    (void)state;
    struct scene scene = { .silence = "* GPU-0 0" };
    struct alert_thing hot = thing_of("hot", "GPU-0");

    assert_string_equal(look(&scene, 0, &hot, 1), "");
    assert_string_equal(look(&scene, 20, NULL, 0), "");
    scene.silence = "";
    assert_string_equal(look(&scene, 30, &hot, 1), "begins hot GPU-0");
    scene.silence = "* GPU-0 0";
    assert_string_equal(look(&scene, 8000, &hot, 1), "");
    assert_string_equal(look(&scene, 8020, NULL, 0), "over hot GPU-0");
    alerts_release(&scene.alerts);
}

static void what_was_told_before_a_restart_is_not_told_again(void **state)
{
    (void)state;
    struct scene scene = { 0 };
    struct alert_thing hot = thing_of("hot", "GPU-0"), lost = thing_of("lost", "GPU-1");

    for (int i = 0; i < 2; i++) /* twice in a file is once */
        alerts_recall(&scene.alerts, &hot, 0, 1000 * USEC_PER_SEC, 2000 * USEC_PER_SEC);
    alerts_recall(&scene.alerts, &lost, 0, 9000 * USEC_PER_SEC, 2000 * USEC_PER_SEC);
    for (usec_t second = 2000; second < 2150; second++)
        assert_string_equal(look(&scene, second, NULL, 0), "");
    assert_string_equal(look(&scene, 2150, &hot, 1), "");
    assert_string_equal(look(&scene, 2180, &hot, 1), "over lost GPU-1");
    assert_string_equal(look(&scene, 4599, &hot, 1), "");
    assert_string_equal(look(&scene, 4600, &hot, 1), "goes_on hot GPU-0");
    assert_string_equal(look(&scene, 4610, NULL, 0), "over hot GPU-0");
    alerts_release(&scene.alerts);
}

static void a_silence_covers_what_it_names(void **state)
{
    static const struct {
        const char *silence;
        bool is_covered;
    } cases[] = {
        { "", false },
        { "* * 0", true },
        { "hot * 0", true },
        { "ho * 0", false },
        { "hott * 0", false },
        { "* GPU-0 0", true },
        { "* GPU-01 0", false },
        { "* GPU-0 100", false },
        { "* GPU-0 101", true },
        { "lost * 0,hot GPU-1 0", false },
        { "lost * 0,hot GPU-1 0,hot GPU-0 500", true },
    };
    (void)state;
    struct alert_thing hot = thing_of("hot", "GPU-0");

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(alert_is_silenced(cases[i].silence, &hot, 100 * USEC_PER_SEC),
                         cases[i].is_covered);
    assert_true(alert_name_is_known("row-remap-failure") && alert_name_is_known(ALERT_JOURNAL));
    assert_false(alert_name_is_known("cold"));
}

static void a_silence_of_somebody_s_covers_what_it_says_until_then(void **state)
{
    (void)state;
    const struct alert_silence silences[] = {
        { .name = "hot", .subject = "*", .until = 100 },
        { .name = "*", .subject = "GPU-1", .until = 0 },
    };
    struct alert_thing hot = thing_of("hot", "GPU-0"), lost = thing_of("lost", "GPU-0"),
                       other = thing_of("lost", "GPU-1");

    assert_ptr_equal(alert_find_silence(silences, 2, &hot, 99), &silences[0]);
    assert_null(alert_find_silence(silences, 2, &hot, 100));
    assert_null(alert_find_silence(silences, 2, &lost, 0));
    assert_ptr_equal(alert_find_silence(silences, 2, &other, INT64_MAX), &silences[1]);

    struct scene scene = { .silences = silences, .silence_count = 2 };
    assert_string_equal(look(&scene, 0, &other, 1), "");
    scene.silence_count = 1;
    assert_string_equal(look(&scene, 1, &other, 1), "begins lost GPU-1");
    alerts_release(&scene.alerts);
}

/* As somebody who can tell nobody just now. */
static const char *look_in_vain(struct scene *scene, usec_t second,
                                const struct alert_thing *things, size_t count)
{
    scene->takes_back = true;
    const char *said = look(scene, second, things, count);
    scene->takes_back = false;
    return said;
}

static void what_nobody_could_be_told_is_told_at_the_next_look(void **state)
{
    (void)state;
    struct scene scene = { 0 };
    struct alert_thing hot = thing_of("hot", "GPU-0");

    assert_string_equal(look_in_vain(&scene, 1, &hot, 1), "begins hot GPU-0");
    assert_false(scene.alerts.entries.items[0].was_told);
    assert_string_equal(look_in_vain(&scene, 2, &hot, 1), "begins hot GPU-0");
    assert_string_equal(look(&scene, 3, &hot, 1), "begins hot GPU-0");
    assert_string_equal(look(&scene, 4, &hot, 1), "");
    assert_string_equal(look_in_vain(&scene, 3603, &hot, 1), "goes_on hot GPU-0");
    assert_string_equal(look(&scene, 3604, &hot, 1), "goes_on hot GPU-0");
    assert_string_equal(look(&scene, 3605, &hot, 1), "");
    assert_string_equal(look_in_vain(&scene, 3620, NULL, 0), "over hot GPU-0");
    assert_string_equal(look_in_vain(&scene, 3621, NULL, 0), "over hot GPU-0");
    assert_string_equal(look(&scene, 3622, &hot, 1), "");
    assert_string_equal(look(&scene, 3640, NULL, 0), "over hot GPU-0");
    assert_string_equal(look(&scene, 3641, NULL, 0), "");
    assert_int_equal(scene.alerts.entries.count, 0);
    alerts_release(&scene.alerts);
}

enum { MANY = 3000, ROUNDS = 40 };

/* Things come and go at random; each is told when it comes and when it went, and nothing else is.
 */
static void very_many_that_come_and_go_are_told_once_each(void **state)
{
    (void)state;
    static struct alert_thing things[MANY];
    static bool is_there[MANY], was_there[MANY];
    struct alerts alerts = { 0 };
    uint64_t seed = 88172645463325252u;

    for (usec_t round = 0; round < ROUNDS; round++) {
        struct alert_messages messages = { 0 };
        size_t count = 0, begun = 0, over = 0, begins = 0, ends = 0;
        for (size_t i = 0; i < MANY; i++) {
            char subject[32];
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            is_there[i] = seed % 3 > 0;
            begins += is_there[i] && !was_there[i];
            ends += !is_there[i] && was_there[i];
            was_there[i] = is_there[i];
            snprintf(subject, sizeof(subject), "GPU-%zu", i / 2);
            if (is_there[i])
                things[count++] = thing_of(i % 2 ? "hot" : "lost", subject);
        }
        struct alert_ask ask = { .things = things,
                                 .count = count,
                                 .now = round * ALERT_HOLD_S * USEC_PER_SEC,
                                 .repeat = INT64_MAX,
                                 .silence = "" };
        alerts_look(&alerts, &ask, &messages);
        for (size_t i = 0; i < messages.list.count; i++) {
            begun += messages.list.items[i].state == ALERT_BEGINS;
            over += messages.list.items[i].state == ALERT_OVER;
        }
        assert_int_equal(begun, begins);
        assert_int_equal(over, ends);
        assert_int_equal(messages.list.count, begins + ends);
        assert_int_equal(alerts.entries.count, count);
        list_release(&messages.list);
    }
    alerts_release(&alerts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_begins_and_ends_is_told_once_each),
        cmocka_unit_test(what_comes_and_goes_within_seconds_is_one),
        cmocka_unit_test(what_goes_on_is_told_again_after_the_time_given),
        cmocka_unit_test(each_device_and_each_fault_is_its_own),
        cmocka_unit_test(silence_keeps_back_the_beginning_until_it_ends),
        cmocka_unit_test(what_nobody_heard_of_ends_in_silence_and_what_was_told_is_ended),
        cmocka_unit_test(what_was_told_before_a_restart_is_not_told_again),
        cmocka_unit_test(a_silence_covers_what_it_names),
        cmocka_unit_test(a_silence_of_somebody_s_covers_what_it_says_until_then),
        cmocka_unit_test(what_nobody_could_be_told_is_told_at_the_next_look),
        cmocka_unit_test(very_many_that_come_and_go_are_told_once_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
