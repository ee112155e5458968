/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_PARTS_H
#define IO_PARTS_H

/* parts - files that belong to this program: the daemon, the shim, engine modules
 *
 * They are beside the program (in a build folder: in the folder where they are built) or in
 * ../libexec/tarn.
 */

#include "base/error.h"

/* built: the folder below the build folder. ret: the path, malloc'd. Fails with -ENOENT. */
int part_find(const char *name, const char *built, char **ret, struct error *err);

/* The shim, or what $TARN_SHIM says. */
int part_find_shim(char **ret, struct error *err);
/* The folder of srun, sbatch and the like. */
int part_find_slurm(char **ret, struct error *err);

#endif
