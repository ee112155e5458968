/* SPDX-License-Identifier: Apache-2.0 */

/* nvml_stub - a libnvidia-ml.so.1 for tests, which says what a script tells it to say
 *
 * The environment variable TARN_NVML_SCRIPT names the script; it is read when the library is
 * initialised and again at each nvmlDeviceGetCount_v2, so that a test can change it under a
 * running program. Lines, with words in double quotes where they have spaces, # to the end of
 * the line is a comment:
 *
 *   driver 550.54
 *   gpu 0 name "NVIDIA H100 80GB HBM3" uuid GPU-1 memory 81559 pci 00000000:17:00.0 mig 0 numa 1
 *   gpu 1 error GPU_IS_LOST                        every call about it fails
 *   gpu 1 fail nvmlDeviceGetName UNKNOWN           one call about it fails
 *   missing nvmlDeviceGetMemoryInfo_v2             as if the library had no such function
 *   init error DRIVER_NOT_LOADED
 *
 * A gpu that lacks a word answers NOT_SUPPORTED to the call that would give it. Mistakes in the
 * script are told on standard error, and make the initialisation fail.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/nvml_abi.h"

enum { GPUS_MAX = 64, FAILS_MAX = 32, WORDS_MAX = 24, WORD_SIZE = 128 };

struct fail {
    char call[64];
    int gpu; /* -1: for all */
    int result;
};

struct nvml_device {
    char name[NVML_NAME_SIZE];
    char uuid[NVML_UUID_SIZE];
    char pci[32];
    unsigned long long memory_mib;
    int mig;  /* -1: not supported */
    int numa; /* -1: not supported */
    int error;
};

static struct script {
    char driver[NVML_DRIVER_SIZE];
    int init_error;
    struct nvml_device gpus[GPUS_MAX];
    unsigned gpu_count;
    struct fail fails[FAILS_MAX];
    int fail_count;
    char path[512];
    int line;
} script;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *version, unsigned size);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device_t *device);
int nvmlDeviceGetName(nvml_device_t device, char *name, unsigned size);
int nvmlDeviceGetUUID(nvml_device_t device, char *uuid, unsigned size);
int nvmlDeviceGetMemoryInfo(nvml_device_t device, struct nvml_memory *memory);
int nvmlDeviceGetMemoryInfo_v2(nvml_device_t device, struct nvml_memory_v2 *memory);
int nvmlDeviceGetPciInfo_v3(nvml_device_t device, struct nvml_pci *pci);
int nvmlDeviceGetMigMode(nvml_device_t device, unsigned *current, unsigned *pending);
int nvmlDeviceGetNumaNodeId(nvml_device_t device, unsigned *node);

__attribute__((format(printf, 1, 2))) static bool complain(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", script.path, script.line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return false;
}

static bool parse_result(const char *name, int *ret)
{
    static const struct {
        const char *name;
        int number;
    } results[] = {
#define AS_ROW(number, name, words) { #name, number },
        NVML_RESULTS(AS_ROW)
    };

    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        if (strcmp(results[i].name, name) == 0) {
            *ret = results[i].number;
            return true;
        }
    }
    return complain("'%s': not a result; expected one like GPU_IS_LOST", name);
}

static bool parse_number(const char *word, int max, int *ret)
{
    char *end;
    long number = strtol(word, &end, 10);

    if (end == word || *end != '\0' || number < 0 || number > max)
        return complain("'%s': not a number from 0 to %d", word, max);
    *ret = (int)number;
    return true;
}

static bool add_fail(const char *call, int gpu, int result)
{
    if (script.fail_count == FAILS_MAX)
        return complain("more than %d failing calls", FAILS_MAX);

    struct fail *fail = &script.fails[script.fail_count++];
    snprintf(fail->call, sizeof(fail->call), "%s", call);
    fail->gpu = gpu;
    fail->result = result;
    return true;
}

static bool parse_property(struct nvml_device *gpu, const char *key, const char *value)
{
    int number = 0;

    if (strcmp(key, "name") == 0)
        snprintf(gpu->name, sizeof(gpu->name), "%s", value);
    else if (strcmp(key, "uuid") == 0)
        snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", value);
    else if (strcmp(key, "pci") == 0)
        snprintf(gpu->pci, sizeof(gpu->pci), "%.31s", value);
    else if (strcmp(key, "mig") == 0)
        return parse_number(value, 1, &gpu->mig);
    else if (strcmp(key, "numa") == 0)
        return parse_number(value, 1024, &gpu->numa);
    else if (strcmp(key, "error") == 0)
        return parse_result(value, &gpu->error);
    else if (strcmp(key, "memory") != 0)
        return complain("'%s': not a property of a gpu", key);
    else if (!parse_number(value, 1 << 30, &number))
        return false;
    else
        gpu->memory_mib = (unsigned long long)number;
    return true;
}

static bool parse_gpu(char words[][WORD_SIZE], int count)
{
    int index = 0, result = 0;

    if (count < 2 || !parse_number(words[1], GPUS_MAX - 1, &index))
        return complain("expected: gpu NUMBER PROPERTY VALUE...");
    for (; script.gpu_count <= (unsigned)index; script.gpu_count++)
        script.gpus[script.gpu_count] = (struct nvml_device){ .mig = -1, .numa = -1 };
    if (count == 5 && strcmp(words[2], "fail") == 0)
        return parse_result(words[4], &result) && add_fail(words[3], index, result);
    if (count % 2 != 0)
        return complain("'%s': no value", words[count - 1]);
    for (int i = 2; i < count; i += 2) {
        if (!parse_property(&script.gpus[index], words[i], words[i + 1]))
            return false;
    }
    return true;
}

