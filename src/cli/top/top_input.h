/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TOP_TOP_INPUT_H
#define CLI_TOP_TOP_INPUT_H

/* top_input - keyboard and signals as descriptors, so that a signal interrupts nothing
 *
 * Order of calls:  open, signal*, close
 */

#include "base/error.h"

struct top_input {
    int signals; /* readable when a signal is pending */
    int any;     /* readable when a signal or a key is */
};

/* Block SIGINT, SIGTERM, SIGHUP and SIGWINCH; close must be called even after a failure. */
int input_open(struct top_input *input, struct error *err);
void input_close(struct top_input *input);
int input_signal(struct top_input *input); /* the next pending signal; 0: none */

#endif
