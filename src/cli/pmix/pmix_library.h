/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PMIX_PMIX_LIBRARY_H
#define CLI_PMIX_PMIX_LIBRARY_H

/* pmix_library - the functions of OpenPMIx, which is loaded when a step needs it
 *
 * No program of tarn depends on the library.
 */

#include <pmix.h>
#include <pmix_server.h>

#include "base/error.h"

struct pmix_library {
#define FUNCTION(name) __typeof__(name) *name;
#include "cli/pmix/pmix_library.def"
#undef FUNCTION
};

/* Fails with -ENOENT and the package to install. The library stays loaded. */
int pmix_library_load(struct pmix_library *ret, struct error *err);

#endif
