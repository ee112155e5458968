/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/job/request.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_names.h"
#include "io/file.h"
#include "wire/json.h"
#include "wire/yaml.h"

#define CLAIM "tarn-devices"

enum { TEMPLATE_MAX = 1 << 20, SHORT_INSTANCE = 8, CONTAINER_UMASK = 022 };

char *kube_own_service_name(const char *instance, const struct member_id *id)
{
    return mem_printf("tarn-%.*s-%" PRIu64 "-%" PRIu32, SHORT_INSTANCE, instance, id->job,
                      id->attempt);
}

char *kube_own_name(const char *instance, const struct member_id *id)
{
    AUTO_FREE char *service = kube_own_service_name(instance, id);

    return mem_printf("%s-%" PRIu32, service, id->rank);
}

/* ---- template ---- */

int kube_own_template(const char *directory, const char *queue, json_t **ret, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s.yaml", directory, queue);
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(json) json_t *document = NULL;
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;

    if (!directory[0])
        return error_set(err, -ENOENT,
                         "jobs of tarn need a pod template: expected kube.templates in the "
                         "configuration, a directory with default.yaml");
    if (access(path, F_OK) < 0) {
        free(path);
        path = mem_printf("%s/default.yaml", directory);
    }
    int code = file_read(path, TEMPLATE_MAX, &bytes, err);
    if (code == 0)
        code = yaml_parse(text_string(&bytes), bytes.length, path, &document, &lines, err);
    if (code < 0)
        return error_prefix(err, code, "pod template");
    const json_t *containers = kube_at(document, "spec", "containers", NULL);
    if (json_array_size(containers) == 0 || !kube_text(json_array_get(containers, 0), "image")[0])
        return error_set(err, -EINVAL,
                         "pod template %s: expected a pod with spec.containers[0].image", path);
    static const char *const chosen[] = { "nodeName", "nodeSelector", "affinity" };
    for (size_t i = 0; i < COUNT_OF(chosen); i++) {
        if (kube_at(document, "spec", chosen[i], NULL))
            return error_set(err, -ENOTSUP,
                             "pod template %s: spec.%s: tarn chooses the node; expected conditions "
                             "in the job (--where)",
                             path, chosen[i]);
    }
    *ret = TAKE(document);
    return 0;
}

/* ---- pod ---- */

/* The object of a key, which is made if it is missing. */
static json_t *inner(json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);

    if (!json_is_object(found)) {
        found = json_object();
        json_object_set_new(object, key, found);
    }
    return found;
}

/* What the environment of the image has, not that of the submitter. */
static bool is_of_image(const char *variable)
{
    static const char *const names[] = { "PATH", "HOME", "SHELL", "USER", "LOGNAME", "PWD",
                                         "OLDPWD", "TERM", "TMPDIR", "LD_LIBRARY_PATH", "HOSTNAME",
                                         "_",
                                         /* numbers and UUIDs that tarn knows, not the container */
                                         "CUDA_VISIBLE_DEVICES",
                                         /* the shim would set it */
                                         "SLURM_TASK_PID", NULL };
    AUTO_FREE char *name = mem_string_of(variable, strcspn(variable, "="));

    return string_is_in(name, names) || string_starts(name, "XDG_") ||
           string_starts(name, "SSH_") || string_starts(name, "DBUS_") ||
           string_starts(name, "KUBERNETES_");
}

/* "$" begins references to other variables. */
static char *escape(const char *value)
{
    struct text text = { 0 };

    for (; *value; value++) {
        if (*value == '$')
            text_add_char(&text, '$');
        text_add_char(&text, *value);
    }
    return text_take(&text);
}

static void add_variable(json_t *list, const char *name, const char *value)
{
    AUTO_FREE char *escaped = escape(value);

    json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "value", escaped));
}

