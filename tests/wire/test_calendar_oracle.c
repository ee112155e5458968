/* SPDX-License-Identifier: Apache-2.0 */

/* Random calendars in many zones, against a slow answer: minute by minute, with the clock of the C
 * library.
 *
 *     test_calendar_oracle [SEED]     a failure prints the seed and the words
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/zone_file.h"
#include "time/calendar.h"
#include "time/civil.h"
#include "time/cron.h"

enum {
    ROUNDS = 100,
    LEAD_DAYS = 12, /* that the slow answer looks back and ahead */
    DAYS_MAX = 12,
    DAY_MINUTES = 1440,
    GRID = (DAYS_MAX + 2 * LEAD_DAYS) * DAY_MINUTES,
    RULES_MAX = 3,
};

static const char *const zones[] = {
    "Europe/Berlin", "America/New_York",  "Australia/Lord_Howe",  "Asia/Kolkata",
    "Etc/UTC",       "America/Sao_Paulo", "America/Havana",       "America/St_Johns",
    "Africa/Cairo",  "Africa/Casablanca", "Antarctica/Troll",     "Pacific/Apia",
    "Asia/Gaza",     "Europe/Dublin",     "America/Scoresbysund",
};

static uint64_t seed;

static uint64_t draw(uint64_t *random, uint64_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*random >> 33) % below;
}

/* Minutes of Unix time from `start` on, and the minutes that the clock shows then. */
struct grid {
    int64_t start;
    int64_t wall[GRID];
    int64_t highest_before[GRID]; /* that it has shown, before that minute */
};

static struct grid grid;

static void grid_fill(const char *zone, int64_t start)
{
    setenv("TZ", zone, 1);
    tzset();
    grid.start = start;
    int64_t highest = INT64_MIN;
    for (int i = 0; i < GRID; i++) {
        time_t seconds = (time_t)(start + i) * 60;
        struct tm parts;

        localtime_r(&seconds, &parts);
        grid.wall[i] = (int64_t)timegm(&parts) / 60;
        grid.highest_before[i] = highest;
        highest = grid.wall[i] > highest ? grid.wall[i] : highest;
    }
}

/* What one rule is: words, and sets that say the same. */
struct rule {
    char words[120];
    bool is_cron, is_date;
    bool weekdays[7], days[32], months[13]; /* Sunday is 0 */
    bool is_last_day, is_both;
    int nth; /* 5: the last */
    bool minutes[60], hours[24];
    int from, until; /* minutes from midnight; until of a cron: how long */
    int64_t date;    /* days since 1970 */
};

static const char *const weekday_names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

static void add_words(struct rule *rule, const char *format, ...) PRINTF(2, 3);

static void add_words(struct rule *rule, const char *format, ...)
{
    size_t length = strlen(rule->words);
    va_list args;

    va_start(args, format);
    int more = vsnprintf(rule->words + length, sizeof(rule->words) - length, format, args);
    va_end(args);
    assert_true(more >= 0 && length + (size_t)more < sizeof(rule->words));
}

/* One field of cron, and the set that it is. */
static void draw_field(struct rule *rule, uint64_t *random, int min, int max, bool *set)
{
    int first = min + (int)draw(random, (uint64_t)(max - min + 1));
    int last = first + (int)draw(random, (uint64_t)(max - first + 1));
    int step = 1 + (int)draw(random, 7);

    switch (draw(random, 5)) {
    case 0:
        first = min;
        last = max;
        step = 1;
        add_words(rule, " *");
        break;
    case 1:
        first = min;
        last = max;
        add_words(rule, " */%d", step);
        break;
    case 2:
        last = first;
        add_words(rule, " %d", first);
        break;
    case 3:
        add_words(rule, " %d-%d/%d", first, last, step);
        break;
    default:
        set[last] = true;
        add_words(rule, " %d,%d", last, first);
        last = first;
        break;
    }
    for (int value = first; value <= last; value += step)
        set[value] = true;
}

