/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "stub.h"

enum { WORDS_MAX = 40, WORD_SIZE = 128, LINES_MAX = 4096, LINE_SIZE = 1024 };

struct stub stub = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Lines whose time has not come yet, in the order of the file. */
static struct {
    char text[LINE_SIZE];
    double at;
    int number;
    bool is_done;
} later[LINES_MAX];
static int later_count, line_number;
static struct timespec began;
static struct timespec file_time;
static long long file_size;

__attribute__((format(printf, 1, 2))) static bool complain(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", stub.path, line_number);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return false;
}

double script_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) / 1e9;
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

static bool parse_real(const char *word, double *ret)
{
    char *end;

    *ret = strtod(word, &end);
    return (end != word && *end == '\0' && *ret >= 0) ||
           complain("'%s': not a number from 0 on", word);
}

static bool parse_index(const char *word, int *ret)
{
    double number;

    if (!parse_real(word, &number))
        return false;
    *ret = (int)number;
    return number < STUB_GPUS || complain("'%s': not a gpu from 0 to %d", word, STUB_GPUS - 1);
}

static struct nvml_device *claim(int index)
{
    for (; stub.gpu_count <= (unsigned)index; stub.gpu_count++) {
        struct nvml_device *gpu = &stub.gpus[stub.gpu_count];
        *gpu = (struct nvml_device){ 0 };
        for (int i = 0; i < STUB_VALUES; i++)
            gpu->values[i] = STUB_NONE;
        for (int i = 0; i < STUB_GPUS; i++)
            gpu->near[i] = -1;
    }
    return &stub.gpus[index];
}

static bool add_fail(const char *call, int gpu, int result)
{
    if (stub.fail_count == STUB_FAILS)
        return complain("more than %d failing calls", STUB_FAILS);
    struct stub_fail *fail = &stub.fails[stub.fail_count++];
    snprintf(fail->call, sizeof(fail->call), "%.63s", call);
    fail->gpu = gpu;
    fail->result = result;
    return true;
}

static bool set_value(struct nvml_device *gpu, const char *key, const char *value)
{
#define VALUE(name) #name,
    static const char *const names[] = {
#include "values.def"
    };
#undef VALUE

    for (int i = 0; i < STUB_VALUES; i++) {
        if (strcmp(names[i], key) != 0)
            continue;
        if (strcmp(value, "none") == 0) {
            gpu->values[i] = STUB_NONE;
            return true;
        }
        return parse_real(value, &gpu->values[i]);
    }
    return complain("'%s': not a property of a gpu", key);
}

static void drop_process(struct nvml_device *gpu, unsigned pid)
{
    for (unsigned i = 0; i < gpu->process_count; i++) {
        if (gpu->processes[i].pid == pid)
            gpu->processes[i--] = gpu->processes[--gpu->process_count];
    }
}

static bool parse_process(struct nvml_device *gpu, char words[][WORD_SIZE], int count)
{
    struct stub_process process = { .pid = (unsigned)strtoul(words[3], NULL, 10),
                                    .instance = NVML_NO_INSTANCE };

    drop_process(gpu, process.pid);
    if (gpu->process_count == STUB_PROCESSES)
        return complain("more than %d processes", STUB_PROCESSES);
    for (int i = 4; i + 1 < count; i += 2) {
        double value;
        if (!parse_real(words[i + 1], &value))
            return false;
        if (strcmp(words[i], "memory") == 0)
            process.memory_mib = (unsigned long long)value;
        else if (strcmp(words[i], "use") == 0)
            process.use = (unsigned)value;
        else if (strcmp(words[i], "instance") == 0)
            process.instance = (unsigned)value;
        else
            return complain("'%s': not a property of a process", words[i]);
    }
    gpu->processes[gpu->process_count++] = process;
    return true;
}

