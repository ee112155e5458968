/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/cel_match.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/text.h"
#include "engine/kube/dra/semver.h"

enum value_kind {
    VALUE_ERROR,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_STRING,
    VALUE_QUANTITY, /* number: in thousandths */
    VALUE_SEMVER,   /* text */
    VALUE_LIST,     /* number: of its values, from `first` */
    VALUE_DEVICE,
    VALUE_ATTRIBUTES, /* domains */
    VALUE_CAPACITY,
    VALUE_DOMAIN, /* text: its name; names and values of it are in object */
};

struct value {
    enum value_kind kind;
    int64_t number;
    size_t first;
    const char *text;
    const json_t *object;
};

struct machine {
    const struct cel_device *device;
    LIST(struct value) stack;
    LIST(struct value) listed; /* of lists */
    LIST(char *) made;         /* strings */
    struct value variables[CEL_VARIABLES_MAX];
};

static const struct value no_value;

static struct value of_bool(bool is_true)
{
    return (struct value){ .kind = VALUE_BOOL, .number = is_true };
}

static struct value of_int(int64_t number)
{
    return (struct value){ .kind = VALUE_INT, .number = number };
}

static struct value of_string(const char *text)
{
    return (struct value){ .kind = VALUE_STRING, .text = text };
}

static struct value of_quantity(const char *text)
{
    int64_t milli;

    return quantity_milli(text, &milli) ? (struct value){ .kind = VALUE_QUANTITY, .number = milli }
                                        : no_value;
}

static struct value of_semver(const char *text)
{
    struct semver version;

    return semver_parse(text, &version) ? (struct value){ .kind = VALUE_SEMVER, .text = text }
                                        : no_value;
}

/* ---- fields of a device ---- */

static struct value of_attribute(const json_t *attribute)
{
    const json_t *text = json_object_get(attribute, "string");
    const json_t *number = json_object_get(attribute, "int");
    const json_t *truth = json_object_get(attribute, "bool");
    const json_t *version = json_object_get(attribute, "version");

    if (json_is_string(text))
        return of_string(json_string_value(text));
    if (number)
        return of_int(json_integer_value(number));
    if (truth)
        return of_bool(json_is_true(truth));
    return json_is_string(version) ? of_semver(json_string_value(version)) : no_value;
}

/* An amount of a capacity, which jansson reads as a string, or as a number. */
static struct value of_capacity(struct machine *machine, const json_t *capacity)
{
    const json_t *value = json_object_get(capacity, "value");
    char *text = json_is_integer(value) ? mem_printf("%lld", (long long)json_integer_value(value))
                                        : mem_string(json_string_value(value));

    list_add(&machine->made, text);
    return of_quantity(text);
}

static bool is_of_driver(const struct machine *machine, const char *domain)
{
    return strcmp(domain, machine->device->driver) == 0;
}

static const json_t *find_in_domain(const struct machine *machine, const struct value *domain,
                                    const char *name)
{
    AUTO_FREE char *full = mem_printf("%s/%s", domain->text, name);
    const json_t *found = json_object_get(domain->object, full);

    return found || !is_of_driver(machine, domain->text) || strchr(name, '/')
               ? found
               : json_object_get(domain->object, name);
}

static bool has_domain(const struct machine *machine, const json_t *fields, const char *domain)
{
    size_t length = strlen(domain);
    json_t *value;
    const char *name;

    json_object_foreach((json_t *)fields, name, value)
    {
        if (strncmp(name, domain, length) == 0 && name[length] == '/')
            return true;
        if (!strchr(name, '/') && is_of_driver(machine, domain))
            return true;
    }
    return false;
}

static const json_t *fields_of(const struct machine *machine, const struct value *value)
{
    return value->kind == VALUE_ATTRIBUTES ? machine->device->attributes
                                           : machine->device->capacity;
}

static struct value select_of_device(const struct machine *machine, const char *name)
{
    if (strcmp(name, "driver") == 0)
        return of_string(machine->device->driver);
    if (strcmp(name, "attributes") == 0)
        return (struct value){ .kind = VALUE_ATTRIBUTES };
    if (strcmp(name, "capacity") == 0)
        return (struct value){ .kind = VALUE_CAPACITY };
    return no_value;
}

