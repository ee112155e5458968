/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_TRACE_CELLS_H
#define SIM_TRACE_TRACE_CELLS_H

/* trace_cells - the fields of a line, and their values
 *
 * A field may be quoted ("" inside stands for one quote), not between bars, as sacct never quotes;
 * blanks around it are removed. Error
 * messages are "FILE:LINE:COLUMN: 'field': problem, expected form".
 *
 * Limits: CELLS_MAX fields per line
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"

enum { CELLS_MAX = 256, CELLS_BLANKS = ' ', CELLS_BARS = '|' };

struct cell {
    char *text;      /* into the line */
    uint32_t column; /* from 1 */
};

struct cells {
    const char *path;
    uint32_t line;
    uint32_t count;
    struct cell items[CELLS_MAX];
};

/* Split a line in place. With CELLS_BLANKS, any run of blanks and tabs is a separator. */
int cells_split(struct cells *cells, char *line, char separator, struct error *err);

/* Report an error in a field; an index past the end reports an error of the line. */
int cells_fail(const struct cells *cells, uint32_t index, struct error *err, const char *expected);

/* A decimal number, also with an exponent; independent of the locale. */
bool number_parse(const char *text, double *ret);

int cells_number(const struct cells *cells, uint32_t index, double min, double max, double *ret,
                 struct error *err);

/* A number of units, or "2023-11-16 18:17:03.97" in UTC, optionally with a T or a final Z. */
int cells_time(const struct cells *cells, uint32_t index, double unit, usec_t *ret,
               struct error *err);

/* "1-02:03:04", "02:03:04", "03:04.5" or a number of units: a duration. */
int cells_duration(const struct cells *cells, uint32_t index, double unit, usec_t *ret,
                   struct error *err);

#endif
