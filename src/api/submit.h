/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_SUBMIT_H
#define API_SUBMIT_H

/* submit - job documents into the state, for those of this room that have the ports for it */

#include "api/inside.h"

/* All documents of a list, or none: parsed, checked and emitted at once. */
int submit_all(struct api *api, const struct identity *who, const json_t *documents,
               struct error *err);

#endif
