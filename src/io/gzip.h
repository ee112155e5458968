/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_GZIP_H
#define IO_GZIP_H

/* gzip - bytes in the format of gzip, fast rather than small: for replies that many clients share
 */

#include "base/text.h"

void gzip_pack(const void *bytes, size_t length, struct text *ret); /* replaces its content */

#endif
