/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_SCHEMA_H
#define WIRE_CONFIG_CONFIG_SCHEMA_H

/* config_schema - the rows of core/config.def as JSON Schema (draft 2020-12)
 *
 * The rest describes rows for the other generator of documents, tools/gen_config.c.
 */

#include <jansson.h>

#include "wire/config/config_keys.h"

/* Of a configuration, without `$schema`; new. */
json_t *config_schema(void);
/* Of a thing with the keys of a table; new. */
json_t *config_schema_of(enum setting_table table);

/* What stands below a key of a kind. */
enum shape { ITSELF, MAP, ITEMS, ITSELF_OR_NUMBER, MAP_OR_NUMBER };
struct setting_below {
    enum setting_table table; /* KEYS_TOP: nothing */
    enum shape shape;
    const char *title;
};
extern const struct setting_below setting_below[SETTING_KINDS];

/* The default as the document has it; new; NULL: there is none, or it is nothing. */
json_t *setting_default(enum setting_table table, const struct setting *row);
/* The amount that a document writes as 1; 0: it is no amount. */
double setting_scale(const struct setting *row);

#endif