static bool is_star(const char *words, int field)
{
    for (; field > 0; field--)
        words = strchr(words + 1, ' ');
    return words[1] == '*';
}

static void draw_cron(struct rule *rule, uint64_t *random)
{
    bool weekdays[8] = { false };

    rule->is_cron = true;
    add_words(rule, "cron");
    const char *fields = rule->words + strlen(rule->words);
    draw_field(rule, random, 0, 59, rule->minutes);
    draw_field(rule, random, 0, 23, rule->hours);
    draw_field(rule, random, 1, 28, rule->days);
    add_words(rule, " *");
    for (int month = 1; month <= 12; month++)
        rule->months[month] = true;
    draw_field(rule, random, 0, 7, weekdays);
    for (int i = 0; i < 8; i++)
        rule->weekdays[i % 7] |= weekdays[i];
    /* In a star there is all, whatever draw_field() knew of the month's length. */
    rule->is_both = is_star(fields, 2) || is_star(fields, 4);
    const char *day = fields;
    for (int i = 0; i < 2; i++)
        day = strchr(day + 1, ' ');
    int step = 1;
    if (is_star(fields, 2)) {
        sscanf(day, " */%d", &step);
        for (int value = 1; value <= 31; value += step)
            rule->days[value] = true;
    }
    rule->until = 1 + (int)draw(random, draw(random, 2) ? 5 : 3000);
    add_words(rule, " for %dm", rule->until);
}

static void draw_hours(struct rule *rule, uint64_t *random)
{
    if (draw(random, 5) == 0) {
        rule->until = DAY_MINUTES;
        return;
    }
    /* Mostly where clocks jump: near midnight and in the small hours. */
    int most = draw(random, 2) ? DAY_MINUTES : 240;
    rule->from = (int)draw(random, (uint64_t)most);
    do
        rule->until = (int)draw(random, (uint64_t)most + 1);
    while (rule->until == rule->from);
    add_words(rule, " %02d:%02d-%02d:%02d", rule->from / 60, rule->from % 60, rule->until / 60,
              rule->until % 60);
    if (rule->until < rule->from)
        rule->until += DAY_MINUTES;
}

static void draw_weekdays(struct rule *rule, uint64_t *random)
{
    int first = (int)draw(random, 7), last = (int)draw(random, 7);

    for (int day = first;; day = (day + 1) % 7) {
        rule->weekdays[day] = true;
        if (day == last)
            break;
    }
    add_words(rule, "%s-%s", weekday_names[first], weekday_names[last]);
    if (draw(random, 2)) {
        int more = (int)draw(random, 7);
        rule->weekdays[more] = true;
        add_words(rule, ",%s", weekday_names[more]);
    }
    draw_hours(rule, random);
}

static void draw_week_span(struct rule *rule, uint64_t *random)
{
    int first = (int)draw(random, 7), ahead = (int)draw(random, 7);
    int until = (int)draw(random, DAY_MINUTES);

    rule->from = (int)draw(random, DAY_MINUTES);
    if (ahead == 0 && until == rule->from)
        until = (until + 1) % DAY_MINUTES;
    rule->weekdays[first] = true;
    rule->until = ahead * DAY_MINUTES + until;
    if (rule->until < rule->from)
        rule->until += 7 * DAY_MINUTES;
    add_words(rule, "%s %02d:%02d - %s %02d:%02d", weekday_names[first], rule->from / 60,
              rule->from % 60, weekday_names[(first + ahead) % 7], until / 60, until % 60);
}

static void draw_month_days(struct rule *rule, uint64_t *random)
{
    int first = 1 + (int)draw(random, 31), last = first + (int)draw(random, (uint64_t)(32 - first));

    for (int day = first; day <= last; day++)
        rule->days[day] = true;
    add_words(rule, "month-day %d-%d", first, last);
    rule->is_last_day = draw(random, 2);
    if (rule->is_last_day)
        add_words(rule, ",last");
    draw_hours(rule, random);
}

