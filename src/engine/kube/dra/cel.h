/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_CEL_H
#define ENGINE_KUBE_DRA_CEL_H

/* cel - the part of CEL in which device selectors are written, as a program for a stack machine
 *
 * In the language: literals of bool, int and string, lists, device.driver,
 * device.attributes["domain"].name, device.capacity["domain"].name (also with ["name"]), == != < <=
 * > >= in, && || !, the ternary, parentheses, has(), cel.bind(), size(); startsWith, endsWith,
 * contains, matches and lowerAscii of strings; quantity(), isQuantity(), semver(), isSemver(), and
 * compareTo, isGreaterThan and isLessThan of what they make. An expression outside of it is refused
 * and named, never guessed at.
 *
 * There are no jumps: every operand is evaluated. This is the same, because nothing has effects,
 * and because errors are values: `error && false` is false, and an unused error is none.
 *
 * Sources: the CEL language definition; Kubernetes, "CEL in Kubernetes" and CELDeviceSelector
 * Limits:  CEL_TEXT_MAX bytes, CEL_OPS_MAX operations, CEL_DEPTH_MAX levels
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

enum { CEL_TEXT_MAX = 10240, CEL_OPS_MAX = 2000, CEL_DEPTH_MAX = 64, CEL_VARIABLES_MAX = 8 };

enum cel_op_kind {
    CEL_OP_BOOL, /* push a literal */
    CEL_OP_INT,
    CEL_OP_STRING,
    CEL_OP_DEVICE,
    CEL_OP_VARIABLE, /* number: which */
    CEL_OP_STORE,    /* pop it into a variable */
    CEL_OP_LIST,     /* number: of the values that become a list */
    CEL_OP_SELECT,   /* text: the name */
    CEL_OP_TEST,     /* the same for has() */
    CEL_OP_INDEX,
    CEL_OP_CALL, /* number: the function */
    CEL_OP_NOT,
    CEL_OP_EQUAL,
    CEL_OP_UNEQUAL,
    CEL_OP_LESS,
    CEL_OP_LESS_EQUAL,
    CEL_OP_GREATER,
    CEL_OP_GREATER_EQUAL,
    CEL_OP_IN,
    CEL_OP_AND,
    CEL_OP_OR,
    CEL_OP_CHOOSE, /* condition, then, else */
};

enum cel_function {
#define CEL_FUNCTION(ID, name, is_method, count) CEL_##ID,
#include "engine/kube/dra/cel_function.def"
    CEL_FUNCTIONS,
};

struct cel_op {
    enum cel_op_kind kind;
    int64_t number;
    char *text;
};

struct cel {
    LIST(struct cel_op) ops; /* in the order of their execution */
};

/* Fails with -ENOTSUP and says what is outside of the subset, or where the text is wrong. */
int cel_parse(const char *text, struct cel **ret, struct error *err);
void cel_destroy(struct cel *cel); /* NULL is fine */

#endif
