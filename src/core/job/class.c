/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/class.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/own_speed.h"
#include "core/job/role.h"

static struct class *class_of(const struct class_table *table, uint64_t number_plus_one)
{
    assert(number_plus_one > 0 && number_plus_one <= table->classes.count);
    return table->classes.items[number_plus_one - 1];
}

/* By words: there is one for every job that comes. Where a class lies in the map steers nothing. */
static uint64_t hash_words(uint64_t hash, const struct request *request)
{
    uint64_t words[offsetof(struct request, roles) / sizeof(uint64_t)];

    static_assert(sizeof(words) == offsetof(struct request, roles), "a number of words");
    memcpy(words, request, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static uint64_t hash_of(const struct request *request)
{
    uint64_t hash = hash_words(0, request);

    for (uint32_t i = 0; i < request->roles_count; i++)
        hash = hash_words(hash, &request->roles[i].request);
    for (uint32_t i = 0; i < request->where_count; i++) {
        const struct where_term *term = &request->where[i];
        uint64_t words[] = { hash, map_hash(term, sizeof(*term)) };
        hash = map_hash_words(words, COUNT_OF(words));
    }
    for (uint32_t i = 0; i < request->speeds_count; i++) {
        const struct own_speed *own = &request->speeds[i];
        uint64_t words[] = { hash, map_hash(own, sizeof(*own)) };
        hash = map_hash_words(words, COUNT_OF(words));
    }
    return hash;
}

static bool are_same_roles(const struct role *a, const struct role *b, uint32_t count)
{
    bool are_same = true;

    for (uint32_t i = 0; i < count && are_same; i++)
        are_same = strcmp(a[i].name, b[i].name) == 0 &&
                   memcmp(&a[i].request, &b[i].request, offsetof(struct request, roles)) == 0;
    return are_same;
}

bool class_is_same(const struct request *a, const struct request *b)
{
    return memcmp(a, b, offsetof(struct request, roles)) == 0 && a->where_count == b->where_count &&
           are_same_roles(a->roles, b->roles, a->roles_count) &&
           (a->where_count == 0 ||
            memcmp(a->where, b->where, a->where_count * sizeof(a->where[0])) == 0) &&
           a->speeds_count == b->speeds_count &&
           (a->speeds_count == 0 ||
            memcmp(a->speeds, b->speeds, a->speeds_count * sizeof(a->speeds[0])) == 0);
}

/* Each of them complete: where one role alone is looked at, it is a request like others. */
static void copy_roles(struct role *to, const struct request *from)
{
    for (uint32_t i = 0; i < from->roles_count; i++) {
        memcpy(to[i].name, from->roles[i].name, sizeof(to[i].name));
        request_take_part(from, i, &to[i].request);
    }
}

/* The bit of a label, CLASS_LABELS_MAX: it has none. */
static uint32_t find_label(const struct class_table *table, const char *name)
{
    uint32_t at = 0;

    while (at < CLASS_LABELS_MAX &&
           (table->labels[at].references == 0 || strcmp(table->labels[at].name, name) != 0))
        at++;
    return at;
}

static uint32_t unused_label(const struct class_table *table)
{
    uint32_t at = 0;

    while (at < CLASS_LABELS_MAX && table->labels[at].references > 0)
        at++;
    return at;
}

uint32_t class_labels_new(const struct class_table *table, const struct request *request)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < request->label_count; i++)
        count += find_label(table, request->labels[i].name) == CLASS_LABELS_MAX;
    for (uint32_t i = 0; i < request->apart_count; i++)
        count += find_label(table, request->apart[i].name) == CLASS_LABELS_MAX;
    return count;
}

uint32_t class_labels_unused(const struct class_table *table)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < CLASS_LABELS_MAX; i++)
        count += table->labels[i].references == 0;
    return count;
}

void class_note_user(struct class_table *table, uint32_t number, uint32_t user)
{
    const struct class *class = table->classes.items[number];
    uint64_t labels = class->labels | class->apart;

    for (uint32_t i = 0; labels != 0 && i < CLASS_LABELS_MAX; i++) {
        if (labels >> i & 1 && table->labels[i].user == 0)
            table->labels[i].user = user + 1;
    }
}

uint32_t class_labels_of_user(const struct class_table *table, uint32_t user)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < CLASS_LABELS_MAX; i++)
        count += table->labels[i].references > 0 && table->labels[i].user == user + 1;
    return count;
}

uint64_t class_label_bits(const struct class_table *table, const struct job_label *labels,
                          uint32_t count)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = find_label(table, labels[i].name);
        bits |= at < CLASS_LABELS_MAX ? UINT64_C(1) << at : 0;
    }
    return bits;
}

static uint64_t take_labels(struct class_table *table, const struct job_label *labels,
                            uint32_t count)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = find_label(table, labels[i].name);
        if (at == CLASS_LABELS_MAX) {
            at = unused_label(table);
            assert(at < CLASS_LABELS_MAX); /* a submission without bits is refused */
            memcpy(table->labels[at].name, labels[i].name, sizeof(table->labels[at].name));
        }
        table->labels[at].references++;
        bits |= UINT64_C(1) << at;
    }
    return bits;
}