static void draw_nth(struct rule *rule, uint64_t *random)
{
    static const char *const names[] = { "first", "second", "third", "fourth", "last" };
    int weekday = (int)draw(random, 7);

    rule->nth = 1 + (int)draw(random, 5);
    rule->weekdays[weekday] = true;
    add_words(rule, "%s %s", names[rule->nth - 1], weekday_names[weekday]);
    draw_hours(rule, random);
}

static void draw_date(struct rule *rule, uint64_t *random)
{
    int days = (int)draw(random, LEAD_DAYS - 1);

    rule->is_date = true;
    rule->date = grid.start / DAY_MINUTES + 2 + (int64_t)draw(random, DAYS_MAX + LEAD_DAYS);
    rule->from = (int)draw(random, DAY_MINUTES / 2);
    int until = DAY_MINUTES / 2 + (int)draw(random, DAY_MINUTES / 2 + 1);
    rule->until = days * DAY_MINUTES + until;
    struct civil from = civil_of_day(rule->date), last = civil_of_day(rule->date + days);
    add_words(rule, "%04d-%02d-%02d %02d:%02d .. %04d-%02d-%02d %02d:%02d", (int)from.year,
              from.month, from.day, rule->from / 60, rule->from % 60, (int)last.year, last.month,
              last.day, until / 60, until % 60);
}

static void draw_rule(struct rule *rule, uint64_t *random)
{
    static void (*const kinds[])(struct rule *, uint64_t *) = {
        draw_cron, draw_weekdays, draw_week_span, draw_month_days, draw_nth, draw_date,
    };

    *rule = (struct rule){ 0 };
    if (draw(random, 5) == 0) {
        draw_hours(rule, random);
        if (rule->words[0] == '\0')
            add_words(rule, "00:00-24:00");
        for (int i = 0; i < 7; i++)
            rule->weekdays[i] = true;
        return;
    }
    kinds[draw(random, COUNT_OF(kinds))](rule, random);
}

static bool starts_on(const struct rule *rule, int64_t day)
{
    time_t seconds = (time_t)day * 86400, tomorrow = seconds + 86400;
    struct tm parts, next;

    gmtime_r(&seconds, &parts);
    gmtime_r(&tomorrow, &next);
    if (rule->is_date)
        return day == rule->date;
    if (rule->is_cron && !rule->is_both)
        return rule->weekdays[parts.tm_wday] || rule->days[parts.tm_mday];
    if (rule->is_cron)
        return rule->weekdays[parts.tm_wday] && rule->days[parts.tm_mday];
    if (strncmp(rule->words, "month-day", 9) == 0)
        return rule->days[parts.tm_mday] || (rule->is_last_day && next.tm_mday == 1);
    if (rule->nth == 0)
        return rule->weekdays[parts.tm_wday];
    time_t week = seconds + 7 * 86400;
    gmtime_r(&week, &next);
    return rule->weekdays[parts.tm_wday] &&
           (rule->nth == 5 ? next.tm_mon != parts.tm_mon
                           : parts.tm_mday > 7 * (rule->nth - 1) && parts.tm_mday <= 7 * rule->nth);
}

/* From the first minute in which the clock shows a time of it to the last. */
static void mark_day(const struct rule *rule, int64_t day, bool *inside)
{
    int64_t from = day * DAY_MINUTES + rule->from, until = day * DAY_MINUTES + rule->until;
    int first = GRID, last = -1;

    for (int i = 0; i < GRID; i++) {
        if (grid.wall[i] < from || grid.wall[i] >= until)
            continue;
        first = i < first ? i : first;
        last = i;
    }
    for (int i = first; i <= last; i++)
        inside[i] = true;
}

static bool fits(const struct rule *rule, int64_t wall)
{
    return rule->hours[wall / 60 % 24] && rule->minutes[wall % 60] &&
           starts_on(rule, wall / DAY_MINUTES);
}

