/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "time/calendar.h"
#include "time/cron.h"
#include "time/zone.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Where the clock jumps in the weeks that are looked at. */
static const usec_t from = 1772323200 * USEC_PER_SEC; /* 1 March 2026 */
static const usec_t until = 1772323200 * USEC_PER_SEC + 40 * USEC_PER_DAY;

static bool expand(const struct calendar *calendar, const struct zone *zone,
                   struct span_list *spans)
{
    struct error err = { 0 };

    if (calendar_expand(calendar, zone, from, until, spans, &err) < 0) {
        must(err.text[0] && spans->count == 0);
        return false;
    }
    must(span_list_is_sorted(spans) && spans->count <= CALENDAR_SPANS_MAX);
    must(spans->count == 0 ||
         (spans->items[0].from >= from && spans->items[spans->count - 1].until <= until));
    return true;
}

/* What was understood reads back from its own words, and is the same spans. */
static void check_understood(const struct calendar *calendar)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    AUTO_RELEASE(text) struct text again_words = { 0 };
    AUTO_RELEASE(span_list) struct span_list spans = { 0 };
    AUTO_RELEASE(span_list) struct span_list again_spans = { 0 };
    AUTO(calendar) struct calendar *again = NULL;
    AUTO(zone) struct zone *zone = NULL;

    must(zone_of_rule("t", "CET-1CEST,M3.5.0,M10.5.0/3", &zone, NULL) == 0);
    calendar_format(calendar, &words);
    must(calendar_parse(words.bytes, &again, NULL) == 0);
    calendar_format(again, &again_words);
    must(strcmp(words.bytes, again_words.bytes) == 0);
    bool is_expanded = expand(calendar, zone, &spans);
    must(expand(again, zone, &again_spans) == is_expanded && spans.count == again_spans.count);
    must(spans.count == 0 ||
         memcmp(spans.items, again_spans.items, spans.count * sizeof(spans.items[0])) == 0);
}

static void check_cron(const char *words)
{
    AUTO(zone) struct zone *utc = zone_utc();
    struct cron cron, again;
    struct error err = { 0 };

    if (cron_parse(words, &cron, &err) < 0) {
        must(err.text[0]);
        return;
    }
    must(cron_parse(cron.words, &again, NULL) == 0 && memcmp(&cron, &again, sizeof(cron)) == 0);
    usec_t next = cron_next(&cron, utc, from);
    must(next > from && next != USEC_NEVER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *string = mem_string_of((const char *)data, size);
    AUTO(calendar) struct calendar *calendar = NULL;
    struct error err = { 0 };

    if (calendar_parse(string, &calendar, &err) == 0)
        check_understood(calendar);
    else
        must(err.text[0] && !calendar);
    check_cron(string);
    return 0;
}
