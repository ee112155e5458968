/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_LOG_H
#define IO_LOG_H

/* log - one line an event to stderr: "a sentence key=value", for journald "<6>a sentence key=value"
 */

#include <syslog.h>

#include "base/compiler.h"

/* The priority prefix stands there only when stderr is the journal's (JOURNAL_STREAM). */
void log_line(int priority, const char *format, ...) PRINTF(2, 3);

#endif
