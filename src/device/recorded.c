/* SPDX-License-Identifier: Apache-2.0 */
#include "device/recorded.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/near.h"
#include "io/file.h"

enum { FILE_BYTES_MAX = 16 << 20 };

struct recorded_device {
    struct probe_device device;
    struct reading reading;
    int64_t index; /* the number that it had */
};

struct recorded {
    struct probe probe;
    struct recorded_device *items;
    uint32_t count;
    struct probe_link *links; /* count * count */
};

static struct recorded *recorded_of(struct probe *probe)
{
    return CONTAINER_OF(probe, struct recorded, probe);
}

/* ---- the port ---- */

static int recorded_devices(struct probe *probe, struct probe_device **ret_devices,
                            uint32_t *ret_count, struct error *err)
{
    const struct recorded *recorded = recorded_of(probe);
    struct probe_device *devices = mem_zero((size_t)recorded->count + 1, sizeof(devices[0]));

    (void)err;
    for (uint32_t i = 0; i < recorded->count; i++)
        devices[i] = recorded->items[i].device;
    *ret_devices = devices;
    *ret_count = recorded->count;
    return 0;
}

static int recorded_sample(struct probe *probe, uint32_t device, struct reading *ret,
                           struct error *err)
{
    const struct recorded *recorded = recorded_of(probe);
    usec_t at = ret->at;

    if (device >= recorded->count)
        return error_set(err, -ENODEV, "device %" PRIu32 ": no such device", device);
    *ret = recorded->items[device].reading;
    ret->at = at;
    return 0;
}

static struct probe_link recorded_link(struct probe *probe, uint32_t a, uint32_t b)
{
    const struct recorded *recorded = recorded_of(probe);

    if (a >= recorded->count || b >= recorded->count)
        return (struct probe_link){ .near = PROBE_NEAR_UNKNOWN };
    return recorded->links[(size_t)a * recorded->count + b];
}

static void recorded_destroy(struct probe *probe)
{
    if (!probe)
        return;

    struct recorded *recorded = recorded_of(probe);
    free(recorded->items);
    free(recorded->links);
    free(recorded);
}

static const struct probe_ops recorded_ops = {
    .name = "recorded",
    .devices = recorded_devices,
    .sample = recorded_sample,
    .link = recorded_link,
    .destroy = recorded_destroy,
};

/* ---- one device of the file ---- */

static int take_text(const json_t *gpu, const char *key, char *ret, size_t size, struct error *err)
{
    const json_t *value = json_object_get(gpu, key);

    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value) || json_string_length(value) >= size)
        return error_set(err, -EINVAL, "%s: expected a text of less than %zu bytes", key, size);
    memcpy(ret, json_string_value(value), json_string_length(value) + 1);
    return 0;
}

static int take_number(const json_t *gpu, const char *key, int64_t most, int64_t *ret,
                       struct error *err)
{
    const json_t *value = json_object_get(gpu, key);

    if (!value || json_is_null(value))
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > most)
        return error_set(err, -EINVAL, "%s: expected a whole number from 0 to %" PRId64, key, most);
    *ret = json_integer_value(value);
    return 0;
}

/* In base units there; what a newer program knows besides is left out. */
static int take_reading(const json_t *gpu, struct reading *ret, struct error *err)
{
    json_t *all = json_object_get(gpu, "reading"), *value;
    const char *name;

    if (!all || json_is_null(all))
        return 0;
    if (!json_is_object(all))
        return error_set(err, -EINVAL, "reading: expected an object");
    json_object_foreach(all, name, value)
    {
        enum reading_id id = reading_find(name);
        if (id == READINGS)
            continue;
        double number = json_number_value(value) / reading_in_base(id, 1);
        if (!json_is_number(value) || !(fabs(number) < 0x1p62))
            return error_set(err, -EINVAL, "reading: %s: expected a number", name);
        reading_set(ret, id, llround(number));
    }
    return 0;
}

