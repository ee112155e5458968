/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SEND_H
#define CLI_SEND_H

/* send - turns the arguments of submit and run into a document for the daemon
 *
 * Order of calls:  read, post*, release
 * On failure:      a printable message; is_usage separates wrong usage from wrong contents
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "base/error.h"
#include "cli/session.h"
#include "wire/job/sbatch/sbatch.h"

struct sending {
    struct sbatch sbatch;
    const char *devices; /* --devices, or NULL */
    bool is_dry;         /* --dry-run, --test-only */
    bool is_ids;         /* -q, --parsable */
    bool takes_stdin;    /* standard input may contain the script */
    bool is_followed;    /* by tarn run, not tarn submit */
    bool passes_stdin;   /* pass standard input to the job */
    bool has_terminal;   /* --pty */
    bool is_usage;       /* the failure is wrong usage */
    json_t *document;
};

/* Reads the arguments after the verb argv[0]. With --help there is no document. */
int sending_read(struct sending *sending, int argc, char **argv, struct error *err);
/* The same for Slurm's sbatch and srun (has_terminal: --pty of srun): no options of tarn's own, and
 * a script or, after "--", a command. */
int sending_read_slurm(struct sending *sending, int argc, char **argv, bool is_srun,
                       bool has_terminal, struct error *err);
/* Set the name, if the job has none. */
void sending_set_name(struct sending *sending, const char *name);
void sending_release(struct sending *sending);

/* Send it, starting a daemon if none runs; prints the notes. *ret_reply is new. */
int sending_post(const struct sending *sending, struct session *session, json_t **ret_reply,
                 struct error *err);

/* When it would start, from POST /v1/when; NULL: not known, or an array or a pipeline. */
json_t *sending_when(const struct sending *sending, struct session *session);

/* Read and check a configuration in YAML here, so that errors have line numbers. "-" is standard
 * input; *ret is new. */
int config_file_read(const char *path, json_t **ret, struct error *err);

#endif
