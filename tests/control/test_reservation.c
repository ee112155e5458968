/* SPDX-License-Identifier: Apache-2.0 */
#include "control/reservation.h"

#include <stdio.h>

#include "control/config/configure.h"
#include "control/tend.h"
#include "desk.h"
#include "wire/config/config.h"
#include "wire/reader.h"

/* Its texts and windows are those of the configuration. */
static struct event_reservation read(struct config *config, const char *name, const char *yaml)
{
    AUTO(json) json_t *document = desk_json(yaml);
    struct event_reservation asked = { .name = name };
    struct error err = { "" };
    struct reader reader = { .err = &err };

    snprintf(reader.where, sizeof(reader.where), "reservation %s", name);
    if (config_reservation_read(config, &reader, document, &asked) < 0)
        fail_msg("%s", err.text);
    return asked;
}

static int ask(struct desk *desk, const char *name, const char *yaml, struct error *err)
{
    AUTO(config) struct config *config = config_of_state(desk->state);
    struct event_reservation asked = read(config, name, yaml);

    return reserve(&desk->control, "ana", config, &asked, err);
}

static void what_is_asked_for_is_kept_and_removed(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    const struct agenda *agenda = &desk->state->agenda;

    ASSERT_DONE(ask(desk, "course", "{for: {user: ana}, when: 'mon 14:00-16:00', gpus: 2}", &err));
    assert_int_equal(agenda->reservations.count, 1);
    assert_string_equal(agenda->reservations.items[0].maker, "ana");
    assert_int_equal(agenda->reservations.items[0].gpus, 2);
    ASSERT_DONE(reserve_remove(&desk->control, "course", &err));
    assert_int_equal(agenda->reservations.count, 0);
}

static void what_can_not_be_kept_is_refused(void **state)
{
    static const struct {
        const char *name, *yaml;
        int code;
        const char *text;
    } cases[] = {
        { "course", "{for: maintenance, when: 'mon 14:00-16:00', nodes: [a]}", REFUSED_CONFLICT,
          "reservation course: there is one of that name" },
        { "r", "{for: maintenance, when: 'mon 14:00-16:00', nodes: [c]}", REFUSED_NOT_FOUND,
          "reservation r: no node 'c'" },
        { "r", "{for: {user: ana}, when: 'mon 14:00-16:00', gpus: 7}", REFUSED_NEVER,
          "reservation r: 7 gpus of any model, there are only 6" },
        { "r", "{for: {user: ana}, when: 'mon 14:00-16:00', gpus: 3, model: a100}", REFUSED_NEVER,
          "reservation r: 3 gpus of a100, there are only 2" },
        { "r", "{for: {user: ana}, when: '2001-01-01 8:00-9:00', gpus: 1}", REFUSED_BAD,
          "reservation r: when: '2001-01-01 08:00-09:00' is over or never occurs" },
    };
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    ASSERT_DONE(ask(desk, "course", "{for: {user: ana}, when: 'mon 14:00-16:00', gpus: 2}", &err));
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ASSERT_REFUSED(desk, ask(desk, cases[i].name, cases[i].yaml, &err), cases[i].code,
                       cases[i].text);
    ASSERT_REFUSED(desk, reserve_remove(&desk->control, "r", &err), REFUSED_NOT_FOUND,
                   "reservation r: there is none");
}

static void a_queue_may_go_before_it_is_kept_for(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "queues: {research: {}}");
    AUTO(config) struct config *config = config_of_state(desk->state);
    struct event_reservation asked =
        read(config, "r", "{for: {queue: research}, when: 'mon 14:00-16:00', gpus: 1}");
    desk_configure(desk, "{}");
    ASSERT_REFUSED(desk, reserve(&desk->control, "ana", config, &asked, &err), REFUSED_NOT_FOUND,
                   "reservation r: no queue 'research'");
}

static void there_are_not_too_many(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();
    char name[32];

    desk_configure(desk, "windows: {noon: '12:00-13:00'}");
    for (int i = 0; i < AGENDA_RESERVATIONS_MAX; i++) {
        snprintf(name, sizeof(name), "r%d", i);
        ASSERT_DONE(ask(desk, name, "{for: {user: ana}, when: noon, gpus: 1}", &err));
    }
    ASSERT_REFUSED(desk, ask(desk, "r", "{for: {user: ana}, when: noon, gpus: 1}", &err),
                   REFUSED_TOO_MANY, "more than 256 reservations");
}

static void those_of_the_configuration_stay_with_it(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "reservations: {weekly: {for: maintenance, when: 'mon 8:00-9:00', nodes: "
                         "[a]}}");
    ASSERT_REFUSED(desk, reserve_remove(&desk->control, "weekly", &err), REFUSED_CONFLICT,
                   "reservation weekly: it is part of the configuration; remove it there");
}

static int check(struct desk *desk, const char *yaml, struct error *err)
{
    AUTO(config) struct config *config = desk_config(yaml);

    return configure_check(desk->state, config, err);
}

static void a_configuration_keeps_what_people_asked_for(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    desk_configure(desk, "windows: {noon: '12:00-13:00'}\nqueues: {research: {}}");
    ASSERT_DONE(ask(desk, "lunch", "{for: {queue: research}, when: noon, gpus: 1}", &err));
    ASSERT_REFUSED(desk, check(desk, "queues: {research: {}}", &err), REFUSED_CONFLICT,
                   "window noon: reservation lunch names it");
    ASSERT_REFUSED(desk, check(desk, "windows: {noon: '12:00-13:00'}", &err), REFUSED_CONFLICT,
                   "queue research: reservation lunch is for it");
    ASSERT_REFUSED(desk,
                   check(desk,
                         "windows: {noon: '12:00-13:00'}\nqueues: {research: {}}\n"
                         "reservations: {lunch: {for: maintenance, when: noon, nodes: [a]}}",
                         &err),
                   REFUSED_CONFLICT,
                   "reservation lunch: ana made it; run tarn reserve --remove lunch first");
}

static void what_is_over_goes_by_itself(void **state)
{
    (void)state;
    AUTO(desk) struct desk *desk = desk_create();

    ASSERT_DONE(
        ask(desk, "once", "{for: {user: ana}, when: '2030-06-01 8:00-9:00', gpus: 1}", &err));
    desk->now += 30 * USEC_PER_DAY; /* the clock of the desk begins in March 2030 */
    tend(&desk->control, false);
    desk_run_changes(desk);
    assert_int_equal(desk->state->agenda.reservations.count, 1);
    desk->now += 200 * USEC_PER_DAY;
    tend(&desk->control, false);
    desk_run_changes(desk);
    assert_int_equal(desk->state->agenda.reservations.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_is_kept_and_removed),
        cmocka_unit_test(what_can_not_be_kept_is_refused),
        cmocka_unit_test(a_queue_may_go_before_it_is_kept_for),
        cmocka_unit_test(there_are_not_too_many),
        cmocka_unit_test(those_of_the_configuration_stay_with_it),
        cmocka_unit_test(a_configuration_keeps_what_people_asked_for),
        cmocka_unit_test(what_is_over_goes_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
