/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_VERBS_H
#define DAEMON_VERBS_H

/* verbs - the commands that need more than the API: main() adds them to those of cli */

#include "cli/options.h"

extern const struct option_entry options_doctor[], options_exporter[], options_replay[],
    options_serve[];

int run_doctor(int argc, char **argv);
int run_exporter(int argc, char **argv);
int run_replay(int argc, char **argv);
int run_serve(int argc, char **argv);
int run_simulate(int argc, char **argv); /* reads its options itself */

#endif
