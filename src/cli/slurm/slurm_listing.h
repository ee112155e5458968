/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_LISTING_H
#define CLI_SLURM_SLURM_LISTING_H

/* slurm_listing - lists whose columns a format says: "%.18i %j" or "JobID%20,State"
 *
 * A field without a letter or without a name cannot be asked for so; an unknown one is an error.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

struct slurm_field {
    char letter; /* '\0': none */
    const char *name, *title;
    int width; /* of a column that says none */
    void (*add)(const json_t *item, struct text *text);
    bool needs_details; /* GET of the one job */
};

struct slurm_column {
    const struct slurm_field *field;
    char *before; /* what stands in front of it */
    int width;    /* 0: as long as it is */
    bool is_right;
};

struct slurm_format {
    LIST(struct slurm_column) columns;
    char *after;
    bool has_names;      /* titles are names */
    bool needs_details;  /* a field does */
    const char *between; /* instead of widths: "|"; NULL: none */
    bool ends_so;        /* also behind the last column */
};

/* "%[.][WIDTH]LETTER", and any text between them. fields ends with one without an add. */
int slurm_format_letters(struct slurm_format *format, const char *text,
                         const struct slurm_field *fields, struct error *err);
/* "NAME[%[-]WIDTH],..." (or with ':'), in any case. */
int slurm_format_names(struct slurm_format *format, const char *text,
                       const struct slurm_field *fields, struct error *err);
void slurm_format_release(struct slurm_format *format);

/* On standard output. */
void slurm_put_titles(const struct slurm_format *format);
void slurm_put_row(const struct slurm_format *format, const json_t *item);
void slurm_put_dashes(const struct slurm_format *format);

/* A list with commas has the word, in any case; NULL has all. */
bool slurm_list_has(const char *list, const char *word);

#endif
