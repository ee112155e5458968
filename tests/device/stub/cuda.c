/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 for tests of check-cuda (tests/hardware): memory is the program's own, and the two
 * kernels of its PTX are computed here. GPUs are those of the other stub's script, which
 * STUB_CUDA_SCRIPT names for this one ("uuid" and "memory"), as far as CUDA_VISIBLE_DEVICES names
 * them. What a process takes is added to the script, so that the other stub tells of it. An
 * allocation above the memory of the GPU, or above CUDA_MPS_PINNED_DEVICE_MEM_LIMIT, is refused.
 * PTX is not compiled: only a driver can say whether it is right. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GPUS = 64,
    MULTIPROCESSORS = 8,
    NO_MEMORY = 2,
    NO_DEVICE = 100,
    BAD_VALUE = 1,
    NO_NAME = 500
};

typedef unsigned long long address_t;

static struct {
    char uuid[96];
    unsigned long long memory_mib;
    int index; /* in the script */
} gpus[GPUS];
static int gpu_count, used_gpu = -1;
static unsigned long long taken_bytes;
static char text[16384];

static void read_script(const char *path)
{
    FILE *file = fopen(path, "re");
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char line[1024];

    while (file && gpu_count < GPUS && fgets(line, sizeof(line), file)) {
        const char *uuid = strstr(line, " uuid "), *memory = strstr(line, " memory ");
        if (!uuid || !memory || strncmp(line, "gpu ", 4) != 0)
            continue;
        sscanf(uuid, " uuid %95s", gpus[gpu_count].uuid);
        sscanf(memory, " memory %llu", &gpus[gpu_count].memory_mib);
        sscanf(line, "gpu %d", &gpus[gpu_count].index);
        gpu_count += !visible || strstr(visible, gpus[gpu_count].uuid) != NULL;
    }
    if (file)
        fclose(file);
}

/* One line, in one piece: others write there, too. */
static void say(const char *line)
{
    const char *path = getenv("STUB_CUDA_SCRIPT");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    if (write(fd, line, strlen(line)) < 0)
        perror(path);
    close(fd);
}

static void say_memory(void)
{
    char line[128];

    snprintf(line, sizeof(line), "gpu %d process %ld memory %llu\n", gpus[used_gpu].index,
             (long)getpid(), taken_bytes >> 20);
    say(line);
}

static void say_end(void)
{
    char line[128];

    snprintf(line, sizeof(line), "gpu %d no-process %ld\n", gpus[used_gpu].index, (long)getpid());
    say(line);
}

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    const char *path = getenv("STUB_CUDA_SCRIPT");

    if (flags != 0)
        return BAD_VALUE;
    if (path)
        read_script(path);
    return gpu_count > 0 ? 0 : NO_DEVICE;
}

int cuGetErrorString(int result, const char **ret);
int cuGetErrorString(int result, const char **ret)
{
    *ret = result == NO_MEMORY   ? "out of memory"
           : result == NO_DEVICE ? "no CUDA-capable device is detected"
           : result == NO_NAME   ? "named symbol not found"
                                 : "invalid argument";
    return 0;
}

int cuDriverGetVersion(int *ret);
int cuDriverGetVersion(int *ret)
{
    *ret = 12040;
    return 0;
}

int cuDeviceGetCount(int *ret);
int cuDeviceGetCount(int *ret)
{
    *ret = gpu_count;
    return 0;
}

int cuDeviceGet(int *ret, int number);
int cuDeviceGet(int *ret, int number)
{
    *ret = number;
    return number >= 0 && number < gpu_count ? 0 : BAD_VALUE;
}

int cuDeviceGetName(char *ret, int size, int device);
int cuDeviceGetName(char *ret, int size, int device)
{
    snprintf(ret, (size_t)size, "stub %d", device);
    return 0;
}

int cuDeviceGetUuid(unsigned char *ret, int device);
int cuDeviceGetUuid(unsigned char *ret, int device)
{
    const char *at = strncmp(gpus[device].uuid, "GPU-", 4) == 0 ? gpus[device].uuid + 4 : "";

    for (int i = 0; i < 16; i++) {
        unsigned byte = 0;
        at += *at == '-';
        if (sscanf(at, "%2x", &byte) != 1)
            return BAD_VALUE;
        ret[i] = (unsigned char)byte;
        at += 2;
    }
    return 0;
}

