/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HTML_H
#define BASE_HTML_H

/* html - words and durations for pages */

#include "base/text.h"

/* Escapes <, >, & and quotes; control characters become '?'. */
void text_add_html(struct text *text, const char *words);
/* "3 h 10 m", "14 m", "40 s", "0.2 s" */
void text_add_span(struct text *text, double seconds);

#endif