/* A domain that the device does not have is empty. */
static struct value field_of(struct machine *machine, const struct value *of, const char *name)
{
    const json_t *found;

    if (of->kind == VALUE_DEVICE)
        return select_of_device(machine, name);
    if (of->kind == VALUE_ATTRIBUTES || of->kind == VALUE_CAPACITY)
        return (struct value){
            .kind = VALUE_DOMAIN, .text = name, .number = of->kind, .object = fields_of(machine, of)
        };
    found = of->kind == VALUE_DOMAIN ? find_in_domain(machine, of, name) : NULL;
    if (!found)
        return no_value;
    return of->number == VALUE_ATTRIBUTES ? of_attribute(found) : of_capacity(machine, found);
}

static struct value test_field(struct machine *machine, const struct value *of, const char *name)
{
    if (of->kind == VALUE_DOMAIN)
        return of_bool(find_in_domain(machine, of, name) != NULL);
    if (of->kind == VALUE_DEVICE)
        return of_bool(select_of_device(machine, name).kind != VALUE_ERROR);
    if (of->kind == VALUE_ATTRIBUTES || of->kind == VALUE_CAPACITY)
        return of_bool(has_domain(machine, fields_of(machine, of), name));
    return no_value;
}

static struct value index_of(struct machine *machine, const struct value *of,
                             const struct value *key)
{
    if (of->kind == VALUE_LIST && key->kind == VALUE_INT)
        return key->number >= 0 && key->number < of->number
                   ? machine->listed.items[of->first + (size_t)key->number]
                   : no_value;
    if (key->kind != VALUE_STRING || of->kind == VALUE_DEVICE)
        return no_value;
    return field_of(machine, of, key->text);
}

/* ---- comparisons ---- */

/* False: they have no order. */
static bool compare(const struct value *a, const struct value *b, int *ret)
{
    struct semver left, right;

    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_QUANTITY:
        *ret = (a->number > b->number) - (a->number < b->number);
        return true;
    case VALUE_STRING:
        *ret = strcmp(a->text, b->text);
        *ret = (*ret > 0) - (*ret < 0);
        return true;
    case VALUE_SEMVER:
        if (!semver_parse(a->text, &left) || !semver_parse(b->text, &right))
            return false;
        *ret = semver_compare(&left, &right);
        return true;
    case VALUE_ERROR:
    case VALUE_LIST:
    case VALUE_DEVICE:
    case VALUE_ATTRIBUTES:
    case VALUE_CAPACITY:
    case VALUE_DOMAIN:
        break;
    }
    return false;
}

static bool is_plain(const struct value *value)
{
    return value->kind >= VALUE_BOOL && value->kind <= VALUE_SEMVER;
}

static struct value is_equal(const struct value *a, const struct value *b, bool is_wanted)
{
    int order = 1;

    if (!is_plain(a) || !is_plain(b))
        return no_value;
    return of_bool((compare(a, b, &order) && order == 0) == is_wanted);
}

/* Only values of plain types have an order by an operator. */
static struct value is_ordered(const struct value *a, const struct value *b, enum cel_op_kind op)
{
    int order;

    if (a->kind > VALUE_STRING || !compare(a, b, &order))
        return no_value;
    switch (op) {
    case CEL_OP_LESS:
        return of_bool(order < 0);
    case CEL_OP_LESS_EQUAL:
        return of_bool(order <= 0);
    case CEL_OP_GREATER:
        return of_bool(order > 0);
    default:
        return of_bool(order >= 0);
    }
}

static struct value is_in(struct machine *machine, const struct value *a, const struct value *b)
{
    bool is_found = false;

    if (b->kind != VALUE_LIST)
        return a->kind == VALUE_STRING && b->kind != VALUE_DEVICE ? test_field(machine, b, a->text)
                                                                  : no_value;
    if (!is_plain(a))
        return no_value;
    for (size_t i = 0; i < (size_t)b->number; i++) {
        struct value same = is_equal(a, &machine->listed.items[b->first + i], true);
        is_found |= same.kind == VALUE_BOOL && same.number;
    }
    return of_bool(is_found);
}

