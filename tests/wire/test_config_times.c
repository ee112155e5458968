/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "config_text.h"
#include "wire/config/window_event.h"
#include "wire/json.h"

static const char times[] =
    "timezone: Europe/Berlin\n"
    "windows:\n"
    "  nights: \"22:00-06:00\"\n"
    "  weekend: \"fri 20:00 - mon 06:00\"\n"
    "tariffs: {nights: 0.6, peak: {during: \"mon-fri 09:00-17:00\", factor: 1.5}}\n"
    "reservations:\n"
    "  course: {for: {queue: teaching}, when: \"mon 14:00-16:00\", gpus: 4, model: H100}\n"
    "  service: {for: maintenance, when: weekend, nodes: [n3, n4]}\n"
    "  exam: {for: {user: ana}, when: nights, gpus: 1}\n"
    "queues:\n"
    "  teaching: {budget: 100}\n"
    "  research:\n"
    "    guarantee: 8\n"
    "    during: {nights: {limit: {gpus: 32, h100: 4}, borrow: none}, weekend: {guarantee: 2}}\n"
    "    budget: {amount: 5000.5, per: week, hard: kill}\n"
    "    gpu_hours: {amount: 2000, per: quarter, hard: true}\n"
    "    users:\n"
    "      each: {gpus: 4, gpu_hours: 100}\n"
    "      ana: {budget: {amount: 7, per: day, hard: kill}}\n"
    "      ben: 2\n"
    "pools:\n"
    "  inference: {min: 2, max: 6, during: {nights: {min: 1, max: 2}}}\n";

static void research_budgets_are_read(const struct event_budget *budgets)
{
    assert_string_equal(budgets[0].user, "");
    assert_int_equal(budgets[0].account, ACCOUNT_MONEY);
    assert_int_equal(budgets[0].most, 5000500000);
    assert_string_equal(budgets[0].window, "each week");
    assert_int_equal(budgets[0].firmness, BUDGET_KILL);
    assert_int_equal(budgets[1].account, ACCOUNT_GPU_TIME);
    assert_int_equal(budgets[1].most, 2000 * USEC_PER_HOUR);
}

static void all_of_it_is_read(void **state)
{
    (void)state;
    AUTO(config) struct config *config = parsed(times);

    assert_string_equal(config->timezone, "Europe/Berlin");
    assert_string_equal(config->windows[1].words, "fri 20:00 - mon 06:00");
    assert_string_equal(config->tariffs[0].window, "nights");
    assert_int_equal(config->tariffs[0].factor_milli, 600);
    assert_string_equal(config_find_window(config, config->tariffs[1].window)->words,
                        "mon-fri 09:00-17:00");
    assert_int_equal(config->reservations[0].kind, RESERVATION_QUEUE);
    assert_string_equal(config->reservations[0].model, "h100");
    assert_int_equal(config->reservations[1].kind, RESERVATION_MAINTENANCE);
    assert_string_equal(config->reservations[1].window, "weekend");
    assert_int_equal(config->reservations[1].where_count, 2);
    assert_string_equal(config->reservations[1].where[1].value, "n4");
    assert_string_equal(config->reservations[2].owner, "ana");
    const struct event_queue *research = &config->queues[1];
    assert_int_equal(research->during_count, 3);
    assert_int_equal(research->during[0].quota.limit, 32000);
    assert_int_equal(research->during[0].quota.guarantee, ABSENT);
    assert_int_equal(research->during[0].quota.lend, ABSENT);
    assert_int_equal(research->during[0].quota.borrow, QUOTA_NONE);
    assert_string_equal(research->during[1].resource, "h100");
    assert_int_equal(research->during[2].quota.guarantee, 2000);
    assert_int_equal(research->during[2].quota.limit, ABSENT);
    assert_int_equal(research->subjects_count, 2);
    assert_int_equal(research->budgets_count, 4);
    assert_string_equal(research->budgets[0].user, EACH_USER);
    assert_int_equal(research->budgets[0].account, ACCOUNT_GPU_TIME);
    assert_int_equal(research->budgets[0].most, 100 * USEC_PER_HOUR);
    assert_string_equal(research->budgets[0].window, "each month");
    assert_string_equal(research->budgets[1].user, "ana");
    assert_int_equal(research->budgets[1].most, 7000000);
    assert_string_equal(research->budgets[1].window, "each day");
    assert_int_equal(research->budgets[1].firmness, BUDGET_KILL);
    research_budgets_are_read(&research->budgets[2]);
    assert_int_equal(config->queues[0].budgets_count, 1);
    assert_string_equal(config->queues[0].budgets[0].window, "each month");
    assert_int_equal(config->pools[0].during[0].milli_max, 2000);
}

