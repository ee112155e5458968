/* SPDX-License-Identifier: Apache-2.0 */
/* check-cuda: programs for a GPU, through the driver API alone. The kernels are PTX in this file,
 * which the driver compiles, so that a machine needs no CUDA toolkit. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hardware/answer.h"

/* ---- the driver API, in our own words ---- */

typedef struct cuda_context *cuda_context_t;
typedef struct cuda_module *cuda_module_t;
typedef struct cuda_function *cuda_function_t;
typedef unsigned long long cuda_address_t;

struct cuda_uuid {
    unsigned char bytes[16];
};

enum {
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_MULTIPROCESSORS = 16,
    CUDA_INTEGRATED = 18 /* attributes */
};

/* CALL(member, parameters, name)   results are int, 0 is success */
#define CUDA_CALLS(CALL)                                                                           \
    CALL(init, (unsigned), "cuInit")                                                               \
    CALL(words, (int, const char **), "cuGetErrorString")                                          \
    CALL(version, (int *), "cuDriverGetVersion")                                                   \
    CALL(count, (int *), "cuDeviceGetCount")                                                       \
    CALL(device, (int *, int), "cuDeviceGet")                                                      \
    CALL(name, (char *, int, int), "cuDeviceGetName")                                              \
    CALL(uuid, (struct cuda_uuid *, int), "cuDeviceGetUuid")                                       \
    CALL(attribute, (int *, int, int), "cuDeviceGetAttribute")                                     \
    CALL(retain, (cuda_context_t *, int), "cuDevicePrimaryCtxRetain")                              \
    CALL(use, (cuda_context_t), "cuCtxSetCurrent")                                                 \
    CALL(synchronize, (void), "cuCtxSynchronize")                                                  \
    CALL(module, (cuda_module_t *, const void *), "cuModuleLoadData")                              \
    CALL(function, (cuda_function_t *, cuda_module_t, const char *), "cuModuleGetFunction")        \
    CALL(memory, (size_t *, size_t *), "cuMemGetInfo_v2")                                          \
    CALL(allocate, (cuda_address_t *, size_t), "cuMemAlloc_v2")                                    \
    CALL(free, (cuda_address_t), "cuMemFree_v2")                                                   \
    CALL(to_device, (cuda_address_t, const void *, size_t), "cuMemcpyHtoD_v2")                     \
    CALL(to_host, (void *, cuda_address_t, size_t), "cuMemcpyDtoH_v2")                             \
    CALL(launch,                                                                                   \
         (cuda_function_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
          void *, void **, void **),                                                               \
         "cuLaunchKernel")

#define CUDA_AS_MEMBER(member, parameters, name) int(*member) parameters;
static struct {
    CUDA_CALLS(CUDA_AS_MEMBER)
} cuda;
#undef CUDA_AS_MEMBER

/* add: c[i] = a[i] + b[i] for i < n. spin: rounds steps of a linear congruential generator that
 * begins with the thread's number; the last value of each thread is stored. */
static const char kernels[] = ".version 6.0\n"
                              ".target sm_50\n"
                              ".address_size 64\n"
                              ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c,"
                              " .param .u32 n)\n"
                              "{\n"
                              "  .reg .pred %p;\n"
                              "  .reg .b32 %i, %n, %block, %size, %thread;\n"
                              "  .reg .b64 %a, %b, %c, %at;\n"
                              "  .reg .f32 %x, %y;\n"
                              "  ld.param.u64 %a, [a];\n"
                              "  ld.param.u64 %b, [b];\n"
                              "  ld.param.u64 %c, [c];\n"
                              "  ld.param.u32 %n, [n];\n"
                              "  mov.u32 %block, %ctaid.x;\n"
                              "  mov.u32 %size, %ntid.x;\n"
                              "  mov.u32 %thread, %tid.x;\n"
                              "  mad.lo.u32 %i, %block, %size, %thread;\n"
                              "  setp.ge.u32 %p, %i, %n;\n"
                              "  @%p bra DONE;\n"
                              "  cvta.to.global.u64 %a, %a;\n"
                              "  cvta.to.global.u64 %b, %b;\n"
                              "  cvta.to.global.u64 %c, %c;\n"
                              "  mul.wide.u32 %at, %i, 4;\n"
                              "  add.u64 %a, %a, %at;\n"
                              "  add.u64 %b, %b, %at;\n"
                              "  add.u64 %c, %c, %at;\n"
                              "  ld.global.f32 %x, [%a];\n"
                              "  ld.global.f32 %y, [%b];\n"
                              "  add.f32 %x, %x, %y;\n"
                              "  st.global.f32 [%c], %x;\n"
                              "DONE:\n"
                              "  ret;\n"
                              "}\n"
                              ".visible .entry spin(.param .u64 out, .param .u32 rounds)\n"
                              "{\n"
                              "  .reg .pred %p;\n"
                              "  .reg .b32 %i, %x, %left, %block, %size, %thread;\n"
                              "  .reg .b64 %out, %at;\n"
                              "  ld.param.u64 %out, [out];\n"
                              "  ld.param.u32 %left, [rounds];\n"
                              "  mov.u32 %block, %ctaid.x;\n"
                              "  mov.u32 %size, %ntid.x;\n"
                              "  mov.u32 %thread, %tid.x;\n"
                              "  mad.lo.u32 %i, %block, %size, %thread;\n"
                              "  mov.u32 %x, %i;\n"
                              "AGAIN:\n"
                              "  mad.lo.u32 %x, %x, 1664525, 1013904223;\n"
                              "  sub.u32 %left, %left, 1;\n"
                              "  setp.ne.u32 %p, %left, 0;\n"
                              "  @%p bra AGAIN;\n"
                              "  cvta.to.global.u64 %out, %out;\n"
                              "  mul.wide.u32 %at, %i, 4;\n"
                              "  add.u64 %out, %out, %at;\n"
                              "  st.global.u32 [%out], %x;\n"
                              "  ret;\n"
                              "}\n";

