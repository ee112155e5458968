/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/job_launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/job/script_text.h"
#include "wire/job/sender.h"
#include "wire/reader.h"

static json_t *strings_to_json(char *const *strings)
{
    json_t *array = json_array();

    for (size_t i = 0; strings && strings[i]; i++)
        json_array_append_new(array, json_stringn_nocheck(strings[i], strlen(strings[i])));
    return array;
}

static void set_path(json_t *object, const char *key, const char *path, const char *cwd)
{
    AUTO_FREE char *joined = NULL;

    if (!path)
        return;
    joined = path[0] == '/' ? mem_string(path) : mem_printf("%s/%s", cwd, path);
    json_object_set_new(object, key, json_string_nocheck(joined));
}

static void set_string(json_t *object, const char *key, const char *string)
{
    if (string)
        json_object_set_new(object, key, json_string_nocheck(string));
}

static void set_sender(json_t *object, const struct sender *sender)
{
    json_t *limits = json_array();

    for (uint32_t i = 0; i < sender->limit_count; i++) {
        json_array_append_new(limits, json_integer(sender->limits[i].resource));
        json_array_append_new(limits, json_integer(sender->limits[i].soft));
    }
    if (sender->has_umask)
        json_object_set_new(object, "umask", json_integer((json_int_t)sender->umask));
    if (sender->limit_count > 0)
        json_object_set(object, "limits", limits);
    json_decref(limits);
}

static json_t *role_to_json(const struct draft_role *role)
{
    json_t *object = json_object();

    if (role->argv)
        json_object_set_new(object, "argv", strings_to_json(role->argv));
    if (role->env)
        json_object_set_new(object, "env", strings_to_json(role->env));
    return object;
}

json_t *launch_to_json(const struct job_draft *draft, const uint64_t *input_groups,
                       uint64_t environment, const char *home)
{
    const char *cwd = draft->cwd ? draft->cwd : home;
    json_t *object = json_object();

    json_object_set_new(object, "argv", strings_to_json(draft->argv));
    if (draft->script)
        script_text_put(object, draft->script, strlen(draft->script));
    if (draft->script)
        json_object_set_new(object, "script_at", json_integer((json_int_t)draft->script_at));
    json_object_set_new(object, "env", json_integer((json_int_t)environment));
    set_string(object, "cwd", cwd);
    set_path(object, "output", draft->output, cwd);
    set_path(object, "error", draft->error, cwd);
    set_path(object, "input", draft->input, cwd);
    set_string(object, "directory", draft->directory);
    if (draft->stop_signal)
        json_object_set_new(object, "signal", json_integer(draft->stop_signal));
    if (draft->warn_signal)
        json_object_set_new(object, "warn",
                            json_pack("[i, I, i]", draft->warn_signal,
                                      (json_int_t)draft->warn_before, draft->warn_to));
    if (draft->tasks)
        json_object_set_new(object, "tasks", json_integer(draft->tasks));
    if (draft->task_gpus)
        json_object_set_new(object, "task_gpus", json_integer(draft->task_gpus));
    set_string(object, "script_path", draft->script_path);
    if (draft->own && draft->own[0])
        json_object_set_new(object, "own", strings_to_json(draft->own));
    if (draft->slurm)
        json_object_set_new(object, "slurm", strings_to_json(draft->slurm));
    set_sender(object, draft->sender);
    if (draft->notify)
        json_object_set_new(object, "notify", json_integer(draft->notify));
    set_string(object, "mail", draft->mail);
    if (draft->attach)
        json_object_set_new(object, "attach", json_integer(draft->attach));
    if (draft->append)
        json_object_set_new(object, "append", json_true());
    if (draft->outputs && draft->outputs[0])
        json_object_set_new(object, "outputs", strings_to_json(draft->outputs));
    for (size_t i = 0; draft->inputs && draft->inputs[i]; i++) {
        if (i == 0)
            json_object_set_new(object, "inputs", json_array());
        json_array_append_new(
            json_object_get(object, "inputs"),
            json_pack("{s:s, s:I}", "name", draft->inputs[i], "from", (json_int_t)input_groups[i]));
    }
    for (uint32_t i = 0; i < draft->role_count; i++) {
        if (i == 0)
            json_object_set_new(object, "roles", json_array());
        json_array_append_new(json_object_get(object, "roles"),
                              role_to_json(&draft->role_starts[i]));
    }
    return object;
}

static char **strings_from_json(const json_t *array)
{
    size_t count = json_array_size(array);
    char **strings = mem_zero(count + 1, sizeof(char *));

    for (size_t i = 0; i < count; i++) {
        const char *string = json_string_value(json_array_get(array, i));
        strings[i] = mem_string(string ? string : "");
    }
    return strings;
}

static char *string_from_json(const json_t *object, const char *key)
{
    return mem_string(json_string_value(json_object_get(object, key)));
}

static char *script_from_json(const json_t *object)
{
    const char *bytes = json_string_value(json_object_get(object, "script_bytes"));

    return bytes ? script_text_decode(bytes) : string_from_json(object, "script");
}

static void take_roles(struct launch *launch, const json_t *roles)
{
    launch->role_count = json_array_size(roles);
    launch->roles = mem_zero(launch->role_count, sizeof(launch->roles[0]));
    for (size_t i = 0; i < launch->role_count; i++) {
        const json_t *role = json_array_get(roles, i);
        if (json_object_get(role, "argv"))
            launch->roles[i].argv = strings_from_json(json_object_get(role, "argv"));
        if (json_object_get(role, "env"))
            launch->roles[i].env = strings_from_json(json_object_get(role, "env"));
    }
}