static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    AUTO(config) struct config *config = parsed(times);
    AUTO(config) struct config *again = NULL;
    AUTO(json) json_t *written = config_to_json(config);
    AUTO_RELEASE(text) struct text changes = { 0 };
    struct error err;

    if (config_parse(written, NULL, NULL, &again, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(config_diff(config, again, &changes), 0);
    AUTO(json) json_t *rewritten = config_to_json(again);
    assert_true(json_equal(written, rewritten));
}

static void a_change_is_said_in_a_line(void **state)
{
    (void)state;
    AUTO(config) struct config *from = parsed(times);
    AUTO(config)
    struct config *to =
        parsed("windows: {nights: \"21:00-06:00\"}\ntariffs: {nights: 0.5}\n"
               "queues: {research: {guarantee: 8, during: {nights: {limit: 16}}, budget: 10}}\n"
               "reservations: {exam: {for: {user: ben}, when: nights, gpus: 1}}\n");
    AUTO_RELEASE(text) struct text text = { 0 };

    config_diff(from, to, &text);
    static const char *const lines[] = {
        "limit during nights 32 -> 16 gpus",
        "budget 5000.5 per week, hard: kill -> 10 per month",
        "gpu_hours 2000 per quarter, hard -> none",
        "gpu_hours of each user 100 per month -> none",
        "budget of ana 7 per day, hard: kill -> none",
        "window nights        22:00-06:00 -> 21:00-06:00",
        "window weekend       removed",
        "tariff nights        0.6 during nights -> 0.5 during nights",
        "reservation exam     for user ana, 1 gpu, nights -> for user ben, 1 gpu, nights",
        "setting timezone     Europe/Berlin -> local",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (!strstr(text.bytes, lines[i]))
            fail_msg("no '%s' in\n%s", lines[i], text.bytes);
    }
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    static const struct {
        const char *yaml, *text;
    } cases[] = {
        { "timezone: Mars/../Phobos\n",
          "t.yaml:1: timezone: 'Mars/../Phobos': expected a name like "
          "Europe/Berlin, UTC or local" },
        { "windows:\n  nights: \"22:00-25:00\"\n",
          "t.yaml:2: window nights: '22:00-25:00': '25:00' where a time of day like 22:00, up to "
          "24:00 was expected" },
        { "windows: {a b: \"22:00-23:00\"}\n",
          "t.yaml:1: window a b: no name; expected 1 to 63 letters, digits and '._-+@'" },
        { "windows: [x]\n", "t.yaml:1: windows: expected a map from name to window, not a list" },
        { "windows: {nights: \"22:00-06:00\"}\ntariffs: {nihgts: 0.5}\n",
          "t.yaml:2: tariff nihgts: no window 'nihgts'; did you mean 'nights'?" },
        { "windows: {nights: \"22:00-06:00\"}\ntariffs: {nights: 51}\n",
          "t.yaml:2: tariff nights: nights: '51': more than 50" },
        { "windows: {nights: \"22:00-06:00\"}\ntariffs: {nights: }\n",
          "t.yaml:2: tariff nights: nights: expected a factor, 0 to 50" },
        { "tariffs:\n  peak: {factor: 2}\n",
          "t.yaml: tariff peak: expected during: times, or a window" },
        { "tariffs:\n  peak: {during: \"22:00-23:00\"}\n",
          "t.yaml: tariff peak: expected factor: 0 to 50" },
        { "reservations:\n  r: {when: \"22:00-23:00\", gpus: 1}\n",
          "t.yaml: reservation r: expected for: maintenance, {queue: NAME} or {user: NAME}" },
        { "reservations:\n  r: {for: {queue: x}, when: \"22:00-23:00\", gpus: 1}\n",
          "t.yaml:2: reservation r: for: no queue 'x'" },
        { "reservations:\n  r: {for: maintenance, when: \"22:00-23:00\"}\n",
          "t.yaml: reservation r: expected gpus: N or nodes: [NAME]" },
        { "reservations:\n  r: {for: maintenance, nodes: [a]}\n",
          "t.yaml: reservation r: expected when: times, or a window" },
        { "reservations:\n  r: {for: maintenance, when: nights, nodes: [a]}\n",
          "t.yaml:2: reservation r: no window 'nights'" },
        { "queues:\n  q: {during: {nights: {limit: 1}}}\n",
          "t.yaml:2: queue q: no window 'nights'" },
        { "windows: {n: \"22:00-06:00\"}\nqueues:\n  q: {during: {n: {weight: 1}}}\n",
          "t.yaml:3: queue q: during n: unknown key 'weight'" },
        { "queues:\n  q: {budget: lots}\n",
          "t.yaml:2: queue q: budget: expected budget: a number from 0 to 1000000000" },
        { "queues:\n  q: {budget: {amount: 1, per: fortnight}}\n",
          "t.yaml:2: queue q: budget: per: 'fortnight': expected hour, day, week, month, quarter "
          "or "
          "year" },
        { "queues:\n  q: {users: {ana: {budget: -1}}}\n",
          "t.yaml:2: queue q: users: ana: budget: expected budget: a number from 0 to 1000000000" },
        { "queues:\n  q: {users: {each: {gpu_hours: {amount: 1, per: aeon}}}}\n",
          "t.yaml:2: queue q: users: each: gpu_hours: per: 'aeon': expected hour, day, week, "
          "month, "
          "quarter or year" },
        { "queues:\n  q: {groups: {students: {budget: 4}}}\n",
          "t.yaml:2: queue q: groups: students: budget: queues and users have budgets, Unix groups "
          "have none" },
        { "queues:\n  q: {gpu_hours: {amount: 1, hard: maybe}}\n",
          "t.yaml:2: queue q: gpu_hours: hard: expected true, false or kill" },
        { "windows: {n: \"22:00-06:00\"}\nqueues: {a: {}}\npools:\n  p: {type: static, queue: a, "
          "during: {n: {max: 1}}}\n",
          "t.yaml:4: pool p: during: a static pool has a fixed size; expected no windows" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(config) struct config *config = NULL;
        struct error err = { "" };
        int code = parse(cases[i].yaml, &config, &err);
        if (code >= 0)
            fail_msg("taken: %s", cases[i].yaml);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void it_names_every_window_that_it_needs(void **state)
{
    (void)state;
    AUTO(config) struct config *config = parsed(times);
    static const char *const names[] = { "nights",      "weekend",           "each day",
                                         "each week",   "each month",        "each quarter",
                                         "tariff peak", "reservation course" };

    assert_int_equal(config->window_count, COUNT_OF(names));
    for (size_t i = 0; i < config->window_count; i++)
        assert_string_equal(config->windows[i].name, names[i]);
}

/* ---- spans of journal time ---- */

static struct window_place place(const struct zone *zone)
{
    /* Journal time 1000 s is 1970-01-10 12:00 UTC on the wall. */
    return (struct window_place){ .zone = zone,
                                  .now = 1000 * USEC_PER_SEC,
                                  .wall_ahead =
                                      9 * USEC_PER_DAY + 12 * USEC_PER_HOUR - 1000 * USEC_PER_SEC,
                                  .ahead = WINDOW_AHEAD,
                                  .spans_most = WINDOW_FEW };
}

static void worked_out(const struct window_place *at, const char *words, struct arena *arena,
                       struct event *ret)
{
    struct error err;

    if (window_event(at, "w", words, arena, ret, &err) < 0)
        fail_msg("%s", err.text);
}

static void spans_are_journal_time(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_utc();
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct window_place at = place(zone);
    struct event event;
    struct error err;

    worked_out(&at, "12:00-13:00", &arena, &event);
    assert_int_equal(event.window.spans_count, 40); /* yesterday's was before there was a journal */
    assert_int_equal(event.window.spans[0].from, 1000 * USEC_PER_SEC);
    assert_int_equal(event.window.spans[0].until, 1000 * USEC_PER_SEC + USEC_PER_HOUR);
    assert_int_equal(event.window.until, at.now + WINDOW_AHEAD);
    assert_int_equal(window_event(&at, "bad", "25:00-26:00", &arena, &event, &err), -EINVAL);
    assert_non_null(strstr(err.text, "window bad: "));
}

static void dense_ones_are_worked_out_for_a_shorter_time(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_utc();
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct window_place at = place(zone);
    struct event event;

    worked_out(&at, "cron * * * * * for 20s", &arena, &event);
    assert_in_range(event.window.spans_count, 300, WINDOW_FEW);
    assert_in_range(event.window.until - at.now, USEC_PER_HOUR, USEC_PER_DAY);
    usec_t last = event.window.spans[event.window.spans_count - 1].until;
    assert_in_range(event.window.until - last, 0, USEC_PER_MIN);
}

static void a_period_is_every_other_one(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_utc();
    AUTO_RELEASE(arena) struct arena arena = { 0 };
    struct window_place at = place(zone);
    struct event event;
    struct error err;

    at.now += USEC_PER_DAY * 30; /* 9 February, 12:00 */
    if (window_event(&at, "each month", "each month", &arena, &event, &err) < 0)
        fail_msg("%s", err.text);
    usec_t february = at.now - (8 * USEC_PER_DAY + 12 * USEC_PER_HOUR);
    assert_int_equal(event.window.spans[0].from, february);
    assert_int_equal(event.window.spans[0].until, february + 28 * USEC_PER_DAY);
    assert_int_equal(event.window.spans[1].from, february + (28 + 31) * USEC_PER_DAY);
    assert_true(event.window.spans_count >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_read),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(a_change_is_said_in_a_line),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(it_names_every_window_that_it_needs),
        cmocka_unit_test(spans_are_journal_time),
        cmocka_unit_test(dense_ones_are_worked_out_for_a_shorter_time),
        cmocka_unit_test(a_period_is_every_other_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
