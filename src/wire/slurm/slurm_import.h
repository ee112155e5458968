/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_SLURM_SLURM_IMPORT_H
#define WIRE_SLURM_SLURM_IMPORT_H

/* slurm_import - a configuration of tarn from that of a Slurm cluster, and what has no equal
 *
 * Accounts become queues with their shares, limits and users; the limits of the QOS that an account
 * has, those of the queue; one partition is the one that tarn serves.
 */

#include "base/error.h"
#include "base/text.h"

struct slurm_import {
    const char *conf;      /* the text of slurm.conf */
    const char *accounts;  /* sacctmgr dump, or sacctmgr -p show assoc; NULL: none */
    const char *qos;       /* sacctmgr -p show qos; NULL: none */
    const char *partition; /* NULL: Slurm's default partition */
};

/* config: YAML. report: a line for each setting without an equal. Fails with -ENOENT: there is no
 * such partition. */
int slurm_import(const struct slurm_import *from, struct text *config, struct text *report,
                 struct error *err);

#endif