static bool parse_words(char words[][WORD_SIZE], int count)
{
    if (strcmp(words[0], "gpu") == 0)
        return parse_gpu(words, count);
    if (strcmp(words[0], "driver") == 0 && count == 2) {
        snprintf(script.driver, sizeof(script.driver), "%.79s", words[1]);
        return true;
    }
    if (strcmp(words[0], "missing") == 0 && count == 2)
        return add_fail(words[1], -1, NVML_FUNCTION_NOT_FOUND);
    if (strcmp(words[0], "init") == 0 && count == 3 && strcmp(words[1], "error") == 0)
        return parse_result(words[2], &script.init_error);
    return complain("'%s': expected driver, gpu, missing or init error", words[0]);
}

static bool parse_line(const char *s)
{
    char words[WORDS_MAX][WORD_SIZE];
    int count = 0;

    for (;;) {
        s += strspn(s, " \t\n");
        if (*s == '\0' || *s == '#')
            break;
        const char *ends = *s == '"' ? "\"" : " \t\n";
        s += *s == '"';
        size_t length = strcspn(s, ends);
        if (count == WORDS_MAX || length >= WORD_SIZE)
            return complain("too long");
        memcpy(words[count], s, length);
        words[count++][length] = '\0';
        s += length;
        if (ends[0] == '"' && *s++ != '"')
            return complain("no closing quote");
    }
    return count == 0 || parse_words(words, count);
}

static bool read_script(void)
{
    const char *path = getenv("TARN_NVML_SCRIPT");
    char line[1024];
    bool is_good = true;

    script = (struct script){ 0 };
    snprintf(script.path, sizeof(script.path), "%s", path ? path : "TARN_NVML_SCRIPT");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file)
        return complain("can't be read");
    while (is_good && fgets(line, sizeof(line), file)) {
        script.line++;
        is_good = parse_line(line);
    }
    fclose(file);
    return is_good;
}

/* What a call about a device (or none) has to answer, before it says anything. */
static int answer(const char *call, nvml_device_t device)
{
    int index = device ? (int)(device - script.gpus) : -1;

    for (int i = 0; i < script.fail_count; i++) {
        const struct fail *fail = &script.fails[i];
        if (strcmp(fail->call, call) == 0 && (fail->gpu == -1 || fail->gpu == index))
            return fail->result;
    }
    return device ? device->error : NVML_SUCCESS;
}

static int give(const char *call, nvml_device_t device, const char *value, char *ret, unsigned size)
{
    int result = answer(call, device);

    if (result != NVML_SUCCESS)
        return result;
    if (value[0] == '\0')
        return NVML_NOT_SUPPORTED;
    if (strlen(value) >= size)
        return NVML_INSUFFICIENT_SIZE;
    strcpy(ret, value);
    return NVML_SUCCESS;
}

int nvmlInit_v2(void)
{
    return read_script() ? script.init_error : NVML_UNKNOWN;
}

int nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    return give("nvmlSystemGetDriverVersion", NULL, script.driver, version, size);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    if (!read_script())
        return NVML_UNKNOWN;
    *count = script.gpu_count;
    return answer("nvmlDeviceGetCount_v2", NULL);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device_t *device)
{
    if (index >= script.gpu_count)
        return NVML_INVALID_ARGUMENT;
    *device = &script.gpus[index];
    return answer("nvmlDeviceGetHandleByIndex_v2", *device);
}

int nvmlDeviceGetName(nvml_device_t device, char *name, unsigned size)
{
    return give("nvmlDeviceGetName", device, device->name, name, size);
}

int nvmlDeviceGetUUID(nvml_device_t device, char *uuid, unsigned size)
{
    return give("nvmlDeviceGetUUID", device, device->uuid, uuid, size);
}

int nvmlDeviceGetMemoryInfo(nvml_device_t device, struct nvml_memory *memory)
{
    int result = answer("nvmlDeviceGetMemoryInfo", device);

    if (result != NVML_SUCCESS)
        return result;
    if (device->memory_mib == 0)
        return NVML_NOT_SUPPORTED;
    *memory =
        (struct nvml_memory){ .total = device->memory_mib << 20, .free = device->memory_mib << 20 };
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(nvml_device_t device, struct nvml_memory_v2 *memory)
{
    int result = answer("nvmlDeviceGetMemoryInfo_v2", device);

    if (result != NVML_SUCCESS)
        return result;
    if (memory->version != NVML_MEMORY_V2)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (device->memory_mib == 0)
        return NVML_NOT_SUPPORTED;
    memory->total = memory->free = device->memory_mib << 20;
    return NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(nvml_device_t device, struct nvml_pci *pci)
{
    int result = answer("nvmlDeviceGetPciInfo_v3", device);

    if (result != NVML_SUCCESS)
        return result;
    if (device->pci[0] == '\0')
        return NVML_NOT_SUPPORTED;
    *pci = (struct nvml_pci){ 0 };
    snprintf(pci->address, sizeof(pci->address), "%s", device->pci);
    return NVML_SUCCESS;
}

int nvmlDeviceGetMigMode(nvml_device_t device, unsigned *current, unsigned *pending)
{
    int result = answer("nvmlDeviceGetMigMode", device);

    if (result == NVML_SUCCESS && device->mig < 0)
        result = NVML_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *current = *pending = (unsigned)device->mig;
    return result;
}

int nvmlDeviceGetNumaNodeId(nvml_device_t device, unsigned *node)
{
    int result = answer("nvmlDeviceGetNumaNodeId", device);

    if (result == NVML_SUCCESS && device->numa < 0)
        result = NVML_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *node = (unsigned)device->numa;
    return result;
}
