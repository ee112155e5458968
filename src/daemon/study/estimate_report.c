/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/study/estimate_report.h"

#include <stdlib.h>
#include <string.h>

#include "forecast/stretch.h"

static struct estimate_tally *tally_of(struct estimate_report *report, const char *by,
                                       const char *name)
{
    LIST_EACH (struct estimate_tally, tally, &report->tallies) {
        if (strcmp(tally->by, by) == 0 && strcmp(tally->name, name) == 0)
            return tally;
    }
    struct estimate_tally tally = { .by = mem_string(by), .name = mem_string(name) };
    list_add(&report->tallies, tally);
    return &report->tallies.items[report->tallies.count - 1];
}

static void count_start(struct estimate_tally *tally, const struct estimate_row *row)
{
    struct wait_range range = { row->low, row->median, row->high };
    bool is_below = wait_is_below(&range, row->came), is_above = wait_is_above(&range, row->came);

    if (row->guaranteed != USEC_NEVER) {
        tally->guaranteed++;
        tally->broken += row->came > row->guaranteed + STRETCH_TICK;
    }
    if (row->median == USEC_NEVER) {
        tally->unknown++;
        return;
    }
    usec_t error = row->came - row->median;
    list_add(&tally->errors, error < 0 ? -error : error);
    if (row->high != USEC_NEVER && row->high - row->low <= STRETCH_TICK) {
        tally->exact++;
        tally->exact_right += !is_below && !is_above;
        return;
    }
    tally->ranged++;
    tally->below += is_below;
    tally->above += is_above;
    tally->covered += !is_below && !is_above;
}

static void count(struct estimate_tally *tally, const struct estimate_row *row)
{
    tally->open += row->outcome == ESTIMATE_OPEN;
    tally->dropped += row->outcome == ESTIMATE_DROPPED;
    if (row->outcome == ESTIMATE_STARTED)
        count_start(tally, row);
}

static const char *horizon_of(usec_t wait)
{
    static const struct {
        usec_t most;
        const char *name;
    } horizons[] = {
        { USEC_PER_MIN, "up to 1m" },   { 10 * USEC_PER_MIN, "1m to 10m" },
        { USEC_PER_HOUR, "10m to 1h" }, { 6 * USEC_PER_HOUR, "1h to 6h" },
        { USEC_PER_DAY, "6h to 1d" },   { USEC_NEVER - 1, "more than 1d" },
        { USEC_NEVER, "not known" },
    };
    size_t i = 0;

    while (wait > horizons[i].most)
        i++;
    return horizons[i].name;
}

void estimate_report_add(void *user, const struct estimate_row *row)
{
    struct estimate_report *report = user;

    count(tally_of(report, "total", ""), row);
    count(tally_of(report, "queues", row->queue), row);
    count(tally_of(report, "kinds", row->kind), row);
    count(tally_of(report, "horizons", horizon_of(row->median)), row);
    count(tally_of(report, "history", row->is_cold ? "little" : "enough"), row);
}

static int compare_times(const void *a, const void *b)
{
    const usec_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static json_t *share(uint32_t part, uint32_t whole)
{
    return whole == 0 ? json_null() : json_real((double)part / whole);
}

static json_t *view_tally(struct estimate_tally *tally)
{
    json_t *error = json_null();

    if (tally->errors.count > 0) {
        list_sort(&tally->errors, compare_times);
        error = json_real((double)tally->errors.items[(tally->errors.count - 1) / 2] / 1e6);
    }
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:i, s:o, s:i, s:i, s:i, s:i, s:i}", "name",
                     tally->name, "ranged", (int)tally->ranged, "coverage",
                     share(tally->covered, tally->ranged), "below",
                     share(tally->below, tally->ranged), "above",
                     share(tally->above, tally->ranged), "median_error_seconds", error, "exact",
                     (int)tally->exact, "exact_right", share(tally->exact_right, tally->exact),
                     "unknown", (int)tally->unknown, "guaranteed", (int)tally->guaranteed, "broken",
                     (int)tally->broken, "open", (int)tally->open, "dropped", (int)tally->dropped);
}

json_t *estimate_report_view(struct estimate_report *report)
{
    json_t *view = json_pack("{s:[], s:[], s:[], s:[]}", "queues", "kinds", "horizons", "history");

    json_object_set_new(view, "total", view_tally(tally_of(report, "total", "")));
    LIST_EACH (struct estimate_tally, tally, &report->tallies) {
        json_t *list = json_object_get(view, tally->by);
        if (json_is_array(list))
            json_array_append_new(list, view_tally(tally));
    }
    return view;
}

void estimate_report_release(struct estimate_report *report)
{
    LIST_EACH (struct estimate_tally, tally, &report->tallies) {
        free(tally->by);
        free(tally->name);
        list_release(&tally->errors);
    }
    list_release(&report->tallies);
}
