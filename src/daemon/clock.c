/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "io/file.h"
#include "io/log.h"

static usec_t read_clock(clockid_t which)
{
    struct timespec time;

    clock_gettime(which, &time);
    return (usec_t)time.tv_sec * USEC_PER_SEC + time.tv_nsec / 1000;
}

static void read_boot_id(char boot[64])
{
    AUTO_RELEASE(text) struct text text = { 0 };

    boot[0] = '\0';
    if (file_read("/proc/sys/kernel/random/boot_id", 63, &text, NULL) == 0)
        snprintf(boot, 64, "%.*s", (int)strcspn(text_string(&text), "\n"), text_string(&text));
}

usec_t clock_now(const void *clock)
{
    return read_clock(CLOCK_BOOTTIME) + ((const struct clock *)clock)->offset;
}

usec_t clock_wall_ahead(const void *clock)
{
    return read_clock(CLOCK_REALTIME) - clock_now(clock);
}

usec_t clock_noted_ahead(const void *clock)
{
    return ((const struct clock *)clock)->ahead;
}

/* Kept as "BOOT_ID OFFSET WALL_AHEAD". */
static void keep(const struct clock *clock, struct journal *journal)
{
    char boot[64], line[160];

    read_boot_id(boot);
    snprintf(line, sizeof(line), "%s %" PRId64 " %" PRId64, boot[0] ? boot : "unknown",
             clock->offset, clock->ahead);
    journal_meta_set(journal, "clock", line);
}

void clock_note_ahead(struct clock *clock, struct journal *journal, usec_t ahead)
{
    usec_t step = ahead - clock->ahead;

    if (step > USEC_PER_SEC || step < -USEC_PER_SEC)
        log_line(LOG_NOTICE, "times follow the wall clock, which was set step=%" PRId64 "s",
                 step / USEC_PER_SEC);
    clock->ahead = ahead;
    keep(clock, journal);
}

int clock_start(struct clock *clock, struct journal *journal, usec_t latest, struct error *err)
{
    AUTO_RELEASE(text) struct text kept = { 0 };
    char boot[64], kept_boot[64] = "";
    usec_t offset = 0, wall_ahead = 0;

    int code = journal_meta_get(journal, "clock", &kept, err);
    if (code < 0)
        return code;
    read_boot_id(boot);
    int fields =
        sscanf(text_string(&kept), "%63s %" SCNd64 " %" SCNd64, kept_boot, &offset, &wall_ahead);

    usec_t wall = read_clock(CLOCK_REALTIME), since_boot = read_clock(CLOCK_BOOTTIME);
    if (fields == 3 && boot[0] && strcmp(boot, kept_boot) == 0)
        clock->offset = offset;
    else if (fields == 3)
        clock->offset = wall - wall_ahead - since_boot;
    else
        clock->offset = wall - since_boot;
    if (since_boot + clock->offset <= latest)
        clock->offset = latest + 1 - since_boot;

    clock->ahead = fields == 3 ? wall_ahead : clock_wall_ahead(clock);
    keep(clock, journal);
    return 0;
}