static bool fires(const struct rule *rule, int i)
{
    bool is_rhythm = true;

    for (int hour = 0; hour < 24; hour++)
        is_rhythm &= rule->hours[hour];
    if (is_rhythm)
        return fits(rule, grid.wall[i]);
    /* What the clock shows for the first time, or has just jumped over. */
    for (int64_t wall = grid.highest_before[i] + 1; i > 0 && wall <= grid.wall[i]; wall++) {
        if (fits(rule, wall))
            return true;
    }
    return false;
}

static void mark(const struct rule *rule, bool *inside)
{
    if (rule->is_cron) {
        for (int i = 0; i < GRID; i++) {
            if (!fires(rule, i))
                continue;
            for (int k = i; k < i + rule->until && k < GRID; k++)
                inside[k] = true;
        }
        return;
    }
    for (int64_t day = grid.start / DAY_MINUTES - 2; day <= (grid.start + GRID) / DAY_MINUTES + 2;
         day++) {
        if (starts_on(rule, day))
            mark_day(rule, day, inside);
    }
}

/* cron_next() gives the next moment at which it fires, from wherever it is asked: here from
 * minutes that come a second time, and from some others. */
static void check_cron(const struct rule *rule, const struct zone *zone, uint64_t *random)
{
    char words[sizeof(rule->words)];
    struct cron cron;
    struct error err;
    usec_t next = USEC_NEVER;

    snprintf(words, sizeof(words), "%s", rule->words + strlen("cron"));
    *strstr(words, " for ") = '\0';
    if (cron_parse(words, &cron, &err) < 0)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);
    for (int i = GRID - 1; i >= LEAD_DAYS * DAY_MINUTES; i--) {
        bool is_again = grid.wall[i] <= grid.highest_before[i];
        bool is_first = fires(rule, i);
        usec_t at = (grid.start + i) * USEC_PER_MIN;

        if (next != USEC_NEVER && (is_first || is_again || draw(random, 60) == 0) &&
            cron_next(&cron, zone, at) != next)
            fail_msg("seed %" PRIu64 ", zone %s, cron%s after %" PRId64, seed, zone_name(zone),
                     words, at / USEC_PER_SEC);
        next = is_first ? at : next;
    }
}

static void expand(const struct calendar *calendar, const struct zone *zone, usec_t from,
                   usec_t until, struct span_list *spans, const char *words)
{
    struct error err;

    if (calendar_expand(calendar, zone, from, until, spans, &err) < 0)
        fail_msg("seed %" PRIu64 ", %s: %s", seed, words, err.text);
    if (!span_list_is_sorted(spans))
        fail_msg("seed %" PRIu64 ", %s: not in order", seed, words);
}

static bool is_same(const struct span_list *a, const struct span_list *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof(a->items[0])) == 0);
}

/* In pieces of any length: together they are what the whole is. */
static void check_pieces(const struct calendar *calendar, const struct zone *zone, usec_t from,
                         usec_t until, const struct span_list *whole, const char *words,
                         uint64_t *random)
{
    AUTO_RELEASE(span_list) struct span_list together = { 0 };

    for (usec_t at = from; at < until;) {
        AUTO_RELEASE(span_list) struct span_list piece = { 0 };
        usec_t next = at + 1 + (usec_t)draw(random, 3 * 86400) * USEC_PER_SEC;

        next = next < until ? next : until;
        expand(calendar, zone, at, next, &piece, words);
        for (size_t i = 0; i < piece.count; i++) {
            if (piece.items[i].from < at || piece.items[i].until > next)
                fail_msg("seed %" PRIu64 ", %s: beyond its stretch", seed, words);
            span_list_add(&together, piece.items[i]);
        }
        at = next;
    }
    if (!is_same(&together, whole))
        fail_msg("seed %" PRIu64 ", %s: pieces differ from the whole", seed, words);
}

