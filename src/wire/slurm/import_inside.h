/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_SLURM_IMPORT_INSIDE_H
#define WIRE_SLURM_IMPORT_INSIDE_H

/* import_inside - what the parts of slurm_import share */

#include <stddef.h>
#include <stdint.h>

#include "wire/import.h"
#include "wire/slurm/slurm_import.h"

enum { NAME_LENGTH_MAX = 63, MINUTES_MAX = 365 * 24 * 60 };

struct partition {
    const char *name;
    struct slurm_line line; /* after the pairs of PartitionName=DEFAULT before it, its own */
};

struct import {
    const struct slurm_import *from;
    struct text *config, *report;
    struct slurm_lines conf, gres, topology, accounts, qos;
    LIST(struct slurm_lines) included;
    struct slurm_line defaults; /* of partitions; its pairs belong to conf, as theirs do */
    LIST(struct partition) partitions;
    const struct partition *served; /* NULL: none is known */
    struct error *err;
    int code; /* the first failure */
};

/* Say that something has no equal: "slurm.conf:3: PriorityWeightAge=5: words"; where, see
 * slurm_line_place(). */
void import_report(struct import *import, const struct slurm_line *line, const char *what,
                   const char *words);
void import_report_pair(struct import *import, const struct slurm_line *line, const char *key,
                        const char *words);

struct import_note {
    const char *key;      /* one that ends with '*' is a prefix */
    const char *harmless; /* "0|NO": values that mean nothing to report; NULL: none */
    const char *words;
};
/* Report the pairs of a line that have a note. */
void import_report_notes(struct import *import, const struct slurm_line *line,
                         const struct import_note *notes, size_t count);

/* Keep the first failure. */
void import_fail(struct import *import, const struct slurm_line *line, const char *key,
                 const char *expected);

/* "1-12:00:00" as minutes, rounded up; 0: none, or no limit. */
int64_t import_minutes(struct import *import, const struct slurm_line *line, const char *key);

/* Whether a configuration may have this name. */
bool import_is_name(const char *name);

#endif