static void drop_labels(struct class_table *table, const struct job_label *labels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct class_label *label = &table->labels[find_label(table, labels[i].name)];
        if (--label->references == 0)
            label->user = 0;
    }
}

/* With its own roles, conditions and speeds behind it. */
static struct class *create(const struct request *shape)
{
    size_t roles_size = shape->roles_count * sizeof(struct role);
    size_t where_size = shape->where_count * sizeof(struct where_term);
    size_t speeds_size = shape->speeds_count * sizeof(struct own_speed);
    struct class *class = mem_zero(1, sizeof(*class) + roles_size + where_size + speeds_size);
    struct role *roles = (struct role *)(void *)(class + 1);
    void *speeds = (char *)roles + roles_size, *where = (char *)speeds + speeds_size;

    mem_copy(roles, shape->roles, roles_size);
    mem_copy(where, shape->where, where_size);
    mem_copy(speeds, shape->speeds, speeds_size);
    class->request = *shape;
    class->request.roles = shape->roles_count > 0 ? roles : NULL;
    class->request.where = shape->where_count > 0 ? where : NULL;
    class->request.speeds = shape->speeds_count > 0 ? speeds : NULL;
    for (uint32_t i = 0; i < shape->roles_count; i++) {
        roles[i].request.where = class->request.where;
        roles[i].request.speeds = class->request.speeds;
    }
    return class;
}

/* The request as that of a class; roles has the room for its roles. */
static struct request shape_of(const struct request *request, struct role *roles)
{
    struct request shape = *request;

    shape.max_duration = USEC_NEVER;
    if (shape.roles_count > 0)
        copy_roles(roles, &shape);
    shape.roles = shape.roles_count > 0 ? roles : NULL;
    return shape;
}

/* Its number, plus one; 0: none. ret_first: of the first one with its hash. */
static uint64_t find(const struct class_table *table, const struct request *shape, uint64_t hash,
                     uint64_t *ret_first)
{
    *ret_first = 0;
    map_get(&table->by_hash, hash, ret_first);
    for (uint64_t at = *ret_first; at != 0; at = class_of(table, at)->next_alike) {
        if (class_is_same(&class_of(table, at)->request, shape))
            return at;
    }
    return 0;
}

struct class *class_find(const struct class_table *table, const struct request *request)
{
    struct role roles[REQUEST_ROLES_MAX];
    struct request shape = shape_of(request, roles);
    uint64_t first, found = find(table, &shape, hash_of(&shape), &first);

    return found != 0 ? class_of(table, found) : NULL;
}

uint32_t class_claim(struct class_table *table, const struct request *request)
{
    struct role roles[REQUEST_ROLES_MAX];
    struct request shape = shape_of(request, roles);
    uint64_t hash = hash_of(&shape), first;
    uint64_t found = find(table, &shape, hash, &first);

    if (found != 0) {
        class_of(table, found)->references++;
        return (uint32_t)found - 1;
    }
    struct class *class = create(&shape);
    class->labels = take_labels(table, shape.labels, shape.label_count);
    class->apart = take_labels(table, shape.apart, shape.apart_count);
    class->references = 1;
    class->serial = ++table->serial;
    class->next_alike = (uint32_t)first;
    uint32_t number;
    if (table->unused.count > 0) {
        number = table->unused.items[--table->unused.count];
        table->classes.items[number] = class;
    } else {
        number = (uint32_t)table->classes.count;
        list_add(&table->classes, class);
    }
    map_set(&table->by_hash, hash, (uint64_t)number + 1);
    return number;
}

static void unlink_class(struct class_table *table, uint32_t number)
{
    struct class *class = table->classes.items[number];
    uint64_t hash = hash_of(&class->request);
    uint64_t first = 0;

    map_get(&table->by_hash, hash, &first);
    if (first == (uint64_t)number + 1) {
        if (class->next_alike != 0)
            map_set(&table->by_hash, hash, class->next_alike);
        else
            map_remove(&table->by_hash, hash);
        return;
    }
    assert(first != 0); /* a class in use is found by its hash */
    struct class *before = class_of(table, first);
    while (before->next_alike != number + 1)
        before = class_of(table, before->next_alike);
    before->next_alike = class->next_alike;
}

void class_release(struct class_table *table, uint32_t number)
{
    struct class *class = table->classes.items[number];

    assert(class->references > 0);
    if (--class->references > 0)
        return;
    unlink_class(table, number);
    drop_labels(table, class->request.labels, class->request.label_count);
    drop_labels(table, class->request.apart, class->request.apart_count);
    free(class);
    table->classes.items[number] = NULL;
    list_add(&table->unused, number);
}

void class_table_release(struct class_table *table)
{
    for (size_t i = 0; i < table->classes.count; i++)
        free(table->classes.items[i]);
    list_release(&table->classes);
    list_release(&table->unused);
    map_release(&table->by_hash);
}
