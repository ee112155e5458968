/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_KNOWN_H
#define WORLDS_FUZZ_KNOWN_H

/* fuzz_known - what the brain is known to do wrong, so that what is found is new
 *
 * One line a finding, each as narrow as it can be told apart. Whoever mends one takes its line out,
 * and from then on the fuzzer sees to it that it stays mended. --strict takes none into account.
 */

#include "worlds/fuzz_run.h"

/* Something is wrong with a job that waits for this reason: is that known? */
bool fuzz_is_known(const struct fuzz_run *run, const struct shadow_job *job, const struct why *why);
/* The same of one that nobody submitted: it may be refused though it fits. */
bool fuzz_is_known_to_be_refused(const struct fuzz_run *run, const struct request *request);

#endif
