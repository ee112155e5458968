/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_LISTING_H
#define CLI_SLURM_SLURM_LISTING_H

/* slurm_listing - lists with columns that a format defines: "%.18i %j" or "JobID%20,State"
 *
 * A field without a letter, or without a name, cannot be selected in that notation. An unknown
 * field is an error.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

struct slurm_field {
    char letter; /* '\0': none */
    const char *name, *title;
    int width; /* of a column without a stated width */
    void (*add)(const json_t *item, struct text *text);
    bool needs_details; /* needs GET /v1/jobs/ID */
};

struct slurm_column {
    const struct slurm_field *field;
    char *before; /* text in front of it */
    int width;    /* 0: the length of the value */
    bool is_right;
};

struct slurm_format {
    LIST(struct slurm_column) columns;
    char *after;
    bool has_names;      /* the titles are the names of the fields */
    bool needs_details;  /* one of the fields does */
    const char *between; /* separator instead of widths: "|"; NULL: none */
    bool ends_so;        /* the separator also follows the last column */
};

/* "%[.][WIDTH]LETTER", and any text in between. The last of fields has no `add`. */
int slurm_format_letters(struct slurm_format *format, const char *text,
                         const struct slurm_field *fields, struct error *err);
/* "NAME[%[-]WIDTH],..." (or with ':'); letter case is ignored. */
int slurm_format_names(struct slurm_format *format, const char *text,
                       const struct slurm_field *fields, struct error *err);
void slurm_format_release(struct slurm_format *format);

/* Print on standard output. */
void slurm_put_titles(const struct slurm_format *format);
void slurm_put_row(const struct slurm_format *format, const json_t *item);
void slurm_put_dashes(const struct slurm_format *format);

/* Whether a comma-separated list contains the word, ignoring case; NULL contains all words. */
bool slurm_list_has(const char *list, const char *word);

#endif