enum { THREADS = 256, ADD_COUNT = 1 << 20, SPIN_ROUNDS = 200000, MEETING_S = 120 };

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void wait_ms(long ms)
{
    struct timespec moment = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&moment, NULL);
}

/* Every failure of the driver ends the program: a check has failed, or can't be made. */
static void must(int result, const char *what)
{
    const char *words = NULL;

    if (result == 0)
        return;
    if (!cuda.words || cuda.words(result, &words) != 0 || !words)
        words = "unknown error";
    exit(answer(result == CUDA_NO_DEVICE ? ANSWER_IMPOSSIBLE : ANSWER_FAILED, "%s: %s (%d)", what,
                words, result));
}

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        exit(answer(ANSWER_IMPOSSIBLE, "there is no libcuda.so.1"));
#define CUDA_FIND(member, parameters, name)                                                        \
    {                                                                                              \
        void *symbol = dlsym(library, name);                                                       \
        if (!symbol)                                                                               \
            exit(answer(ANSWER_IMPOSSIBLE, "libcuda.so.1 has no %s", name));                       \
        memcpy(&cuda.member, &symbol, sizeof(symbol));                                             \
    }
    CUDA_CALLS(CUDA_FIND)
    must(cuda.init(0), "cuInit");
}

static int device_count(void)
{
    int count = 0;

    must(cuda.count(&count), "cuDeviceGetCount");
    if (count == 0)
        exit(answer(ANSWER_IMPOSSIBLE, "CUDA sees no GPU"));
    return count;
}

/* Work on the visible GPU of that number from now on. */
static int begin_on(int number)
{
    cuda_context_t context;
    int device = 0;

    must(cuda.device(&device, number), "cuDeviceGet");
    must(cuda.retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuda.use(context), "cuCtxSetCurrent");
    return device;
}

static cuda_function_t kernel(const char *name)
{
    cuda_module_t module;
    cuda_function_t function;

    must(cuda.module(&module, kernels), "cuModuleLoadData");
    must(cuda.function(&function, module, name), "cuModuleGetFunction");
    return function;
}

static int multiprocessors(int device)
{
    int count = 0;

    must(cuda.attribute(&count, CUDA_MULTIPROCESSORS, device), "cuDeviceGetAttribute");
    return count;
}

/* ---- list ---- */

/* As the driver writes it: GPU-01234567-89ab-cdef-0123-456789abcdef */
static void uuid_text(const struct cuda_uuid *uuid, char text[41])
{
    char *at = text + sprintf(text, "GPU-");

    for (int i = 0; i < 16; i++)
        at +=
            sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid->bytes[i]);
}

/* A line a GPU: its UUID, multiprocessors and name. */
static int list(void)
{
    int count = device_count();

    for (int i = 0; i < count; i++) {
        struct cuda_uuid uuid;
        char name[128] = "", text[41];
        int device = 0;

        must(cuda.device(&device, i), "cuDeviceGet");
        must(cuda.uuid(&uuid, device), "cuDeviceGetUuid");
        must(cuda.name(name, (int)sizeof(name) - 1, device), "cuDeviceGetName");
        uuid_text(&uuid, text);
        printf("%s %d %s\n", text, multiprocessors(device), name);
    }
    return 0;
}

