/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/exporter/exporter_answer.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { INDEX_MAX = 1024 };

/* Sums over a job stay within 64 bits. */
#define VALUE_MAX (INT64_C(1) << 50)

static void read_values(const json_t *values, struct reading *ret)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)values, name, value)
    {
        enum reading_id id = reading_find(name);
        if (id == READINGS || !json_is_number(value))
            continue;
        int64_t read = reading_from_base(id, json_number_value(value));
        if (read < VALUE_MAX && read > -VALUE_MAX)
            reading_set(ret, id, read);
    }
    reading_drop_impossible(ret);
}

static bool is_lost(const json_t *faults)
{
    size_t i;
    json_t *fault;

    json_array_foreach(faults, i, fault)
    {
        const char *name = json_string_value(json_object_get(fault, "name"));
        if (name && strcmp(name, fault_name(FAULT_LOST)) == 0)
            return true;
    }
    return false;
}

static void read_xids(const json_t *xids, struct exporter_device *ret)
{
    size_t i;
    json_t *xid;

    json_array_foreach(xids, i, xid)
    {
        json_int_t number = json_integer_value(json_object_get(xid, "xid"));
        json_int_t count = json_integer_value(json_object_get(xid, "count"));
        if (number > 0 && number <= UINT32_MAX && count > 0 && ret->xid_count < WATCH_XIDS_MAX)
            ret->xids[ret->xid_count++] = (struct watch_xid){ (uint32_t)number, (uint64_t)count };
    }
}

static bool read_device(const json_t *from, struct exporter_device *ret)
{
    const json_t *index = json_object_get(from, "index"), *age = json_object_get(from, "age");
    const json_t *reading = json_object_get(from, "reading");
    const char *trouble = json_string_value(json_object_get(from, "trouble"));
    const char *uuid = json_string_value(json_object_get(from, "uuid"));
    const char *pod = json_string_value(json_object_get(from, "pod"));
    int64_t mib = json_integer_value(json_object_get(from, "memory"));

    *ret = (struct exporter_device){ 0 };
    if (!json_is_integer(index) || json_integer_value(index) < 0 ||
        json_integer_value(index) >= INDEX_MAX)
        return false;
    ret->index = (uint32_t)json_integer_value(index);
    if (uuid)
        string_clean(ret->uuid, sizeof(ret->uuid), uuid, strlen(uuid));
    if (pod)
        string_clean(ret->pod, sizeof(ret->pod), pod, strlen(pod));
    ret->memory_mib = mib > 0 && mib < VALUE_MAX ? mib : PROBE_UNKNOWN;
    ret->is_read = json_is_object(reading) && json_is_number(age) && json_number_value(age) >= 0 &&
                   json_number_value(age) < 1e9;
    if (ret->is_read) {
        ret->reading.at = (usec_t)(json_number_value(age) * USEC_PER_SEC);
        read_values(reading, &ret->reading);
    }
    if (trouble) {
        string_clean(ret->trouble, sizeof(ret->trouble), trouble, strlen(trouble));
        ret->code = is_lost(json_object_get(from, "faults")) ? -ENODEV : -EIO;
    }
    read_xids(json_object_get(from, "xids"), ret);
    return true;
}

int exporter_answer_read(const char *bytes, size_t length, struct exporter_answer *ret,
                         struct error *err)
{
    json_error_t detail;
    json_t *answer = json_loadb(bytes, length, 0, &detail), *from;
    const json_t *gpus = json_object_get(answer, "gpus");
    struct exporter_device device;
    bool is_known[INDEX_MAX] = { false };
    int code = 0;
    size_t i;

    *ret = (struct exporter_answer){ 0 };
    if (!answer)
        code = error_set(err, -EINVAL, "not JSON: %s", detail.text);
    else if (!json_is_array(gpus))
        code = error_set(err, -EINVAL, "there is no list 'gpus'");
    json_array_foreach(gpus, i, from)
    {
        if (!read_device(from, &device) || is_known[device.index])
            continue;
        is_known[device.index] = true;
        list_add(&ret->devices, device);
    }
    json_decref(answer);
    return code;
}

void exporter_answer_release(struct exporter_answer *answer)
{
    list_release(&answer->devices);
}