static int take_names(const json_t *gpu, struct probe_device *ret, struct error *err)
{
    char product[PROBE_MODEL_SIZE] = "";
    int code = take_text(gpu, "uuid", ret->uuid, sizeof(ret->uuid), err);

    if (code == 0)
        code = take_text(gpu, "model", ret->model, sizeof(ret->model), err);
    if (code == 0)
        code = take_text(gpu, "product", product, sizeof(product), err);
    if (code == 0)
        code = take_text(gpu, "address", ret->address, sizeof(ret->address), err);
    if (code == 0)
        code = take_text(gpu, "vendor", ret->vendor, sizeof(ret->vendor), err);
    if (code == 0)
        code = take_text(gpu, "sick", ret->sick, sizeof(ret->sick), err);
    if (code < 0)
        return code;
    if (!string_is_name(ret->model, 31))
        return error_set(err, -EINVAL, "model: expected a name");
    if (!ret->uuid[0])
        return error_set(err, -EINVAL, "uuid: expected one");
    bool is_said = string_starts(product, RECORDED_PREFIX); /* a recording of a recording */
    snprintf(ret->product, sizeof(ret->product), "%s%.*s", is_said ? "" : RECORDED_PREFIX,
             (int)(sizeof(ret->product) - sizeof(RECORDED_PREFIX)), product);
    return 0;
}

static int take_device(const json_t *gpu, struct recorded_device *ret, struct error *err)
{
    struct probe_device *device = &ret->device;
    int64_t memory = PROBE_UNKNOWN, numa = PROBE_UNKNOWN;

    *ret = (struct recorded_device){
        .device = { .minor = PROBE_UNKNOWN, .is_synthetic = true, .is_recorded = true }
    };
    if (!json_is_object(gpu))
        return error_set(err, -EINVAL, "expected an object");
    int code = take_names(gpu, device, err);
    if (code == 0)
        code = take_number(gpu, "index", INT32_MAX, &ret->index, err);
    if (code == 0)
        code = take_number(gpu, "memory", INT64_C(1) << 40, &memory, err);
    if (code == 0)
        code = take_number(gpu, "numa", INT16_MAX, &numa, err);
    if (code == 0)
        code = take_reading(gpu, &ret->reading, err);
    device->memory_mib = memory;
    device->numa_node = (int32_t)numa;
    device->mig_enabled = json_is_true(json_object_get(gpu, "mig"));
    return code;
}

/* ---- all of them ---- */

static int64_t find_device(const struct recorded *recorded, const char *uuid)
{
    for (uint32_t i = 0; i < recorded->count && uuid; i++) {
        if (strcmp(recorded->items[i].device.uuid, uuid) == 0)
            return i;
    }
    return -1;
}

static int compare_devices(const void *a, const void *b)
{
    const struct recorded_device *first = a, *second = b;

    return (first->index > second->index) - (first->index < second->index);
}

static int take_devices(struct recorded *recorded, const json_t *gpus, struct error *err)
{
    size_t count = json_array_size(gpus);

    if (!json_is_array(gpus) || count > RECORDED_DEVICES_MAX)
        return error_set(err, -EINVAL, "gpus: expected a list of at most %d", RECORDED_DEVICES_MAX);
    recorded->items = mem_zero(count + 1, sizeof(recorded->items[0]));
    for (size_t i = 0; i < count; i++) {
        struct recorded_device found;
        int code = take_device(json_array_get(gpus, i), &found, err);
        if (code == 0 && find_device(recorded, found.device.uuid) >= 0)
            code = error_set(err, -EINVAL, "uuid: %.60s appears twice", found.device.uuid);
        if (code < 0)
            return error_prefix(err, code, "gpus: %zu", i);
        recorded->items[recorded->count++] = found;
    }
    qsort(recorded->items, recorded->count, sizeof(recorded->items[0]), compare_devices);
    return 0;
}

static int64_t uuid_at(const struct recorded *recorded, const json_t *topology, size_t i)
{
    const json_t *row = json_array_get(topology, i);

    return find_device(recorded, json_string_value(json_object_get(row, "uuid")));
}