static bool parse_property(struct nvml_device *gpu, int index, const char *key, const char *value)
{
    double number = 0;

    if (strcmp(key, "name") == 0)
        snprintf(gpu->name, sizeof(gpu->name), "%.95s", value);
    else if (strcmp(key, "uuid") == 0)
        snprintf(gpu->uuid, sizeof(gpu->uuid), "%.95s", value);
    else if (strcmp(key, "pci") == 0)
        snprintf(gpu->pci, sizeof(gpu->pci), "%.31s", value);
    else if (strcmp(key, "error") == 0)
        return parse_result(value, &gpu->error);
    else if (strcmp(key, "no-process") == 0)
        drop_process(gpu, (unsigned)strtoul(value, NULL, 10));
    else if (strcmp(key, "hang") == 0) {
        if (!parse_real(value, &number))
            return false;
        gpu->hang_until = script_now() + number;
    } else if (strcmp(key, "xid") == 0) {
        if (stub.xid_next == stub.xid_count)
            stub.xid_next = stub.xid_count = 0;
        if (!parse_real(value, &number) || stub.xid_count == STUB_XIDS)
            return complain("too many events");
        stub.xids[stub.xid_count++] = (struct stub_xid){ index, (unsigned)number, script_now() };
    } else
        return set_value(gpu, key, value);
    return true;
}

static bool parse_gpu(char words[][WORD_SIZE], int count)
{
    int index = 0, result = 0;

    if (count < 2 || !parse_index(words[1], &index))
        return complain("expected: gpu NUMBER PROPERTY VALUE...");
    struct nvml_device *gpu = claim(index);
    if (count == 5 && strcmp(words[2], "fail") == 0)
        return parse_result(words[4], &result) && add_fail(words[3], index, result);
    if (count >= 4 && strcmp(words[2], "process") == 0)
        return parse_process(gpu, words, count);
    if (count % 2 != 0)
        return complain("'%s': no value", words[count - 1]);
    for (int i = 2; i < count; i += 2) {
        if (!parse_property(gpu, index, words[i], words[i + 1]))
            return false;
    }
    return true;
}

static bool parse_pair(char words[][WORD_SIZE], int count)
{
    bool is_link = strcmp(words[0], "link") == 0;
    int a = 0, b = 0;
    double number = 0;

    if (count != 4 || !parse_index(words[1], &a) || !parse_real(words[3], &number))
        return complain("expected: %s GPU GPU NUMBER", words[0]);
    if (is_link && strcmp(words[2], "switch") == 0) {
        claim(a)->to_switch = (unsigned)number;
        return true;
    }
    if (!parse_index(words[2], &b))
        return false;
    claim(a > b ? a : b);
    if (is_link)
        stub.gpus[a].links[b] = stub.gpus[b].links[a] = (unsigned)number;
    else
        stub.gpus[a].near[b] = stub.gpus[b].near[a] = (int)number;
    return true;
}

static bool parse_words(char words[][WORD_SIZE], int count)
{
    if (strcmp(words[0], "gpu") == 0)
        return parse_gpu(words, count);
    if (strcmp(words[0], "link") == 0 || strcmp(words[0], "near") == 0)
        return parse_pair(words, count);
    if (strcmp(words[0], "driver") == 0 && count == 2) {
        snprintf(stub.driver, sizeof(stub.driver), "%.79s", words[1]);
        return true;
    }
    if (strcmp(words[0], "missing") == 0 && count == 2)
        return add_fail(words[1], -1, NVML_FUNCTION_NOT_FOUND);
    if (strcmp(words[0], "init") == 0 && count == 3 && strcmp(words[1], "error") == 0)
        return parse_result(words[2], &stub.init_error);
    return complain("'%s': expected driver, gpu, link, near, missing or init error", words[0]);
}

static bool parse_line(const char *s)
{
    static char words[WORDS_MAX][WORD_SIZE]; /* under the lock */
    int count = 0;
    double at = 0;

    for (const char *at_text = s;;) {
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
        if (count != 2 || strcmp(words[0], "at") != 0)
            continue;
        if (!parse_real(words[1], &at) || later_count == LINES_MAX)
            return complain("expected: at SECONDS ...");
        (void)at_text;
        snprintf(later[later_count].text, LINE_SIZE, "%.1000s", s);
        later[later_count].at = at;
        later[later_count].number = line_number;
        later[later_count++].is_done = false;
        return true;
    }
    return count == 0 || parse_words(words, count);
}

static bool has_changed(struct stat *status)
{
    return stat(stub.path, status) == 0 &&
           (status->st_mtim.tv_sec != file_time.tv_sec ||
            status->st_mtim.tv_nsec != file_time.tv_nsec || status->st_size != file_size);
}

