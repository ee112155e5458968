/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_YAML_H
#define WIRE_YAML_H

/* yaml - YAML text into JSON values, with the line of each kept
 *
 * One document of YAML 1.2's core: plain true, false, null, integers and decimal numbers are
 * what they look like, every other plain scalar ("1:30", "yes", "0777") and every quoted one is a
 * string. So is a number in another spelling than tarn's (1.50, 0x1F; wire/plain.h). The text may
 * begin with a byte order mark, which says whether it is UTF-8 or UTF-16. Keys are strings, a key
 * given twice is an error. Anchors and aliases are allowed; what an alias stands for counts again
 * each time it is used, so that a small file can't become a large value.
 *
 * Order of calls:  yaml_parse, yaml_line*, yaml_lines_destroy
 * Owner:           the caller of yaml_parse owns both results; lines are good as long as the
 *                  document lives
 * On failure:      "SOURCE:LINE:COLUMN: words"; no ret_ parameter was written
 * Limits:          YAML_SIZE_MAX bytes, YAML_DEPTH_MAX levels, YAML_NODES_MAX values,
 *                  YAML_EXPANDED_MAX bytes of strings after aliases
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

enum {
    YAML_SIZE_MAX = 4 << 20,
    YAML_DEPTH_MAX = 64,
    YAML_NODES_MAX = 200000,
    YAML_EXPANDED_MAX = 16 << 20,
};

/* Where the values of one document stand. */
struct yaml_lines;

/* source names the text in errors: a file name, "-" ... Text without a value gives null. */
int yaml_parse(const char *text, size_t length, const char *source, json_t **ret_document,
               struct yaml_lines **ret_lines, struct error *err);

void yaml_lines_destroy(struct yaml_lines *lines); /* NULL is fine */
DEFINE_AUTO(yaml_lines)

/* The line on which a key of an object, or an element of an array, begins; 0: not known.
 * lines may be NULL. */
uint32_t yaml_key_line(const struct yaml_lines *lines, const json_t *object, const char *key);
uint32_t yaml_index_line(const struct yaml_lines *lines, const json_t *array, size_t index);

#endif
