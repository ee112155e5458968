/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

/* units - durations, sizes and sets of numbers as people write them
 *
 * Time is usec_t everywhere. Durations: "90s" "1h30m" "2d" "250ms", a plain
 * number (minutes, as in Slurm, only in units_parse_slurm_time), and
 * Slurm's "MM:SS", "HH:MM:SS", "D-HH", "D-HH:MM:SS". Sizes: "20G" "24GB"
 * "512MiB" "1T", a plain number is MiB; one GB is one GiB, as in Slurm and nvidia-smi. Sets:
 * "0-99", "1,3,5-9", "0-20:5".
 */

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

typedef int64_t usec_t; /* microseconds */

#define USEC_PER_MS   ((usec_t)1000)
#define USEC_PER_SEC  ((usec_t)1000000)
#define USEC_PER_MIN  (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY  (24 * USEC_PER_HOUR)
#define USEC_NEVER    INT64_MAX /* "no end": later than everything */

/* `start`, which may lie before the origin of its clock, plus a duration; an unlimited one stays
 * unlimited. */
static inline usec_t usec_after(usec_t start, usec_t duration)
{
    return duration >= USEC_NEVER - (start > 0 ? start : 0) ? USEC_NEVER : start + duration;
}

enum { UNITS_TEXT_SIZE = 32 };
#define UNITS_DURATION_MAX (3650 * USEC_PER_DAY)

/* "2h", "1h30m", "90s", "90" (seconds), "04:00:00". At most 10 years. */
int units_parse_duration(const char *string, usec_t *ret, struct error *err);
/* As sbatch -t: a plain number is minutes; "infinite" and "UNLIMITED" give USEC_NEVER. */
int units_parse_slurm_time(const char *string, usec_t *ret, struct error *err);
int units_parse_mib(const char *string, int64_t *ret_mib, struct error *err);
/* "0.5" -> 500. At most three decimals, 0 to max_milli. */
int units_parse_milli(const char *string, int64_t max_milli, int64_t *ret, struct error *err);

/* The numbers of a set, ascending and once each, malloc'd. Fails when there are more than
 * count_max or one is above value_max. */
int units_parse_set(const char *string, size_t count_max, uint32_t value_max, uint32_t **ret_values,
                    size_t *ret_count, struct error *err);

/* For people: "0s" "850ms" "12s" "4m12s" "1h02m" "3d04h". Buffer of UNITS_TEXT_SIZE; returned. */
char *units_format_duration(char *buffer, usec_t duration);
char *units_format_mib(char *buffer, int64_t mib);     /* "80 GiB", "512 MiB", "1.5 TiB" */
char *units_format_milli(char *buffer, int64_t milli); /* "0.5", "2" */

#endif
