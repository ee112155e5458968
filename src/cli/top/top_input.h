/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_INPUT_H
#define CLI_TOP_TOP_INPUT_H

/* top_input - the keyboard and the signals as descriptors, so that nothing is cut short by one
 *
 * Order of calls:  open, signal*, close
 */

#include "base/error.h"

struct top_input {
    int signals; /* readable when a signal is there */
    int any;     /* readable when a signal or a key is */
};

/* Block SIGINT, SIGTERM, SIGHUP and SIGWINCH; on failure close is still to be called. */
int input_open(struct top_input *input, struct error *err);
void input_close(struct top_input *input);
int input_signal(struct top_input *input); /* the next that is there; 0: none */

#endif
