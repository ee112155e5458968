/* SPDX-License-Identifier: Apache-2.0 */
#include "node/fence.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "base/text.h"

enum { FILES_MAX = 4 };

/* One device's own files. */
struct fenced {
    char uuid[PROBE_UUID_SIZE];
    struct engine_device files[FILES_MAX];
    uint32_t count;
};

struct fence {
    char *root;
    struct fenced *devices;
    uint32_t count;
};

static void add_file(struct fenced *fenced, const char *path)
{
    struct stat status;

    if (fenced->count == FILES_MAX || stat(path, &status) < 0 || !S_ISCHR(status.st_mode))
        return;
    fenced->files[fenced->count++] =
        (struct engine_device){ major(status.st_rdev), minor(status.st_rdev) };
}

/* card0 and renderD128, by the folder that the kernel has for the PCI device. */
static void add_drm(struct fenced *fenced, const char *root, const char *address)
{
    AUTO_FREE char *folder = mem_printf("%s/sys/bus/pci/devices/%s/drm", root, address);
    struct dirent *entry;
    DIR *stream = opendir(folder);

    if (!stream)
        return;
    while ((entry = readdir(stream)) != NULL) {
        if (!string_starts(entry->d_name, "card") && !string_starts(entry->d_name, "renderD"))
            continue;
        AUTO_FREE char *path = mem_printf("%s/dev/dri/%s", root, entry->d_name);
        add_file(fenced, path);
    }
    closedir(stream);
}

static void find_files(struct fenced *fenced, const struct probe_device *device, const char *root)
{
    snprintf(fenced->uuid, sizeof(fenced->uuid), "%s", device->uuid);
    if (device->is_synthetic) /* a recorded one has the address of something else here */
        return;
    if (strcmp(device->vendor, "nvidia") == 0 && device->minor >= 0) {
        AUTO_FREE char *path = mem_printf("%s/dev/nvidia%d", root, (int)device->minor);
        add_file(fenced, path);
    } else if (device->address[0])
        add_drm(fenced, root, device->address);
}

struct fence *fence_create(const struct probe_device *devices, uint32_t count)
{
    struct fence *fence = mem_zero(1, sizeof(*fence));
    const char *root = secure_getenv("TARN_DEVICE_ROOT");

    fence->devices = mem_zero(count + 1, sizeof(fence->devices[0]));
    fence->count = count;
    fence->root = mem_string(root ? root : "");
    for (uint32_t i = 0; i < count; i++)
        find_files(&fence->devices[i], &devices[i], fence->root);
    return fence;
}

void fence_destroy(struct fence *fence)
{
    if (!fence)
        return;
    free(fence->devices);
    free(fence->root);
    free(fence);
}

static bool holds(const struct state *state, const struct job *job, uint32_t place,
                  const char *uuid)
{
    const struct lease *lease = job->run->lease;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].rank == place &&
            strcmp(state->devices.items[lease->slices[i].device].uuid, uuid) == 0)
            return true;
    }
    return false;
}

/* Described devices come and go with the configuration, so their files are looked up each time. */
static void find_described(struct fenced *fenced, const struct device_type *type, uint32_t number,
                           const char *root)
{
    AUTO_FREE char *lines = mem_string(type->files), *index = mem_printf("%" PRIu32, number);
    char *rest = lines;

    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        AUTO_RELEASE(text) struct text path = { 0 };
        text_add(&path, root);
        if (line[0] && device_type_expand(line, &(struct device_words){ .index = index }, &path))
            add_file(fenced, text_string(&path));
    }
}

/* One that the job does not hold and that has no files is nothing to keep it from. */
static void deny_described(const struct fence *fence, const struct state *state,
                           const struct job *job, uint32_t rank, struct engine_device *denied,
                           uint32_t *count, bool *is_whole)
{
    for (size_t i = 0; i < state->devices.count; i++) {
        const char *uuid = state->devices.items[i].uuid;
        struct fenced fenced = { 0 };
        uint32_t number;
        const struct device_type *type = state_device_type(state, uuid, &number);
        if (!type)
            continue;
        find_described(&fenced, type, number, fence->root);
        if (holds(state, job, rank, uuid)) {
            *is_whole &= fenced.count > 0;
            continue;
        }
        *is_whole &= fenced.count > 0 || type->files[0] == '\0';
        memcpy(denied + *count, fenced.files, fenced.count * sizeof(fenced.files[0]));
        *count += fenced.count;
    }
}

void fence_denied(const struct fence *fence, const struct state *state, const struct job *job,
                  uint32_t place, struct engine_device **ret, uint32_t *ret_count,
                  bool *ret_is_whole)
{
    size_t most = fence->count + (size_t)DEVICE_TYPES_MAX * DEVICE_TYPE_COUNT_MAX;

    *ret = mem_zero(most * FILES_MAX, sizeof((*ret)[0]));
    *ret_count = 0;
    *ret_is_whole = job->run->lease->slices_count > 0;
    for (uint32_t i = 0; i < fence->count; i++) {
        const struct fenced *fenced = &fence->devices[i];
        *ret_is_whole &= fenced->count > 0;
        if (holds(state, job, place, fenced->uuid))
            continue;
        memcpy(*ret + *ret_count, fenced->files, fenced->count * sizeof(fenced->files[0]));
        *ret_count += fenced->count;
    }
    deny_described(fence, state, job, place, *ret, ret_count, ret_is_whole);
}
