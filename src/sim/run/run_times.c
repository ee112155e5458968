/* SPDX-License-Identifier: Apache-2.0 */
/* Before the first job: windows for the whole run, tariffs and reservations. */

#include "io/zone_file.h"
#include "sim/run/run_inside.h"
#include "wire/config/window_event.h"

#define BEYOND     (400 * USEC_PER_DAY) /* after the last submission and as long again */
#define AHEAD_MOST (3650 * USEC_PER_DAY)

static bool has_times(const struct config *config)
{
    return config->window_count + config->tariff_count + config->reservation_count > 0;
}

/* The zero of the workload is `starts` on the clock of the place. */
static struct window_place place_of(const struct run *run, const struct zone *zone)
{
    size_t count = run->workload->jobs.count;
    usec_t span = count > 0 ? run->workload->jobs.items[count - 1].submit : 0;
    usec_t ahead = 2 * span + BEYOND;

    return (struct window_place){ .zone = zone,
                                  .now = run->origin,
                                  .wall_ahead =
                                      zone_first(zone, run->experiment->starts) - run->origin,
                                  .ahead = ahead < AHEAD_MOST ? ahead : AHEAD_MOST,
                                  .spans_most = WINDOW_SPANS_MAX };
}

int run_tell_windows(const struct run *run, run_tell_fn *tell, void *user, struct error *err)
{
    const struct config *config = run->experiment->config;
    AUTO(zone) struct zone *zone = NULL;
    struct arena arena = { 0 };

    if (!has_times(config))
        return 0;
    int code = zone_load(config->timezone[0] ? config->timezone : "UTC", &zone, err);
    if (code < 0)
        return error_prefix(err, code, "timezone");
    struct window_place place = place_of(run, zone);
    for (size_t i = 0; i < config->window_count && code == 0; i++) {
        struct event event;
        code = window_event(&place, config->windows[i].name, config->windows[i].words, &arena,
                            &event, err);
        if (code == 0)
            code = tell(user, &event, err);
    }
    arena_release(&arena);
    return code;
}

int run_tell_times(const struct run *run, run_tell_fn *tell, void *user, struct error *err)
{
    const struct config *config = run->experiment->config;
    int code = 0;

    for (size_t i = 0; i < config->tariff_count && code == 0; i++) {
        struct event event = { .kind = EVENT_TARIFF, .tariff = config->tariffs[i] };
        code = tell(user, &event, err);
    }
    for (size_t i = 0; i < config->reservation_count && code == 0; i++) {
        struct event event = { .kind = EVENT_RESERVATION, .reservation = config->reservations[i] };
        code = tell(user, &event, err);
    }
    return code;
}