static int version(void)
{
    int number = 0;

    must(cuda.version(&number), "cuDriverGetVersion");
    return answer(ANSWER_OK, "%d.%d", number / 1000, number % 1000 / 10);
}

/* ---- add ---- */

static void add_on(int number)
{
    static float a[ADD_COUNT], b[ADD_COUNT], c[ADD_COUNT];
    cuda_address_t on_device[3];
    unsigned count = ADD_COUNT;

    begin_on(number);
    cuda_function_t add = kernel("add");
    for (unsigned i = 0; i < ADD_COUNT; i++) {
        a[i] = (float)i;
        b[i] = (float)(i % 1000) * 0.5F;
    }
    for (int i = 0; i < 3; i++)
        must(cuda.allocate(&on_device[i], sizeof(a)), "cuMemAlloc");
    must(cuda.to_device(on_device[0], a, sizeof(a)), "cuMemcpyHtoD");
    must(cuda.to_device(on_device[1], b, sizeof(b)), "cuMemcpyHtoD");
    void *parameters[] = { &on_device[0], &on_device[1], &on_device[2], &count };
    must(cuda.launch(add, ADD_COUNT / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL),
         "cuLaunchKernel");
    must(cuda.synchronize(), "cuCtxSynchronize");
    must(cuda.to_host(c, on_device[2], sizeof(c)), "cuMemcpyDtoH");
    for (unsigned i = 0; i < ADD_COUNT; i++) {
        if (c[i] != a[i] + b[i])
            exit(answer(ANSWER_FAILED, "GPU %d: sum %u is %g, expected %g", number, i, (double)c[i],
                        (double)(a[i] + b[i])));
    }
    for (int i = 0; i < 3; i++)
        must(cuda.free(on_device[i]), "cuMemFree");
}

static int add(void)
{
    int count = device_count();

    for (int i = 0; i < count; i++)
        add_on(i);
    return answer(ANSWER_OK, "%d sums right on each of %d GPUs", ADD_COUNT, count);
}

/* ---- busy ---- */

static uint32_t spin_of(uint32_t thread)
{
    uint32_t x = thread;

    for (int i = 0; i < SPIN_ROUNDS; i++)
        x = x * 1664525U + 1013904223U;
    return x;
}

struct spin {
    cuda_function_t function;
    cuda_address_t out;
    unsigned blocks;
};

static struct spin spin_begin(int number)
{
    int device = begin_on(number);
    struct spin spin = { .function = kernel("spin"),
                         .blocks = (unsigned)multiprocessors(device) * 4 };

    must(cuda.allocate(&spin.out, (size_t)spin.blocks * THREADS * sizeof(uint32_t)), "cuMemAlloc");
    return spin;
}

/* Keep the GPU busy for so long, and as long as the file is there. The results of the last launch
 * are checked on every 997th thread. Returns how many launches there were. */
static int spin_for(struct spin *spin, double seconds, const char *path)
{
    unsigned count = spin->blocks * THREADS, rounds = SPIN_ROUNDS;
    void *parameters[] = { &spin->out, &rounds };
    uint32_t *values = malloc(count * sizeof(values[0]));
    double end = now_s() + seconds;
    int launches = 0;

    do {
        must(cuda.launch(spin->function, spin->blocks, 1, 1, THREADS, 1, 1, 0, NULL, parameters,
                         NULL),
             "cuLaunchKernel");
        must(cuda.synchronize(), "cuCtxSynchronize");
        launches++;
    } while (now_s() < end && (!path || access(path, F_OK) == 0));
    must(values ? cuda.to_host(values, spin->out, count * sizeof(values[0])) : CUDA_OUT_OF_MEMORY,
         "cuMemcpyDtoH");
    for (unsigned i = 0; i < count; i += 997) {
        if (values[i] != spin_of(i))
            exit(answer(ANSWER_FAILED, "thread %u computed %u, expected %u", i, values[i],
                        spin_of(i)));
    }
    free(values);
    return launches;
}

static int busy(double seconds, const char *path)
{
    device_count();
    struct spin spin = spin_begin(0);
    return answer(ANSWER_OK, "%d launches, results right", spin_for(&spin, seconds, path));
}

/* ---- two at the same time ---- */

static int files_in(const char *folder)
{
    DIR *stream = opendir(folder);
    int count = 0;

    for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream))
        count += entry->d_name[0] != '.';
    if (stream)
        closedir(stream);
    return count;
}