static int take_row(struct recorded *recorded, const json_t *topology, size_t place,
                    struct error *err)
{
    const json_t *row = json_array_get(topology, place), *links = json_object_get(row, "links");
    int64_t own = uuid_at(recorded, topology, place), island = 0, bridge = 0;

    if (own < 0)
        return 0; /* listed no more when it was recorded */
    int code = take_number(row, "island", INT32_MAX, &island, err);
    if (code == 0)
        code = take_number(row, "bridge", INT32_MAX, &bridge, err);
    if (code == 0 && !json_is_array(links))
        code = error_set(err, -EINVAL, "links: expected a list");
    if (code < 0)
        return code;
    recorded->items[own].device.island = (uint32_t)island;
    recorded->items[own].device.bridge = (uint32_t)bridge;
    for (size_t i = 0; i < json_array_size(links); i++) {
        const char *word = json_string_value(json_array_get(links, i));
        int64_t other = uuid_at(recorded, topology, i);
        if (other >= 0 && word)
            recorded->links[own * recorded->count + other] = near_parse(word);
    }
    return 0;
}

static int take_topology(struct recorded *recorded, const json_t *topology, struct error *err)
{
    size_t links = (size_t)recorded->count * recorded->count;

    recorded->links = mem_zero(links + 1, sizeof(recorded->links[0]));
    for (size_t i = 0; i < links; i++)
        recorded->links[i].near =
            i % (recorded->count + 1) == 0 ? PROBE_NEAR_SELF : PROBE_NEAR_UNKNOWN;
    if (!topology || json_is_null(topology))
        return 0;
    if (!json_is_array(topology) || json_array_size(topology) > RECORDED_DEVICES_MAX)
        return error_set(err, -EINVAL, "topology: expected a list of at most %d",
                         RECORDED_DEVICES_MAX);
    for (size_t i = 0; i < json_array_size(topology); i++) {
        int code = take_row(recorded, topology, i, err);
        if (code < 0)
            return error_prefix(err, code, "topology: %zu", i);
    }
    return 0;
}

static int take_document(struct recorded *recorded, const json_t *document, struct error *err)
{
    const json_t *version = json_object_get(document, "tarn_recording");

    if (!json_is_integer(version))
        return error_set(err, -EINVAL,
                         "no recording; expected what `tarn gpus --record FILE` saves");
    if (json_integer_value(version) != RECORDED_VERSION)
        return error_set(err, -EINVAL,
                         "a recording of version %" PRId64 "; this tarn reads version %d",
                         (int64_t)json_integer_value(version), RECORDED_VERSION);
    int code = take_devices(recorded, json_object_get(document, "gpus"), err);
    if (code == 0)
        code = take_topology(recorded, json_object_get(document, "topology"), err);
    return code;
}

static int parse(const char *path, json_t **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    json_error_t wrong;

    int code = file_read(path, FILE_BYTES_MAX, &text, err);
    if (code < 0)
        return code;
    *ret = json_loadb(text_string(&text), text.length, JSON_REJECT_DUPLICATES, &wrong);
    if (!*ret)
        return error_set(err, -EINVAL, "%s: line %d, column %d: %.80s", path, wrong.line,
                         wrong.column, wrong.text);
    return 0;
}

int probe_recorded_create(const char *words, struct probe **ret, struct error *err)
{
    static const char prefix[] = "recorded:";
    const char *path = string_starts(words, prefix) ? words + strlen(prefix) : words;
    json_t *document = NULL;

    int code = parse(path, &document, err);
    if (code < 0)
        return error_prefix(err, code, "recorded devices");
    struct recorded *recorded = mem_zero(1, sizeof(*recorded));
    recorded->probe.ops = &recorded_ops;
    code = take_document(recorded, document, err);
    json_decref(document);
    if (code < 0) {
        recorded_destroy(&recorded->probe);
        error_prefix(err, code, "%s", path);
        return error_prefix(err, code, "recorded devices");
    }
    *ret = &recorded->probe;
    return 0;
}
