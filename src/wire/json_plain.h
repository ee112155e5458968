/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_PLAIN_H
#define WIRE_JSON_PLAIN_H

/* json_plain - JSON without rarities into values, in a third of jansson's time
 *
 * A listing of ten thousand jobs is 2 MB; jansson's scanner, which handles byte after byte, takes
 * most of the time of `tarn ls` for it. Text with anything unusual is left to jansson, which also
 * has the messages: escapes, keys that are not ASCII, exponents, numbers above 15 digits, more than
 * JSON_DEPTH_MAX levels, errors.
 */

#include <jansson.h>
#include <stddef.h>

/* What jansson would return for the same text, new; NULL: leave it to jansson. */
json_t *json_plain_parse(const char *text, size_t length);

#endif
