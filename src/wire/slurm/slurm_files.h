/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_SLURM_SLURM_FILES_H
#define WIRE_SLURM_SLURM_FILES_H

/* slurm_files - the forms of Slurm's files: slurm.conf, and what scontrol and sacctmgr print
 *
 * Owner:       the caller; lines are released with slurm_lines_release(). They point to the name of
 *              their source
 * On failure:  "SOURCE:LINE: words" with -EBADMSG; the lines up to there are in ret
 * Limits:      SLURM_HOSTS_MAX names in a list, SLURM_FIELDS_MAX fields of a table
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum { SLURM_HOSTS_MAX = 65536, SLURM_FIELDS_MAX = 200 };

struct slurm_source {
    const char *name; /* in messages */
    const char *text; /* NULL: there is none */
};

struct slurm_pair {
    char *key, *value; /* value: "" if there was none */
};

struct slurm_line {
    const char *source;
    unsigned number; /* from 1; the first of continued lines; 0: of a listing */
    LIST(struct slurm_pair) pairs;
};

struct slurm_lines {
    LIST(struct slurm_line) all;
};

/* slurm.conf, gres.conf, topology.conf: KEY=VALUE pairs, comments, continued lines. A word alone is
 * an error, but for "Include FILE", which gives the key Include. */
int slurm_lines_of_conf(const struct slurm_source *source, struct slurm_lines *ret,
                        struct error *err);
/* What scontrol prints: the pairs, without the words between them. */
void slurm_lines_of_listing(const struct slurm_source *source, struct slurm_lines *ret);
/* A table with a header, as of sacctmgr -p: each line has the names of the header. column: one that
 * must be there. */
int slurm_lines_of_table(const struct slurm_source *source, const char *column,
                         struct slurm_lines *ret, struct error *err);
/* sacctmgr dump: "Account - 'physics':Fairshare=10": the first pair is Account=physics. */
int slurm_lines_of_dump(const struct slurm_source *source, struct slurm_lines *ret,
                        struct error *err);
void slurm_lines_release(struct slurm_lines *lines); /* also of zeroed ones */

/* The value of the last pair with this key, whatever its case; NULL: none, empty, or one of Slurm's
 * words for none: "(null)", "N/A". */
const char *slurm_line_get(const struct slurm_line *line, const char *key);
/* Add where a line is: "slurm.conf:3"; of a listing, "scontrol: partition gpu". */
void slurm_line_place(const struct slurm_line *line, struct text *text);
/* Fails with -EBADMSG and the place of the line before the words. */
int slurm_line_fail(const struct slurm_line *line, struct error *err, const char *format, ...)
    PRINTF(3, 4);

struct slurm_hosts {
    LIST(char *) all;
};

/* Add the names of "n[01-03,7],login". Fails with -EBADMSG and words without a place. */
int slurm_hosts_add(struct slurm_hosts *hosts, const char *words, struct error *err);
void slurm_hosts_release(struct slurm_hosts *hosts);

#endif
