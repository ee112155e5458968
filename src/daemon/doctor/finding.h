/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DOCTOR_FINDING_H
#define DAEMON_DOCTOR_FINDING_H

/* finding - what tarn doctor finds: a line for each thing, or JSON
 *
 * Order of calls:  findings_begin, finding_say*, findings_end
 */

#include <stdbool.h>

#include "base/compiler.h"

enum grade { GRADE_OK, GRADE_NOTE, GRADE_BAD };

void findings_begin(bool is_json);
void finding_say(enum grade grade, const char *what, const char *format, ...) PRINTF(3, 4);
/* Whether nothing was bad. */
bool findings_end(void);

#endif
