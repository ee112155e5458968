/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOLS_GEN_API_H
#define TOOLS_GEN_API_H

/* gen_api - doc/spec/10-api-reference.md, from the tables of src/api/contract */

#include "base/text.h"

void api_reference_add(struct text *out);

#endif
