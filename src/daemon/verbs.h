/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_VERBS_H
#define DAEMON_VERBS_H

/* verbs - the commands that need more than the API: main() adds them to those of cli */

#include "cli/options.h"

extern const struct option_entry options_exporter[], options_replay[], options_serve[];

int run_doctor(const struct options *options);
int run_exporter(const struct options *options);
int run_replay(const struct options *options);
int run_serve(const struct options *options);
int run_simulate(int argc, char **argv); /* reads its options itself */

#endif