bool script_read(void)
{
    const char *path = getenv("TARN_NVML_SCRIPT");
    struct stat status = { 0 };
    char line[LINE_SIZE];
    bool is_good = true;

    stub.gpu_count = 0;
    stub.fail_count = stub.xid_count = stub.xid_next = stub.init_error = 0;
    stub.driver[0] = '\0';
    later_count = line_number = 0;
    snprintf(stub.path, sizeof(stub.path), "%s", path ? path : "TARN_NVML_SCRIPT");
    clock_gettime(CLOCK_MONOTONIC, &began);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file)
        return complain("can't be read");
    if (fstat(fileno(file), &status) == 0) {
        file_time = status.st_mtim;
        file_size = status.st_size;
    }
    while (is_good && fgets(line, sizeof(line), file)) {
        line_number++;
        is_good = parse_line(line);
    }
    fclose(file);
    for (unsigned i = 0; i < STUB_GPUS; i++)
        stub.energy_at[i] = 0;
    return is_good;
}

static void add_energy(double now)
{
    for (unsigned i = 0; i < stub.gpu_count; i++) {
        double power = stub.gpus[i].values[STUB_power];
        if (power > 0 && now > stub.energy_at[i])
            stub.energy[i] += power / 1000 * (now - stub.energy_at[i]);
        stub.energy_at[i] = now;
    }
}

bool script_pass(void)
{
    struct stat status = { 0 };

    if (!stub.is_shared && has_changed(&status)) {
        add_energy(script_now());
        if (!script_read())
            return false;
    }
    double now = script_now();
    for (int i = 0; i < later_count; i++) {
        if (later[i].is_done || later[i].at > now)
            continue;
        later[i].is_done = true;
        line_number = later[i].number;
        if (!parse_line(later[i].text))
            return false;
    }
    add_energy(now);
    return true;
}

static int fail_of(const char *call, nvml_device_t device)
{
    nvml_device_t whole = device && device->parent ? device->parent : device;
    int index = whole ? (int)(whole - stub.gpus) : -1;

    for (int i = 0; i < stub.fail_count; i++) {
        const struct stub_fail *fail = &stub.fails[i];
        if (strcmp(fail->call, call) == 0 && (fail->gpu == -1 || fail->gpu == index))
            return fail->result;
    }
    return whole ? whole->error : NVML_SUCCESS;
}

int stub_begin(const char *call, nvml_device_t device)
{
    pthread_mutex_lock(&stub.lock);
    if (!script_pass())
        return stub_done(NVML_UNKNOWN);
    nvml_device_t whole = device && device->parent ? device->parent : device;
    while (whole && whole->hang_until > script_now()) {
        struct timespec moment = { .tv_nsec = 20000000 };
        pthread_mutex_unlock(&stub.lock);
        nanosleep(&moment, NULL);
        pthread_mutex_lock(&stub.lock);
        if (!script_pass())
            return stub_done(NVML_UNKNOWN);
    }
    int result = fail_of(call, device);
    return result == NVML_SUCCESS ? NVML_SUCCESS : stub_done(result);
}

int stub_done(int result)
{
    pthread_mutex_unlock(&stub.lock);
    return result;
}

/* ---- for whole worlds ---- */

bool stub_share(void)
{
    bool is_good = mmap(&stub, sizeof(stub), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == &stub &&
                   pthread_mutex_init(&stub.lock, NULL) == 0 && script_read();

    for (unsigned i = 0; i < stub.gpu_count; i++)
        stub.migs[i].is_on = stub.gpus[i].values[STUB_mig] == 1;
    stub.is_shared = true;
    return is_good;
}

bool stub_say(const char *line)
{
    return parse_line(line);
}

bool stub_is_hanging(unsigned gpu)
{
    return stub.gpus[gpu].hang_until > script_now();
}

void stub_restart(bool keeps_mig)
{
    clock_gettime(CLOCK_MONOTONIC, &began);
    stub.xid_count = stub.xid_next = 0;
    for (unsigned i = 0; i < stub.gpu_count; i++) {
        stub.migs[i] = (struct stub_mig){ .is_on = keeps_mig && stub.migs[i].is_on };
        stub.gpus[i].process_count = 0;
        stub.gpus[i].error = NVML_SUCCESS;
        stub.gpus[i].hang_until = 0;
        stub.energy[i] = stub.energy_at[i] = 0;
    }
}
