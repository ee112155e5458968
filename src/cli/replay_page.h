/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_REPLAY_PAGE_H
#define CLI_REPLAY_PAGE_H

/* replay_page - a replay under another configuration, as one self-contained HTML page */

#include <jansson.h>

#include "base/error.h"
#include "base/text.h"

/* outlook: a reply of POST /v1/rehearsal. changes: sentences. */
void replay_page_format(const json_t *outlook, const json_t *changes, const char *file,
                        const char *last, struct text *page);

#endif
