/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of a gang: what a role does not say it takes from the job, but its number of members.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/job/draft.h"

/* Of the job; with roles each has its own, or all are on whatever machines. */
static int check_whole(const struct scope_layer *layer)
{
    static const char *const keys[] = { "ranks", "nodes", NULL };

    for (size_t i = 0; keys[i]; i++) {
        if (reader_get(layer->object, keys[i]))
            return reader_fail(&layer->reader, -EINVAL, layer->object, keys[i],
                               i == 0 ? "with roles each has its own ranks"
                                      : "not together with roles");
    }
    return 0;
}

static int read_ranks(const struct scope_layer *layer, uint32_t *ret)
{
    const char *text = json_string_value(reader_get(layer->object, "ranks"));
    int64_t ranks = 1;

    if (text && strstr(text, ".."))
        return reader_fail(&layer->reader, -ENOTSUP, layer->object, "ranks",
                           "'%.40s': a gang with roles cannot be elastic yet; expected a number",
                           text);
    int code =
        reader_integer(&layer->reader, layer->object, "ranks", 1, REQUEST_MEMBERS_MAX, &ranks);
    *ret = (uint32_t)ranks;
    return code;
}

/* Where the role begins; the layer below it is the job's. */
static int fail_at(const struct draft_source *source, const char *name)
{
    const json_t *roles = reader_get(source->scope->layers[1].object, "roles");

    return reader_place_line(&source->scope->layers[0].reader, -EINVAL, roles, name);
}

/* What it runs, when it says so; else what the job runs. */
static int read_command(const struct draft_source *source, const char *name, bool has_default,
                        char ***ret)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    struct job_draft draft = { 0 };

    if (!reader_get(layer->object, "run") && !reader_get(layer->object, "command")) {
        if (has_default)
            return 0;
        error_set(layer->reader.err, -EINVAL,
                  "nothing to run; expected run or command, here or of the job");
        return fail_at(source, name);
    }
    int code = command_read(source, &draft);
    *ret = draft.argv;
    return code;
}

static int read_role(const struct draft_source *source, const char *name, struct job_draft *draft)
{
    static const char *const keys[] = { "ranks", "gpus",    "accelerator", "cpus", "memory",
                                        "run",   "command", "env",         NULL };
    const struct scope_layer *layer = &source->scope->layers[0];
    struct role *role = &draft->roles[draft->role_count];
    struct draft_role *start = &draft->role_starts[draft->role_count];
    struct job_draft member = { 0 };

    draft->role_count++;
    if (!name_is_valid(name) || name[0] == '.') {
        error_set(layer->reader.err, -EINVAL,
                  "not a valid name of a role; expected 1 to %d letters, digits and '._-+@'",
                  SUBMISSION_NAME_MAX);
        return fail_at(source, name);
    }
    int code = reader_check_keys(&layer->reader, layer->object, keys);
    snprintf(role->name, sizeof(role->name), "%s", name);
    request_default(&member.request);
    if (code == 0)
        code = draft_read_member(source, &member);
    if (code == 0 && member.all_memory) {
        error_set(layer->reader.err, -EINVAL, "memory all: not for a role; expected a size");
        code = fail_at(source, name);
    }
    if (code == 0)
        code = read_ranks(layer, &member.request.members);
    if (code == 0)
        code = read_command(source, name, draft->argv != NULL, &start->argv);
    if (code == 0)
        code = draft_read_own_env(source, &start->env);
    role->request = member.request;
    return code;
}

static int read_each(const struct draft_source *source, const json_t *roles,
                     struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    struct scope scope = { .count = source->scope->count + 1 };
    struct draft_source inner = *source;
    const char *name;
    json_t *value;

    inner.scope = &scope;
    memcpy(&scope.layers[1], source->scope->layers, source->scope->count * sizeof(*layer));
    json_object_foreach((json_t *)(uintptr_t)roles, name, value)
    {
        const struct reader reader =
            reader_at(&layer->reader, "%.63s%srole %.40s", layer->reader.where,
                      layer->reader.where[0] ? ": " : "", name);
        scope.layers[0] = (struct scope_layer){ reader, value };
        int code = read_role(&inner, name, draft);
        if (code < 0)
            return code;
    }
    return 0;
}

int draft_read_roles(const struct draft_source *source, struct job_draft *draft)
{
    const struct scope_layer *layer = &source->scope->layers[0];
    const json_t *roles = reader_get(layer->object, "roles");
    static const char *const commands[] = { "run", "command", "script", "script_bytes", NULL };
    bool has_command = false;

    for (size_t i = 0; commands[i]; i++)
        has_command |= reader_get(layer->object, commands[i]) != NULL;
    int code = roles && !has_command ? 0 : command_read(source, draft);
    if (code < 0 || !roles)
        return code;
    if (!json_is_object(roles))
        return reader_fail(&layer->reader, -EINVAL, layer->object, "roles",
                           "expected a map from name to role, not %s", reader_kind(roles));
    size_t count = json_object_size(roles);
    if (count < 1 || count > REQUEST_ROLES_MAX)
        return reader_fail(&layer->reader, -EINVAL, layer->object, "roles",
                           "%zu roles, expected 1 to %d", count, REQUEST_ROLES_MAX);
    code = check_whole(layer);
    draft->roles = mem_zero(count, sizeof(draft->roles[0]));
    draft->role_starts = mem_zero(count, sizeof(draft->role_starts[0]));
    if (code == 0)
        code = read_each(source, roles, draft);
    if (code == 0 && !draft->argv)
        draft->argv = string_list_copy(draft->role_starts[0].argv); /* what it is called after */
    return code;
}

void draft_release_roles(struct job_draft *draft)
{
    for (uint32_t i = 0; i < draft->role_count; i++) {
        string_list_destroy(draft->role_starts[i].argv);
        string_list_destroy(draft->role_starts[i].env);
    }
    free(draft->roles);
    free(draft->role_starts);
}
