/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_place.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "core/job/request.h"
#include "wire/job/sbatch/sbatch_given.h"
#include "wire/reader.h"

static bool is_features(const char *text, size_t length, const char *operators)
{
    bool is = length > 0;

    for (size_t i = 0; i < length && is; i++)
        is = isalnum((unsigned char)text[i]) || strchr("._-+@=", text[i]) ||
             strchr(operators, text[i]);
    return is;
}

/* The list of conditions; --where is one of them. */
static json_t *where_of(struct sbatch *sbatch)
{
    json_t *where = json_object_get(sbatch->job, "where");

    if (json_is_array(where))
        return where;
    json_t *list = json_array();
    if (where)
        json_array_append(list, where);
    json_object_set_new(sbatch->job, "where", list);
    return list;
}

static int check_nodes(const struct sbatch_given *option, struct error *err)
{
    for (const char *at = option->value;; at++) {
        size_t length = strcspn(at, ",");
        AUTO_FREE char *name = mem_string_of(at, length);
        if (!name_is_valid(name))
            return given_fail(
                option, err,
                "'%.60s': expected names of nodes, as in n1,n2; brackets and files are "
                "not supported",
                option->value);
        at += length;
        if (!*at)
            return 0;
    }
}

int sbatch_read_places(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *list = given_find(sbatch, SBATCH_NODELIST);
    const struct sbatch_given *exclude = given_find(sbatch, SBATCH_EXCLUDE);
    int code = list ? check_nodes(list, err) : 0;

    if (code == 0 && exclude)
        code = check_nodes(exclude, err);
    if (code < 0)
        return code;
    if (list && strchr(list->value, ','))
        return given_fail(
            list, err,
            "'%.60s': several nodes, which all would be used; expected one, or --where "
            "'node in (n1,n2)' for one of them",
            list->value);
    if (list)
        json_array_append_new(where_of(sbatch), json_sprintf("node in (%s)", list->value));
    if (exclude)
        json_array_append_new(where_of(sbatch), json_sprintf("node notin (%s)", exclude->value));
    return 0;
}

/* "nvme&(v100|a100)" as conditions: features are labels or models. What counts nodes, and brackets
 * for nodes that are alike, is not to be said with conditions. */
int sbatch_read_constraint(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_CONSTRAINT);
    bool is_several = option && strchr(option->value, '&');

    if (!option)
        return 0;
    json_t *where = where_of(sbatch);
    for (const char *at = option->value;; at++) {
        size_t length = strcspn(at, "&");
        bool is_inside = length > 2 && at[0] == '(' && at[length - 1] == ')';
        const char *part = at + is_inside;
        size_t part_length = length - 2u * is_inside;
        if (is_several && !is_inside && memchr(part, '|', part_length))
            return given_fail(option, err,
                              "'%.60s': & and | together; expected parentheses around |, like "
                              "'nvme&(v100|a100)'",
                              option->value);
        if (!is_features(part, part_length, "|"))
            return given_fail(option, err,
                              "'%.60s': expected features like a100, 'v100|a100' or 'nvme&a100'; "
                              "numbers of nodes and brackets are not supported",
                              option->value);
        json_array_append_new(where, json_stringn(part, part_length));
        at += length;
        if (!*at)
            return 0;
    }
}
