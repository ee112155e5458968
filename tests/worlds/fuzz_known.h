/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_KNOWN_H
#define WORLDS_FUZZ_KNOWN_H

/* fuzz_known - known defects of the brain, so that every reported failure is new
 *
 * One line per defect, as narrow as possible. A fix removes its line; from then on the fuzzer
 * guards it. --strict ignores the list.
 */

#include "worlds/fuzz_run.h"

/* Whether a failure of a job that waits for this reason is a known defect. */
bool fuzz_is_known(const struct fuzz_run *run, const struct shadow_job *job, const struct why *why);
/* The same for a request that was not submitted: it may be refused although it fits. */
bool fuzz_is_known_to_be_refused(const struct fuzz_run *run, const struct request *request);

#endif
