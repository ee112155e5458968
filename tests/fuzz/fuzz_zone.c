/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "time/zone.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Time goes on, whatever a file says, and what is asked both ways agrees. */
static void check_moment(const struct zone *zone, usec_t at)
{
    struct zone_piece piece = zone_piece_at(zone, at);
    usec_t wall = zone_wall(zone, at), first = zone_first(zone, wall);
    usec_t last = zone_last(zone, wall);

    must(piece.from <= at && piece.until > at && wall == at + piece.offset);
    must(first <= at && zone_wall(zone, first) >= wall);
    must(zone_highest(zone, at) >= wall && zone_highest(zone, first) >= wall);
    must(first == at || zone_highest(zone, first - 1) < wall);
    must(last >= first && zone_wall(zone, last) >= wall);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const usec_t moments[] = { 0, -ZONE_TIME_MAX / 2, ZONE_TIME_MAX / 2,
                                      4102444800 * USEC_PER_SEC };
    AUTO(zone) struct zone *zone = NULL;
    struct error err = { 0 };

    if (zone_parse("t", data, size, &zone, &err) < 0) {
        must(err.text[0] && !zone);
        AUTO_FREE char *string = mem_string_of((const char *)data, size);
        if (zone_of_rule("t", string, &zone, NULL) < 0)
            return 0;
    }
    for (size_t i = 0; i < COUNT_OF(moments); i++) {
        usec_t at = moments[i];

        for (int k = 0; k < 12 && at < ZONE_TIME_MAX / 2 + 1; k++) {
            usec_t until = zone_piece_at(zone, at).until;

            check_moment(zone, at);
            if (until > ZONE_TIME_MAX / 2)
                break;
            check_moment(zone, until - 1);
            at = until;
        }
    }
    return 0;
}
