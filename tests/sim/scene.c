/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/run/adapt.h"

static char path[64];

void scene_clean(void)
{
    if (path[0])
        unlink(path);
    path[0] = '\0';
}

const char *scene_file(const char *content, size_t length)
{
    scene_clean();
    snprintf(path, sizeof(path), "/tmp/tarn-sim-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, content, length) != (ssize_t)length)
        abort();
    close(fd);
    return path;
}

int scene_read(const char *name, const char *content, bool skip_bad, struct workload *workload,
               struct error *err)
{
    const struct format *format = format_find(name);
    struct format_ask ask = { .path = scene_file(content, strlen(content)), .skip_bad = skip_bad };

    if (!format)
        abort();
    int code = format_read(format, &ask, workload, err);
    if (err && strncmp(err->text, path, strlen(path)) == 0) /* the name is another each time */
        memmove(err->text, err->text + strlen(path), strlen(err->text + strlen(path)) + 1);
    scene_clean();
    return code;
}

static int go(const struct experiment *experiment, const struct workload *workload, json_t **ret,
              struct error *err)
{
    static const struct sim_ports ports = { 0 };
    AUTO(run) struct run *run = run_create(experiment, workload, &ports, experiment->seeds[0]);

    int code = run_go(run, err);
    if (code == 0)
        *ret = result_of(run, false);
    return code;
}

int scene_try(const char *yaml, int64_t slice, json_t **ret, struct error *err)
{
    struct experiment_list list = { 0 };
    struct workload from = { 0 }, workload = { 0 };

    int code = experiment_parse(yaml, strlen(yaml), "t.yaml", "", NULL, &list, err);
    if (code < 0)
        return code;
    const struct experiment *experiment = list.items.items[0];
    struct format_ask ask = { .path = experiment->path, .generator = &experiment->generator };
    code = format_read(experiment->format, &ask, &from, err);
    if (code == 0)
        code = adapt_workload(experiment, &from, experiment->seeds[0], slice, &workload, err);
    if (code == 0)
        code = go(experiment, &workload, ret, err);
    experiment_list_release(&list);
    workload_release(&workload);
    workload_release(&from);
    return code;
}

json_t *scene_run(const char *yaml, int64_t slice)
{
    struct error err = { "" };
    json_t *result;

    if (scene_try(yaml, slice, &result, &err) == 0)
        return result;
    fprintf(stderr, "scene: %s\n", err.text);
    abort();
}

double scene_number(const json_t *result, const char *where)
{
    for (const char *at = where; *at;) {
        size_t length = strcspn(at, ".");
        AUTO_FREE char *key = mem_string_of(at, length);
        result = json_object_get(result, key);
        at += length + (at[length] == '.');
    }
    return json_is_number(result) ? json_number_value(result) : NAN;
}
