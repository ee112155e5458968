/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_H
#define WIRE_JOB_SBATCH_H

/* sbatch - Slurm's options and tarn's own, from a command line or a script's #SBATCH lines
 *
 * One table (sbatch_options.def) drives both. The options become keys of a job document
 * (doc/spec/04-jobfile.md), so that submission_parse does the checking. What changes nothing for
 * the job is named in notes; what would give the job something else than it asks for, and what
 * is not known, is an error. A command line wins over a script's lines.
 *
 * In a script, and with is_slurm, the options mean what Slurm's manual says: the script runs once,
 * with what all its tasks need, and srun starts the tasks. On the command line of tarn --ntasks is
 * --ranks, the members of a gang.
 *
 * Order of calls:  init, parse_args, parse_environment or nothing, parse_script or nothing, finish,
 * release. After finish the caller adds what is run (script, command, run) and what the sender is
 * to job. Owner:           sbatch_release() gives back job and notes; the other strings point into
 * argv Limits:          SBATCH_SCRIPT_MAX bytes of script
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

enum { SBATCH_SCRIPT_MAX = 1 << 20 };

struct sbatch {
    json_t *job;   /* object: keys of a job document; filled by finish, run by --wrap */
    json_t *notes; /* array of strings: "train.sh:4: --mail-user: not supported, ignored" */
    /* What only a command line has. */
    const char *file;           /* -f, --file FILE.yaml; NULL */
    const char *wrap;           /* --wrap COMMAND; NULL. It is in job as run */
    const char *socket;         /* --socket PATH; NULL */
    bool is_parsable;           /* --parsable */
    bool is_json;               /* --json */
    bool is_quiet;              /* -Q, --quiet */
    bool is_waiting;            /* -W, --wait */
    bool is_test;               /* --test-only */
    bool is_help;               /* -h, --help */
    bool ignores_others;        /* --ignore-pbs */
    bool has_lines;             /* the script has #SBATCH lines */
    bool is_slurm;              /* set by the caller: the options are those of sbatch or srun */
    struct sbatch_given *given; /* inside: what was given, by option */
};

void sbatch_init(struct sbatch *sbatch);
void sbatch_release(struct sbatch *sbatch);

/* argv[first] is the first to look at; reads up to the first argument that is no option, or
 * past "--". ret_rest: the index of the script or the command, argc when there is none. */
int sbatch_parse_args(struct sbatch *sbatch, int argc, char *const *argv, int first, int *ret_rest,
                      struct error *err);

/* The variables of sbatch_input.def, between the command line and the script. */
int sbatch_parse_environment(struct sbatch *sbatch, struct error *err);

/* The #SBATCH lines of a script, up to the first line that is neither a comment nor empty. Lines of
 * other schedulers, which sbatch reads, are refused. */
int sbatch_parse_script(struct sbatch *sbatch, const char *script, size_t length,
                        const char *source, struct error *err);

/* Fill job from all that was given. */
int sbatch_finish(struct sbatch *sbatch, struct error *err);

/* "  -c, --cpus-per-task=N     CPUs of each member", a line an option, for --help. */
void sbatch_help(struct text *text);

/* The long names without dashes, NULL-terminated, for completion. */
const char *const *sbatch_option_names(void);

#endif
