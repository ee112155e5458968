/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_TRACE_CELLS_H
#define SIM_TRACE_TRACE_CELLS_H

/* trace_cells - the fields of a line, and their values
 *
 * A field may be quoted ("" inside is one); blanks around it are not part of it. Errors are
 * "FILE:LINE:COLUMN: 'field': problem, expected form".
 *
 * Limits: CELLS_MAX fields a line
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"

enum { CELLS_MAX = 256, CELLS_BLANKS = ' ' };

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

/* Split a line in place. Separator CELLS_BLANKS: any run of blanks and tabs. */
int cells_split(struct cells *cells, char *line, char separator, struct error *err);

/* Report what is wrong with a field; index may be past the end: about the line. */
int cells_fail(const struct cells *cells, uint32_t index, struct error *err, const char *expected);

/* A decimal number, also with an exponent, of any locale. */
bool number_parse(const char *text, double *ret);

int cells_number(const struct cells *cells, uint32_t index, double min, double max, double *ret,
                 struct error *err);

/* A number of units, or "2023-11-16 18:17:03.97", with a T, or a zone Z, too; as UTC. */
int cells_time(const struct cells *cells, uint32_t index, double unit, usec_t *ret,
               struct error *err);

/* "1-02:03:04", "02:03:04", "03:04.5" or a number of units: a duration. */
int cells_duration(const struct cells *cells, uint32_t index, double unit, usec_t *ret,
                   struct error *err);

#endif
