/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CMD_IMPORT_SOURCE_H
#define CLI_CMD_IMPORT_SOURCE_H

/* import_source - what `tarn import` reads, and the systems that it reads from
 *
 * Texts stay until the end of the command.
 */

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/options.h"

enum {
    IMPORT_CONF,
    IMPORT_GRES,
    IMPORT_TOPOLOGY,
    IMPORT_ACCOUNTS,
    IMPORT_QOS,
    IMPORT_PARTITION,
    IMPORT_OUT,
    IMPORT_REPORT,
};

struct importing {
    const struct options *given;
    LIST(char *) texts;
    struct text config, report;
};

/* Takes the text over. */
const char *import_keep(struct importing *importing, char *text);
/* A file, or "-" for standard input. Fails if it is not UTF-8. */
int import_read(struct importing *importing, const char *path, const char **ret_name,
                const char **ret_text, struct error *err);
/* Add the output of a command; if it fails, its last line is in err. */
int import_ask(const char *command, struct text *text, struct error *err);

/* Fill config and report. */
int import_slurm(struct importing *importing, struct error *err);
int import_kueue(struct importing *importing, struct error *err);
int import_volcano(struct importing *importing, struct error *err);

#endif