static void check_round_trip(const struct calendar *calendar, const struct zone *zone, usec_t from,
                             usec_t until, const struct span_list *whole)
{
    AUTO_RELEASE(span_list) struct span_list spans = { 0 };
    AUTO_RELEASE(text) struct text once = { 0 };
    AUTO_RELEASE(text) struct text twice = { 0 };
    AUTO(calendar) struct calendar *again = NULL;
    struct error err;

    calendar_format(calendar, &once);
    if (calendar_parse(once.bytes, &again, &err) < 0)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);
    calendar_format(again, &twice);
    assert_string_equal(once.bytes, twice.bytes);
    expand(again, zone, from, until, &spans, once.bytes);
    if (!is_same(&spans, whole))
        fail_msg("seed %" PRIu64 ": '%s' is not what it was made from", seed, once.bytes);
}

/* A moment to look at: half of them are soon after a change of the clock. */
static int64_t draw_start(const struct zone *zone, uint64_t *random)
{
    int64_t day = civil_day(1985, 1, 1) + (int64_t)draw(random, 160 * 365);
    struct zone_piece piece = zone_piece_at(zone, day * USEC_PER_DAY);

    if (draw(random, 4) > 0 && piece.until != USEC_NEVER)
        day = civil_day_of(piece.until) - LEAD_DAYS - (int64_t)draw(random, DAYS_MAX);
    return day * DAY_MINUTES;
}

static void check_round(uint64_t *random)
{
    static bool inside[GRID], without[GRID];
    AUTO_RELEASE(text) struct text words = { 0 };
    AUTO_RELEASE(span_list) struct span_list spans = { 0 };
    AUTO(calendar) struct calendar *calendar = NULL;
    const char *name = zones[draw(random, COUNT_OF(zones))];
    AUTO(zone) struct zone *zone = NULL;
    struct error err;

    if (zone_load(name, &zone, &err) < 0)
        fail_msg("%s", err.text);
    grid_fill(name, draw_start(zone, random));
    memset(inside, 0, sizeof(inside));
    memset(without, 0, sizeof(without));
    uint64_t during = 1 + draw(random, RULES_MAX), except = draw(random, RULES_MAX);
    for (uint64_t i = 0; i < during + except; i++) {
        struct rule rule;

        draw_rule(&rule, random);
        text_printf(&words, "%s%s", i == during ? " except " : i > 0 ? ";" : "", rule.words);
        mark(&rule, i < during ? inside : without);
        if (rule.is_cron)
            check_cron(&rule, zone, random);
    }
    if (calendar_parse(words.bytes, &calendar, &err) < 0)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);

    int first = LEAD_DAYS * DAY_MINUTES, last = GRID - first;
    usec_t from = (grid.start + first) * USEC_PER_MIN, until = (grid.start + last) * USEC_PER_MIN;
    expand(calendar, zone, from, until, &spans, words.bytes);
    for (int i = first; i < last; i++) {
        usec_t at = (grid.start + i) * USEC_PER_MIN;
        size_t k = span_list_find(&spans, at);
        bool is_inside = k < spans.count && spans.items[k].from <= at;

        if (is_inside != (inside[i] && !without[i]))
            fail_msg("seed %" PRIu64 ", zone %s, %s: at %" PRId64 " %s", seed, name, words.bytes,
                     at / USEC_PER_SEC,
                     is_inside ? "inside, expected out" : "out, expected inside");
    }
    for (size_t i = 0; i < spans.count; i++) {
        if (spans.items[i].from % USEC_PER_MIN != 0 || spans.items[i].until % USEC_PER_MIN != 0)
            fail_msg("seed %" PRIu64 ", %s: not at a full minute", seed, words.bytes);
    }
    check_pieces(calendar, zone, from, until, &spans, words.bytes, random);
    check_round_trip(calendar, zone, from, until, &spans);
}

static void spans_are_what_the_clock_shows_minute_by_minute(void **state)
{
    uint64_t random = seed * 2 + 1;
    (void)state;

    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) != 0) {
        print_message("skipped: no time zones here (the package tzdata)\n");
        skip();
    }
    print_message("seed %" PRIu64 "\n", seed);
    for (int round = 0; round < ROUNDS; round++)
        check_round(&random);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_what_the_clock_shows_minute_by_minute),
    };

    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