int cuDeviceGetAttribute(int *ret, int attribute, int device);
int cuDeviceGetAttribute(int *ret, int attribute, int device)
{
    const char *percent = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");

    *ret = attribute == 16 ? MULTIPROCESSORS * (percent ? atoi(percent) : 100) / 100 : 0;
    return (attribute == 16 || attribute == 18) && device < gpu_count ? 0 : BAD_VALUE;
}

int cuDevicePrimaryCtxRetain(void **ret, int device);
int cuDevicePrimaryCtxRetain(void **ret, int device)
{
    if (used_gpu < 0 && atexit(say_end) != 0)
        return BAD_VALUE;
    used_gpu = device;
    *ret = &gpus[device];
    return 0;
}

int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context)
{
    return context ? 0 : BAD_VALUE;
}

int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
    return 0;
}

int cuModuleLoadData(void **ret, const void *ptx);
int cuModuleLoadData(void **ret, const void *ptx)
{
    snprintf(text, sizeof(text), "%s", (const char *)ptx);
    *ret = text;
    return strncmp(text, ".version ", 9) == 0 ? 0 : BAD_VALUE;
}

int cuModuleGetFunction(void **ret, void *module, const char *name);
int cuModuleGetFunction(void **ret, void *module, const char *name)
{
    char entry[128];

    snprintf(entry, sizeof(entry), ".entry %.100s(", name);
    *ret = strstr(module, entry);
    return *ret ? 0 : NO_NAME;
}

static unsigned long long limit_mib(void)
{
    const char *limit = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    unsigned long long mib = gpus[0].memory_mib;

    if (limit)
        sscanf(limit, "0=%lluM", &mib);
    return mib < gpus[0].memory_mib ? mib : gpus[0].memory_mib;
}

int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total);
int cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
    *ret_total = (size_t)gpus[0].memory_mib << 20;
    *ret_free = ((size_t)limit_mib() << 20) - (size_t)taken_bytes;
    return 0;
}

/* The size stands before it. Pages that nobody writes to cost nothing. */
int cuMemAlloc_v2(address_t *ret, size_t size);
int cuMemAlloc_v2(address_t *ret, size_t size)
{
    if (taken_bytes + size > limit_mib() << 20)
        return NO_MEMORY;
    size_t *memory = malloc(size + 64);
    if (!memory)
        return NO_MEMORY;
    memory[0] = size;
    taken_bytes += size;
    if (size >= 64 << 20)
        say_memory();
    *ret = (address_t)(uintptr_t)(memory + 8);
    return 0;
}

int cuMemFree_v2(address_t address);
int cuMemFree_v2(address_t address)
{
    size_t *memory = (size_t *)(uintptr_t)address - 8;

    taken_bytes -= memory[0];
    free(memory);
    return 0;
}

int cuMemcpyHtoD_v2(address_t to, const void *from, size_t size);
int cuMemcpyHtoD_v2(address_t to, const void *from, size_t size)
{
    memcpy((void *)(uintptr_t)to, from, size);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, address_t from, size_t size);
int cuMemcpyDtoH_v2(void *to, address_t from, size_t size)
{
    memcpy(to, (const void *)(uintptr_t)from, size);
    return 0;
}

/* Every parameter is what its pointer points to. */
int cuLaunchKernel(const char *function, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                   unsigned thread_y, unsigned thread_z, unsigned shared, void *stream,
                   void **parameters, void **extra);
int cuLaunchKernel(const char *function, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                   unsigned thread_y, unsigned thread_z, unsigned shared, void *stream,
                   void **parameters, void **extra)
{
    unsigned count = blocks * threads;

    if (y * z * thread_y * thread_z != 1 || shared != 0 || stream || extra)
        return BAD_VALUE;
    if (strncmp(function, ".entry add(", 11) == 0) {
        const float *a = *(float **)parameters[0], *b = *(float **)parameters[1];
        float *c = *(float **)parameters[2];
        unsigned most = *(unsigned *)parameters[3];
        for (unsigned i = 0; i < count && i < most; i++)
            c[i] = a[i] + b[i];
        return 0;
    }
    uint32_t *out = *(uint32_t **)parameters[0];
    unsigned rounds = *(unsigned *)parameters[1];
    for (unsigned i = 0; i < count; i++) {
        if (i % 997 != 0) /* what is not checked is not computed: this is no GPU */
            continue;
        out[i] = i;
        for (unsigned k = 0; k < rounds; k++)
            out[i] = out[i] * 1664525U + 1013904223U;
    }
    usleep(1000);
    return 0;
}