/* Numbers of resources, each with its limit behind it. */
static void take_limits(struct launch *launch, const json_t *limits)
{
    launch->limit_count = (uint32_t)json_array_size(limits) / 2;
    launch->limits = mem_zero(launch->limit_count, sizeof(launch->limits[0]));
    for (uint32_t i = 0; i < launch->limit_count; i++)
        launch->limits[i] = (struct engine_limit){
            .resource = (int)json_integer_value(json_array_get(limits, 2 * i)),
            .soft = json_integer_value(json_array_get(limits, 2 * i + 1)),
        };
}

int launch_from_json(const char *bytes, size_t length, struct launch **ret, struct error *err)
{
    json_error_t failure;
    json_t *object = json_loadb(bytes, length, 0, &failure);

    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(err, -EBADMSG, "launch: %s", object ? "not an object" : failure.text);
    }
    struct launch *launch = mem_zero(1, sizeof(*launch));
    const json_t *inputs = json_object_get(object, "inputs");
    const json_t *warn = json_object_get(object, "warn");
    *launch = (struct launch){
        .argv = strings_from_json(json_object_get(object, "argv")),
        .script = script_from_json(object),
        .script_at = (size_t)json_integer_value(json_object_get(object, "script_at")),
        .environment = (uint64_t)json_integer_value(json_object_get(object, "env")),
        .cwd = string_from_json(object, "cwd"),
        .output = string_from_json(object, "output"),
        .error = string_from_json(object, "error"),
        .input = string_from_json(object, "input"),
        .directory = string_from_json(object, "directory"),
        .outputs = strings_from_json(json_object_get(object, "outputs")),
        .mail = string_from_json(object, "mail"),
        .notify = (uint8_t)json_integer_value(json_object_get(object, "notify")),
        .attach = (uint8_t)json_integer_value(json_object_get(object, "attach")),
        .append = json_is_true(json_object_get(object, "append")),
        .stop_signal = (int)json_integer_value(json_object_get(object, "signal")),
        .warn_signal = (int)json_integer_value(json_array_get(warn, 0)),
        .warn_before = json_integer_value(json_array_get(warn, 1)),
        .warn_to = (uint8_t)json_integer_value(json_array_get(warn, 2)),
        .tasks = (uint32_t)json_integer_value(json_object_get(object, "tasks")),
        .task_gpus = (uint32_t)json_integer_value(json_object_get(object, "task_gpus")),
        .script_path = string_from_json(object, "script_path"),
        .own = strings_from_json(json_object_get(object, "own")),
        .slurm = json_object_get(object, "slurm")
                     ? strings_from_json(json_object_get(object, "slurm"))
                     : NULL,
        .has_umask = json_object_get(object, "umask"),
        .umask = (mode_t)json_integer_value(json_object_get(object, "umask")),
        .input_count = json_array_size(inputs),
    };
    launch->inputs = mem_zero(launch->input_count, sizeof(launch->inputs[0]));
    for (size_t i = 0; i < launch->input_count; i++) {
        const json_t *input = json_array_get(inputs, i);
        launch->inputs[i].name = string_from_json(input, "name");
        launch->inputs[i].from = (uint64_t)json_integer_value(json_object_get(input, "from"));
    }
    take_roles(launch, json_object_get(object, "roles"));
    take_limits(launch, json_object_get(object, "limits"));
    json_decref(object);
    *ret = launch;
    return 0;
}

void launch_destroy(struct launch *launch)
{
    if (!launch)
        return;
    string_list_destroy(launch->argv);
    string_list_destroy(launch->outputs);
    for (size_t i = 0; i < launch->input_count; i++)
        free(launch->inputs[i].name);
    free(launch->inputs);
    for (size_t i = 0; i < launch->role_count; i++) {
        string_list_destroy(launch->roles[i].argv);
        string_list_destroy(launch->roles[i].env);
    }
    free(launch->roles);
    string_list_destroy(launch->own);
    if (launch->slurm)
        string_list_destroy(launch->slurm);
    free(launch->limits);
    free(launch->script_path);
    free(launch->script);
    free(launch->cwd);
    free(launch->output);
    free(launch->error);
    free(launch->input);
    free(launch->directory);
    free(launch->mail);
    free(launch);
}

void environment_pack(char *const *env, struct text *out)
{
    for (size_t i = 0; env && env[i]; i++)
        text_add_bytes(out, env[i], strlen(env[i]) + 1);
}

char **environment_unpack(const char *bytes, size_t length)
{
    LIST(char *) list = { 0 };

    for (size_t at = 0; at < length;) {
        size_t step = strnlen(bytes + at, length - at);
        list_add(&list, mem_string_of(bytes + at, step));
        at += step + 1;
    }
    list_add(&list, NULL);
    return list.items;
}

char **environment_over(char **env, char *const *over)
{
    LIST(char *) list = { 0 };

    if (!over)
        return env;
    for (size_t i = 0; env[i]; i++) {
        size_t length = strcspn(env[i], "=") + 1;
        bool is_other = true;
        for (size_t k = 0; over[k] && is_other; k++)
            is_other = strncmp(env[i], over[k], length) != 0;
        if (is_other)
            list_add(&list, env[i]);
        else
            free(env[i]);
    }
    for (size_t i = 0; over[i]; i++)
        list_add(&list, mem_string(over[i]));
    list_add(&list, NULL);
    free(env);
    return list.items;
}