/* Begin on the GPU, wait in the folder until so many others have begun, then compute. */
static int meet(const char *folder, int count, double seconds)
{
    char path[4096];
    struct spin spin = spin_begin(0);
    double end = now_s() + MEETING_S;
    int number = 0;

    snprintf(path, sizeof(path), "%s/%ld", folder, (long)getpid());
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        return answer(ANSWER_FAILED, "%s: %s", path, strerror(errno));
    close(fd);
    while (files_in(folder) < count) {
        if (now_s() > end)
            return answer(ANSWER_FAILED, "waited %d s in vain for the other program", MEETING_S);
        wait_ms(10);
    }
    must(cuda.device(&number, 0), "cuDeviceGet");
    return answer(ANSWER_OK, "%d multiprocessors, %d launches, results right",
                  multiprocessors(number), spin_for(&spin, seconds, NULL));
}

/* ---- memory ---- */

enum { MIB = 1 << 20, CHUNK_MIB = 256, CHUNKS_MAX = 4096 };

/* Take memory, in pieces that get smaller, until the driver refuses. Each piece is written to. */
static int fill(void)
{
    static cuda_address_t chunks[CHUNKS_MAX];
    size_t free_before = 0, total = 0, taken = 0;
    int count = 0, result = 0, is_shared = 0;

    device_count();
    must(cuda.attribute(&is_shared, CUDA_INTEGRATED, begin_on(0)), "cuDeviceGetAttribute");
    if (is_shared)
        return answer(ANSWER_IMPOSSIBLE, "the GPU's memory is that of the machine");
    must(cuda.memory(&free_before, &total), "cuMemGetInfo");
    for (size_t size = CHUNK_MIB; size > 0 && count < CHUNKS_MAX && taken * MIB <= total;) {
        uint32_t mark = (uint32_t)count ^ 0xa5a5a5a5U, back = 0;
        result = cuda.allocate(&chunks[count], size * MIB);
        if (result == CUDA_OUT_OF_MEMORY) {
            size /= 2;
            continue;
        }
        must(result, "cuMemAlloc");
        cuda_address_t last = chunks[count] + size * MIB - sizeof(mark);
        must(cuda.to_device(last, &mark, sizeof(mark)), "cuMemcpyHtoD");
        must(cuda.to_host(&back, last, sizeof(back)), "cuMemcpyDtoH");
        if (back != mark)
            return answer(ANSWER_FAILED, "piece %d of memory was written and reads otherwise",
                          count);
        count++;
        taken += size;
    }
    for (int i = 0; i < count; i++)
        must(cuda.free(chunks[i]), "cuMemFree");
    if (result != CUDA_OUT_OF_MEMORY)
        return answer(ANSWER_FAILED, "%zu MiB taken, and memory did not run out", taken);
    return answer(ANSWER_OK, "%zu MiB taken (%zu MiB were free), then out of memory", taken,
                  free_before / MIB);
}

/* Hold memory until the file goes; the line says when it is there. */
static int hold(size_t mib, const char *path)
{
    cuda_address_t held;

    device_count();
    begin_on(0);
    must(cuda.allocate(&held, mib * MIB), "cuMemAlloc");
    answer(ANSWER_OK, "%ld holds %zu MiB", (long)getpid(), mib);
    fflush(stdout);
    while (access(path, F_OK) == 0)
        wait_ms(20);
    return 0;
}

static int usage(void)
{
    fprintf(stderr,
            "check-cuda ptx | version | list | add | fill | busy SECONDS FILE | hold MIB FILE |"
            " meet FOLDER COUNT SECONDS\n");
    return ANSWER_USAGE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (argc == 2 && strcmp(name, "ptx") == 0)
        return fputs(kernels, stdout) < 0;
    if (argc > 1)
        load();
    if (argc == 2 && strcmp(name, "version") == 0)
        return version();
    if (argc == 2 && strcmp(name, "list") == 0)
        return list();
    if (argc == 2 && strcmp(name, "add") == 0)
        return add();
    if (argc == 2 && strcmp(name, "fill") == 0)
        return fill();
    if (argc == 4 && strcmp(name, "busy") == 0)
        return busy(strtod(argv[2], NULL), argv[3]);
    if (argc == 4 && strcmp(name, "hold") == 0)
        return hold((size_t)strtoull(argv[2], NULL, 10), argv[3]);
    if (argc == 5 && strcmp(name, "meet") == 0)
        return meet(argv[2], atoi(argv[3]), strtod(argv[4], NULL));
    return usage();
}