/* An error does not count if the other side decides. */
static struct value combine(const struct value *a, const struct value *b, bool decides)
{
    for (int i = 0; i < 2; i++) {
        const struct value *side = i == 0 ? a : b;
        if (side->kind == VALUE_BOOL && (side->number != 0) == decides)
            return of_bool(decides);
    }
    return a->kind == VALUE_BOOL && b->kind == VALUE_BOOL ? of_bool(!decides) : no_value;
}

/* ---- functions ---- */

/* The pattern is one of POSIX, too: see cel_parse(). */
static struct value matches(const char *text, const char *pattern)
{
    regex_t compiled;

    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return no_value;
    bool is_match = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return of_bool(is_match);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);

    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static struct value lower(struct machine *machine, const char *text)
{
    char *made = mem_string(text);

    list_add(&machine->made, made);
    for (char *at = made; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    return of_string(made);
}

/* In characters. */
static struct value size_of(const struct value *value)
{
    int64_t size = 0;

    if (value->kind == VALUE_LIST)
        return of_int(value->number);
    if (value->kind != VALUE_STRING)
        return no_value;
    for (const char *at = value->text; *at; at++)
        size += (*at & 0xc0) != 0x80;
    return of_int(size);
}

static struct value call_on_string(struct machine *machine, enum cel_function function,
                                   const char *text, const struct value *with)
{
    if (function == CEL_LOWER_ASCII)
        return lower(machine, text);
    if (with->kind != VALUE_STRING)
        return no_value;
    if (function == CEL_STARTS_WITH)
        return of_bool(string_starts(text, with->text));
    if (function == CEL_ENDS_WITH)
        return of_bool(ends_with(text, with->text));
    if (function == CEL_CONTAINS)
        return of_bool(strstr(text, with->text) != NULL);
    return matches(text, with->text);
}

static struct value compare_amounts(enum cel_function function, const struct value *of,
                                    const struct value *with)
{
    int order;

    if ((of->kind != VALUE_QUANTITY && of->kind != VALUE_SEMVER) || !compare(of, with, &order))
        return no_value;
    if (function == CEL_COMPARE_TO)
        return of_int(order);
    return of_bool(function == CEL_IS_GREATER_THAN ? order > 0 : order < 0);
}

static struct value call(struct machine *machine, enum cel_function function,
                         const struct value *of, const struct value *with)
{
    bool is_text = of->kind == VALUE_STRING;

    switch (function) {
    case CEL_SIZE:
    case CEL_SIZE_OF:
        return size_of(of);
    case CEL_QUANTITY:
        return is_text ? of_quantity(of->text) : no_value;
    case CEL_IS_QUANTITY:
        return is_text ? of_bool(of_quantity(of->text).kind != VALUE_ERROR) : no_value;
    case CEL_SEMVER:
        return is_text ? of_semver(of->text) : no_value;
    case CEL_IS_SEMVER:
        return is_text ? of_bool(of_semver(of->text).kind != VALUE_ERROR) : no_value;
    case CEL_COMPARE_TO:
    case CEL_IS_GREATER_THAN:
    case CEL_IS_LESS_THAN:
        return compare_amounts(function, of, with);
    case CEL_STARTS_WITH:
    case CEL_ENDS_WITH:
    case CEL_CONTAINS:
    case CEL_MATCHES:
    case CEL_LOWER_ASCII:
        return is_text ? call_on_string(machine, function, of->text, with) : no_value;
    case CEL_FUNCTIONS:
        break;
    }
    return no_value;
}

/* ---- the machine ---- */

static void push(struct machine *machine, struct value value)
{
    list_add(&machine->stack, value);
}

static struct value pop(struct machine *machine)
{
    return machine->stack.items[--machine->stack.count];
}

static void push_list(struct machine *machine, size_t count)
{
    struct value list = { .kind = VALUE_LIST,
                          .number = (int64_t)count,
                          .first = machine->listed.count };

    machine->stack.count -= count;
    for (size_t i = 0; i < count; i++)
        list_add(&machine->listed, machine->stack.items[machine->stack.count + i]);
    push(machine, list);
}

static void push_call(struct machine *machine, enum cel_function function)
{
    static const uint8_t counts[CEL_FUNCTIONS] = {
#define CEL_FUNCTION(ID, word, is_method, count) count,
#include "engine/kube/dra/cel_function.def"
    };
    struct value with = counts[function] > 1 ? pop(machine) : no_value, of = pop(machine);

    push(machine, call(machine, function, &of, &with));
}

static void push_choice(struct machine *machine)
{
    struct value otherwise = pop(machine), then = pop(machine), condition = pop(machine);

    push(machine, condition.kind != VALUE_BOOL ? no_value : condition.number ? then : otherwise);
}

static struct value binary(struct machine *machine, enum cel_op_kind op, const struct value *a,
                           const struct value *b)
{
    switch (op) {
    case CEL_OP_INDEX:
        return index_of(machine, a, b);
    case CEL_OP_EQUAL:
    case CEL_OP_UNEQUAL:
        return is_equal(a, b, op == CEL_OP_EQUAL);
    case CEL_OP_IN:
        return is_in(machine, a, b);
    case CEL_OP_AND:
    case CEL_OP_OR:
        return combine(a, b, op == CEL_OP_OR);
    default:
        return is_ordered(a, b, op);
    }
}

static void push_binary(struct machine *machine, enum cel_op_kind op)
{
    struct value right = pop(machine), left = pop(machine);

    push(machine, binary(machine, op, &left, &right));
}

static void push_not(struct machine *machine)
{
    struct value value = pop(machine);

    push(machine, value.kind == VALUE_BOOL ? of_bool(!value.number) : no_value);
}

static void run(struct machine *machine, const struct cel_op *op)
{
    struct value of;

    switch (op->kind) {
    case CEL_OP_BOOL:
        push(machine, of_bool(op->number != 0));
        break;
    case CEL_OP_INT:
        push(machine, of_int(op->number));
        break;
    case CEL_OP_STRING:
        push(machine, of_string(op->text));
        break;
    case CEL_OP_DEVICE:
        push(machine, (struct value){ .kind = VALUE_DEVICE });
        break;
    case CEL_OP_VARIABLE:
        push(machine, machine->variables[op->number]);
        break;
    case CEL_OP_STORE:
        machine->variables[op->number] = pop(machine);
        break;
    case CEL_OP_LIST:
        push_list(machine, (size_t)op->number);
        break;
    case CEL_OP_SELECT:
    case CEL_OP_TEST:
        of = pop(machine);
        push(machine, op->kind == CEL_OP_SELECT ? field_of(machine, &of, op->text)
                                                : test_field(machine, &of, op->text));
        break;
    case CEL_OP_CALL:
        push_call(machine, (enum cel_function)op->number);
        break;
    case CEL_OP_NOT:
        push_not(machine);
        break;
    case CEL_OP_CHOOSE:
        push_choice(machine);
        break;
    case CEL_OP_INDEX:
    case CEL_OP_EQUAL:
    case CEL_OP_UNEQUAL:
    case CEL_OP_LESS:
    case CEL_OP_LESS_EQUAL:
    case CEL_OP_GREATER:
    case CEL_OP_GREATER_EQUAL:
    case CEL_OP_IN:
    case CEL_OP_AND:
    case CEL_OP_OR:
        push_binary(machine, op->kind);
        break;
    }
}

bool cel_match(const struct cel *cel, const struct cel_device *device)
{
    struct machine machine = { .device = device };

    LIST_EACH (const struct cel_op, op, &cel->ops)
        run(&machine, op);
    struct value result = pop(&machine);
    for (size_t i = 0; i < machine.made.count; i++)
        free(machine.made.items[i]);
    list_release(&machine.made);
    list_release(&machine.stack);
    list_release(&machine.listed);
    return result.kind == VALUE_BOOL && result.number != 0;
}