static void add_environment(json_t *container, const struct engine_launch *launch,
                            const char *master)
{
    json_t *list = json_object_get(container, "env");

    if (!list) {
        list = json_array();
        json_object_set_new(container, "env", list);
    }
    for (const char *const *at = launch->envp; *at; at++) {
        size_t length = strcspn(*at, "=");
        AUTO_FREE char *name = mem_string_of(*at, length);
        bool is_master = master && strcmp(name, "MASTER_ADDR") == 0;
        if (is_of_image(*at) || !string_is_utf8(*at, strlen(*at)))
            continue;
        add_variable(list, name, is_master ? master : (*at)[length] ? *at + length + 1 : "");
    }
}

static void add_word(json_t *command, const char *word)
{
    AUTO_FREE char *escaped = escape(word);

    json_array_append_new(command, json_string(escaped));
}

/* Standard input from a file, and another file mode mask than that of containers, take a shell. */
static void add_shell(json_t *command, const struct engine_launch *launch)
{
    AUTO_RELEASE(text) struct text script = { 0 };

    if (!launch->input && launch->umask == CONTAINER_UMASK)
        return;
    text_printf(&script, "umask %04" PRIo32 "; ", launch->umask & 0777);
    text_add(&script, launch->input ? "in=$1; shift; exec \"$@\" <\"$in\"" : "exec \"$@\"");
    add_word(command, "/bin/sh");
    add_word(command, "-c");
    json_array_append_new(command, json_string(script.bytes));
    add_word(command, "sh");
    if (launch->input)
        add_word(command, launch->input);
}

static void add_command(json_t *container, const struct engine_launch *launch)
{
    json_t *command = json_array();

    add_shell(command, launch);
    for (const char *const *at = launch->argv; *at; at++)
        add_word(command, *at);
    json_object_set_new(container, "command", command);
    json_object_del(container, "args");
    json_object_set_new(container, "workingDir", json_string(launch->cwd));
}

/* Parts of a GPU are no resource of Kubernetes: the container sees the GPU by its name. */
static bool is_share(const struct engine_launch *launch)
{
    return launch->slices_count > 0 && launch->slices[0].milli < GPU_MILLI;
}

static void add_resources(json_t *container, const struct engine_launch *launch,
                          const char *resource)
{
    json_t *resources = inner(container, "resources");
    json_t *requests = inner(resources, "requests"), *limits = inner(resources, "limits");

    if (launch->cpu_milli > 0)
        json_object_set_new(requests, "cpu", json_sprintf("%" PRId64 "m", launch->cpu_milli));
    if (launch->memory_mib > 0) {
        json_object_set_new(requests, "memory", json_sprintf("%" PRId64 "Mi", launch->memory_mib));
        json_object_set_new(limits, "memory", json_sprintf("%" PRId64 "Mi", launch->memory_mib));
    }
    if (launch->slices_count > 0 && !is_share(launch) && resource) {
        json_object_set_new(requests, resource, json_sprintf("%" PRIu32, launch->slices_count));
        json_object_set_new(limits, resource, json_sprintf("%" PRIu32, launch->slices_count));
    }
}

/* Its devices are those of a claim. */
static void add_claim(json_t *spec, json_t *container, const char *template)
{
    json_t *claims = json_object_get(spec, "resourceClaims");
    json_t *used = inner(container, "resources");

    if (!claims) {
        claims = json_array();
        json_object_set_new(spec, "resourceClaims", claims);
    }
    json_array_append_new(
        claims, json_pack("{s:s, s:s}", "name", CLAIM, "resourceClaimTemplateName", template));
    if (!json_object_get(used, "claims"))
        json_object_set_new(used, "claims", json_array());
    json_array_append_new(json_object_get(used, "claims"), json_pack("{s:s}", "name", CLAIM));
}

static void add_user(json_t *spec, const struct engine_launch *launch)
{
    json_t *security = inner(spec, "securityContext"), *groups = json_array();

    if (launch->uid == 0 || launch->uid == (uint32_t)-1) {
        json_decref(groups);
        return;
    }
    json_object_set_new(security, "runAsUser", json_integer(launch->uid));
    json_object_set_new(security, "runAsGroup", json_integer(launch->gid));
    for (uint32_t i = 0; i < launch->group_count; i++)
        json_array_append_new(groups, json_integer(launch->groups[i]));
    json_object_set_new(security, "supplementalGroups", groups);
}

