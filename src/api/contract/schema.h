/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CONTRACT_SCHEMA_H
#define API_CONTRACT_SCHEMA_H

/* schema - the shapes of requests and replies as JSON Schema (draft 2020-12)
 *
 * A type is one of these, with "?" at its end if null is allowed:
 *   string, integer, number, boolean, object, array, any; time (ISO 8601 in UTC)
 *   'word'           this string
 *   [type]           a list
 *   {type}           a map; {Name:type}: its keys are those of a schema
 *   type|type        one of them
 *   Name             a row of schemas.def, or made from another table: an enumeration, a job
 *                    document, a configuration
 *
 * Types are constants of the program: a wrong one is a bug.
 */

#include <jansson.h>
#include <stdbool.h>

enum schema_row_kind { SCHEMA_OBJECT, SCHEMA_FIELD, SCHEMA_MAYBE };

/* A row of schemas.def: an object, or a key of the object before it. */
struct schema_row {
    enum schema_row_kind kind;
    const char *name, *type, *meaning; /* type of an object: its base, or "" */
};
extern const struct schema_row schema_rows[]; /* ends with a name of NULL */

/* The words of an enumeration that other tables define, with a meaning or NULL. */
struct schema_word {
    const char *name, *meaning;
};
/* Number i of the enumeration; false: no more, or there is no such enumeration. */
bool schema_word(const char *enumeration, unsigned i, struct schema_word *ret);
const char *schema_enumeration(unsigned i); /* NULL: no more */

/* Each is new. */
json_t *schema_of_type(const char *type);
json_t *schema_components(void);

#endif
