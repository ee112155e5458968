/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_RECORD_H
#define BASE_RECORD_H

/* record - a struct as bytes that an older or newer tarn can read
 *
 * A record type lists the fields of a struct, each with a tag that never changes its meaning.
 * A number that is zero and a text that is empty are not written, and read as that when they are
 * missing; an unknown tag is skipped. So a field can be added at any time, and none is ever reused.
 * A number for which zero has a meaning (RECORD_OPTION) omits another value: ABSENT, or a default;
 * it reads back when the field is missing. Its bytes have the value plus a constant, so that a zero
 * is never written. Events and snapshots are both written this way, and both are documented from
 * these tables (doc/spec/01-journal.md, "Records").
 *
 *   record := (key value)*          key := tag << 2 | form, a varint
 *   form 0: unsigned varint         form 1: zigzag varint
 *   form 2: length, bytes           form 3: length, record (one of a list when the tag repeats)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"

#define ABSENT INT64_MIN /* the number is absent */

enum field_kind {
    FIELD_UINT,    /* unsigned of any size, also bool and enum bytes */
    FIELD_INT,     /* signed of any size */
    FIELD_TEXT,    /* const char *; NULL and "" are the same */
    FIELD_CHARS,   /* char[n], NUL-terminated */
    FIELD_RECORD,  /* a struct inside */
    FIELD_RECORDS, /* pointer to structs, the count (uint32_t) elsewhere; or an array inside */
};

struct field {
    const char *name;
    const char *meaning;
    const struct record_type *type; /* of RECORD and RECORDS */
    int64_t missing; /* INT: what is not written, and what a record without the field reads as */
    uint16_t tag;
    uint16_t offset;
    uint16_t count_offset; /* RECORDS: of the uint32_t that counts them */
    uint16_t size;         /* of the member; RECORDS inside the struct: of the whole array */
    uint8_t kind;
    uint8_t is_inside; /* RECORDS: an array in the struct, not a pointer */
    uint8_t is_bool;   /* UINT: whatever is not 0 reads as true */
    uint8_t plus;      /* INT: the bytes have the value plus this; 0 in them is `missing` */
};

struct record_type {
    const char *name;
    size_t size;
    const struct field *fields;
    size_t field_count;
};

/* One line of a field table:  RECORD_UINT(struct job, 1, id, "its number") */
#define RECORD_FIELD(owner, tag_, member, name_, meaning_, ...)                                    \
    {                                                                                              \
        .name = name_, .meaning = meaning_, .tag = tag_, .offset = offsetof(owner, member),        \
        .size = sizeof(((owner *)0)->member), .kind = __VA_ARGS__                                  \
    }
#define RECORD_UINT(owner, tag_, member, meaning_)                                                 \
    RECORD_FIELD(owner, tag_, member, #member, meaning_, FIELD_UINT,                               \
                 .is_bool = _Generic(((owner *)0)->member, bool : 1, default : 0))
#define RECORD_INT(owner, tag_, member, meaning_)                                                  \
    RECORD_FIELD(owner, tag_, member, #member, meaning_, FIELD_INT)
#define RECORD_OPTION(owner, tag_, member, name_, meaning_, plus_, missing_)                       \
    RECORD_FIELD(owner, tag_, member, name_, meaning_, FIELD_INT, .plus = plus_,                   \
                 .missing = missing_)
/* A switch that is on when it is missing. */
#define RECORD_SWITCH(owner, tag_, member, meaning_)                                               \
    RECORD_OPTION(owner, tag_, member, #member, meaning_, 1, 1)
#define RECORD_TEXT(owner, tag_, member, meaning_)                                                 \
    RECORD_FIELD(owner, tag_, member, #member, meaning_, FIELD_TEXT)
#define RECORD_CHARS(owner, tag_, member, meaning_)                                                \
    RECORD_FIELD(owner, tag_, member, #member, meaning_, FIELD_CHARS)
#define RECORD_INNER(owner, tag_, member, meaning_, type_)                                         \
    RECORD_FIELD(owner, tag_, member, #member, meaning_, FIELD_RECORD, .type = type_)
#define RECORD_LIST(owner, tag_, member, meaning_, type_)                                          \
    RECORD_FIELD(owner, tag_, member, #member, meaning_, FIELD_RECORDS, .type = type_,             \
                 .count_offset = offsetof(owner, member##_count))
#define RECORD_ARRAY(owner, tag_, member, meaning_, type_, count_)                                 \
    RECORD_FIELD(owner, tag_, member, #member, meaning_, FIELD_RECORDS, .type = type_,             \
                 .count_offset = offsetof(owner, count_), .is_inside = 1)
/* The type of a struct with such a table. */
#define RECORD_TYPE(name_, owner, table)                                                           \
    {                                                                                              \
        name_, sizeof(owner), table, COUNT_OF(table)                                               \
    }

/* Every member of *object as a record without fields reads: zero, missing, "" or no items. */
void record_clear(const struct record_type *type, void *object);

void record_encode(const struct record_type *type, const void *object, struct text *out);

/* Fill *ret_object (cleared first); strings and lists live in arena. Fails
 * with -EBADMSG. */
int record_decode(const struct record_type *type, const void *bytes, size_t length,
                  struct arena *arena, void *ret_object, struct error *err);

/* Its own copies of all texts of *object, in place of those that it points to; and give them back.
 */
void record_own(const struct record_type *type, void *object);
void record_release(const struct record_type *type, void *object);

/* A varint, for code that frames records. Returns the bytes used; 0 if truncated or too long. */
void record_put_varint(struct text *out, uint64_t value);
size_t record_get_varint(const void *bytes, size_t length, uint64_t *ret);

/* A member of 1, 2, 4 or 8 bytes. */
uint64_t record_load(const void *at, size_t size);
void record_store(void *at, size_t size, uint64_t value);

#endif
