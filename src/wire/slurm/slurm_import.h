/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_SLURM_SLURM_IMPORT_H
#define WIRE_SLURM_SLURM_IMPORT_H

/* slurm_import - a configuration of tarn from that of a Slurm cluster, and what has no equal
 *
 * Accounts become queues with their shares, limits and users; the limits of the QOS that an account
 * has, those of the queue. One partition is the one that tarn serves; others inside it become
 * pools. Switches become the racks and blocks of the nodes. It reads no file, except through
 * include().
 *
 * On failure: "SOURCE:LINE: words" with -EBADMSG, -ENOENT (there is no such partition), or as
 *             include() fails
 */

#include "base/error.h"
#include "base/text.h"
#include "wire/slurm/slurm_files.h"

/* The associations with all that is read of them: by default, sacctmgr does not show the parents.
 */
#define SLURM_IMPORT_ASSOC                                                                         \
    "sacctmgr -P show assoc format=Cluster,Account,User,Partition,ParentName,Share,GrpTRES,"       \
    "GrpTRESMins,GrpTRESRunMins,GrpWall,GrpJobs,GrpSubmitJobs,MaxJobs,MaxSubmitJobs,MaxTRES,"      \
    "MaxTRESPerNode,MaxTRESMins,MaxWall,QOS,DefaultQOS"

struct slurm_import {
    struct slurm_source conf;     /* slurm.conf, or what scontrol lists */
    struct slurm_source gres;     /* gres.conf */
    struct slurm_source topology; /* topology.conf; NULL: the engine reads it */
    struct slurm_source accounts; /* sacctmgr dump, or SLURM_IMPORT_ASSOC */
    struct slurm_source qos;      /* sacctmgr -P show qos */
    bool is_listing;              /* conf is a listing of scontrol */
    const char *partition;        /* NULL: Slurm's default partition */
    /* The file of an "Include FILE"; ret must stay. NULL: such lines are reported. */
    int (*include)(void *user, const char *path, struct slurm_source *ret, struct error *err);
    void *user;
};

enum { SLURM_INCLUDES_MAX = 100 };

/* config: YAML. report: a line for each setting without an equal. */
int slurm_import(const struct slurm_import *from, struct text *config, struct text *report,
                 struct error *err);

#endif
