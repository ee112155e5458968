/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_LOG_H
#define IO_LOG_H

/* log - one line an event to stderr, as journald reads it: "<6>a sentence key=value" */

#include <syslog.h>

#include "base/compiler.h"

/* The priority prefix is left out when stderr is a terminal. */
void log_line(int priority, const char *format, ...) PRINTF(2, 3);

#endif