static void add_about(json_t *pod, const char *instance, const struct engine_launch *launch,
                      const char *gpus)
{
    json_t *about = inner(pod, "metadata"), *notes = inner(about, "annotations");
    AUTO_FREE char *service = kube_own_service_name(instance, &launch->id);
    AUTO_FREE char *name = kube_own_name(instance, &launch->id);
    AUTO_FREE char *title = string_copy_clean(launch->title);

    json_object_set_new(about, "name", json_string(name));
    json_object_del(about, "generateName");
    json_object_set_new(inner(about, "labels"), KUBE_ATTEMPT, json_string(service));
    json_object_set_new(notes, KUBE_JOB, json_sprintf("%" PRIu64, launch->id.job));
    json_object_set_new(notes, KUBE_QUEUE, json_string(launch->queue));
    json_object_set_new(notes, KUBE_PREFIX "name", json_string(title));
    json_object_set_new(notes, KUBE_ATTEMPT,
                        json_sprintf("%s/%" PRIu64 ".%" PRIu32 "/%" PRIu32, instance,
                                     launch->id.job, launch->id.attempt, launch->id.rank));
    json_object_set_new(notes, KUBE_OUTPUT, json_string(launch->output));
    if (gpus[0])
        json_object_set_new(notes, KUBE_GPUS, json_string(gpus));
}

json_t *kube_own_pod(const json_t *template, const char *instance, const char *namespace,
                     const struct engine_launch *launch, const char *resource, const char *gpus,
                     bool is_gang)
{
    json_t *pod = json_deep_copy(template), *spec = json_object_get(pod, "spec");
    json_t *container = json_array_get(json_object_get(spec, "containers"), 0);
    AUTO_FREE char *service = kube_own_service_name(instance, &launch->id);
    AUTO_FREE char *master = is_gang ? mem_printf("r0.%s.%s.svc", service, namespace) : NULL;

    json_object_set_new(pod, "apiVersion", json_string("v1"));
    json_object_set_new(pod, "kind", json_string("Pod"));
    add_about(pod, instance, launch, gpus);
    if (resource)
        json_object_set_new(spec, "nodeName", json_string(launch->node));
    json_object_set_new(spec, "schedulerName", json_string(KUBE_SCHEDULER));
    json_object_set_new(spec, "restartPolicy", json_string("Never"));
    if (is_gang) {
        json_object_set_new(spec, "hostname", json_sprintf("r%" PRIu32, launch->id.rank));
        json_object_set_new(spec, "subdomain", json_string(service));
    }
    if (!kube_text(container, "name")[0])
        json_object_set_new(container, "name", json_string("main"));
    add_command(container, launch);
    add_environment(container, launch, master);
    if (is_share(launch))
        add_variable(json_object_get(container, "env"), "NVIDIA_VISIBLE_DEVICES", gpus);
    add_resources(container, launch, resource);
    if (!resource)
        add_claim(spec, container, kube_text(json_object_get(pod, "metadata"), "name"));
    add_user(spec, launch);
    return pod;
}

json_t *kube_own_service(const char *instance, const struct member_id *id)
{
    AUTO_FREE char *name = kube_own_service_name(instance, id);

    return json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:b, s:{s:s}}}", "apiVersion", "v1", "kind",
                     "Service", "metadata", "name", name, "spec", "clusterIP", "None",
                     "publishNotReadyAddresses", 1, "selector", KUBE_ATTEMPT, name);
}

json_t *kube_own_claims(const char *instance, const struct engine_launch *launch,
                        const char *device_class)
{
    AUTO_FREE char *name = kube_own_name(instance, &launch->id);
    json_t *request = json_pack("{s:s, s:{s:s, s:s, s:I}}", "name", CLAIM, "exactly",
                                "deviceClassName", device_class, "allocationMode", "ExactCount",
                                "count", (json_int_t)launch->slices_count);

    return json_pack("{s:s, s:s, s:{s:s}, s:{s:{s:{s:[o]}}}}", "apiVersion", "resource.k8s.io/v1",
                     "kind", "ResourceClaimTemplate", "metadata", "name", name, "spec", "spec",
                     "devices", "requests", request);
}
