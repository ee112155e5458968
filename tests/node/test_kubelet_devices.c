/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "node/kubelet_devices.h"

/* As the kubelet of Kubernetes 1.34 writes it. */
#define CHECKPOINT(entries)                                                                        \
    "{\"Data\":{\"PodDeviceEntries\":[" entries                                                    \
    "],\"RegisteredDevices\":{\"nvidia.com/gpu\":[\"GPU-a\",\"GPU-b\"]}},\"Checksum\":2351912}"
#define ENTRY(pod, ids)                                                                            \
    "{\"PodUID\":\"" pod "\",\"ContainerName\":\"main\",\"ResourceName\":\"nvidia.com/gpu\","      \
    "\"DeviceIDs\":{" ids "},\"AllocResp\":\"CkIKFk5WSURJQQ==\"}"

static char path[64];

static void put(const char *text)
{
    char fresh[80];

    snprintf(fresh, sizeof(fresh), "%s.new", path);
    FILE *file = fopen(fresh, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/kubelet-devices.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static const char *pod_of(const struct kubelet_devices *devices, const char *uuid, uint32_t index)
{
    static char pod[WATCH_POD_SIZE];

    return kubelet_devices_pod(devices, uuid, index, pod) ? pod : "none";
}

static void the_pods_of_devices(void **state)
{
    (void)state;
    put(CHECKPOINT(ENTRY("uid-1", "\"-1\":[\"GPU-b\"]") "," ENTRY(
        "uid-2", "\"0\":[\"GPU-c\"],\"1\":[\"GPU-d\",\"GPU-e\"]")));
    struct kubelet_devices *devices = kubelet_devices_create(path);

    assert_string_equal(pod_of(devices, "GPU-a", 0), "none");
    assert_string_equal(pod_of(devices, "GPU-b", 1), "uid-1");
    assert_string_equal(pod_of(devices, "GPU-c", 2), "uid-2");
    assert_string_equal(pod_of(devices, "GPU-e", 4), "uid-2");
    put(CHECKPOINT(ENTRY("uid-3", "\"-1\":[\"GPU-a\"]")));
    kubelet_devices_look(devices);
    assert_string_equal(pod_of(devices, "GPU-a", 0), "uid-3");
    assert_string_equal(pod_of(devices, "GPU-b", 1), "none");
    kubelet_devices_destroy(devices);
}

/* Of a plugin for network devices, which numbers them. */
static void devices_of_other_plugins(void **state)
{
    (void)state;
    put(CHECKPOINT("{\"PodUID\":\"uid-1\",\"ResourceName\":\"rdma/"
                   "hca\",\"DeviceIDs\":{\"-1\":[\"1\"]}}," ENTRY("uid-1", "\"-1\":[\"GPU-c\"]")));
    struct kubelet_devices *devices = kubelet_devices_create(path);

    assert_string_equal(pod_of(devices, "GPU-b", 1), "none");
    assert_string_equal(pod_of(devices, "GPU-c", 2), "uid-1");
    kubelet_devices_destroy(devices);
}

static void indices_and_replicas(void **state)
{
    (void)state;
    put(CHECKPOINT(ENTRY("uid-1", "\"-1\":[\"3\"]") "," ENTRY("uid-2", "\"-1\":[\"GPU-a::2\"]")));
    struct kubelet_devices *devices = kubelet_devices_create(path);

    assert_string_equal(pod_of(devices, "GPU-x", 3), "uid-1");
    assert_string_equal(pod_of(devices, "GPU-x", 30), "none");
    assert_string_equal(pod_of(devices, "GPU-a", 0), "uid-2");
    kubelet_devices_destroy(devices);
}

/* A file that is wrong or gone changes nothing. */
static void what_cannot_be_read(void **state)
{
    static const char *const wrong[] = { "", "[", "[]", "{\"Data\":7}", "{\"Data\":{", "\xff" };

    (void)state;
    put(CHECKPOINT(ENTRY("uid-1", "\"-1\":[\"GPU-a\"]")));
    struct kubelet_devices *devices = kubelet_devices_create(path);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        put(wrong[i]);
        kubelet_devices_look(devices);
        assert_string_equal(pod_of(devices, "GPU-a", 0), "uid-1");
    }
    assert_int_equal(unlink(path), 0);
    kubelet_devices_look(devices);
    assert_string_equal(pod_of(devices, "GPU-a", 0), "uid-1");
    /* entries of another form are left out */
    put(CHECKPOINT(
        "7,{},{\"PodUID\":1},{\"PodUID\":\"u\"},{\"PodUID\":\"u\",\"ResourceName\":\"nvidia.com/"
        "gpu\",\"DeviceIDs\":[\"GPU-a\"]},"
        "{\"PodUID\":\"u\",\"ResourceName\":\"nvidia.com/"
        "gpu\",\"DeviceIDs\":{\"0\":\"GPU-a\"}},{\"PodUID\":\"u\",\"ResourceName\":\"nvidia.com/"
        "gpu\",\"DeviceIDs\":{\"0\":"
        "[7,null]}},"
        "{\"PodUID\":\"\",\"ResourceName\":\"nvidia.com/gpu\",\"DeviceIDs\":{\"0\":[\"GPU-a\"]}}"));
    kubelet_devices_look(devices);
    assert_string_equal(pod_of(devices, "GPU-a", 0), "none");
    kubelet_devices_destroy(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_pods_of_devices, make_path, remove_path),
        cmocka_unit_test_setup_teardown(devices_of_other_plugins, make_path, remove_path),
        cmocka_unit_test_setup_teardown(indices_and_replicas, make_path, remove_path),
        cmocka_unit_test_setup_teardown(what_cannot_be_read, make_path, remove_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
