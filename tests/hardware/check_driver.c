/* SPDX-License-Identifier: Apache-2.0 */
/* check-driver: what tarn's own probe reads of NVIDIA's driver, against what nvidia-smi prints. */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <link.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "hardware/check_driver.h"

enum { WORDS_MAX = 64, PROCESSES_SHOWN = 8 };

void check_wait_ms(long ms)
{
    struct timespec moment = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&moment, NULL);
}

static struct check begun;

static void check_end(void)
{
    free(begun.devices);
    if (begun.probe)
        begun.probe->ops->destroy(begun.probe);
    begun = (struct check){ 0 };
}

struct check check_begin(void)
{
    struct error err;

    atexit(check_end);

    switch (probe_nvml_create(NULL, &begun.probe, &err)) {
    case NVML_READY:
        break;
    case NVML_NO_LIBRARY:
        exit(answer(ANSWER_IMPOSSIBLE, "%s", err.text));
    case NVML_NO_DRIVER:
    case NVML_NO_USE:
        exit(answer(ANSWER_FAILED, "%s", err.text));
    }
    if (begun.probe->ops->devices(begun.probe, &begun.devices, &begun.count, &err) < 0)
        exit(answer(ANSWER_FAILED, "%s", err.text));
    if (begun.count == 0)
        exit(answer(ANSWER_IMPOSSIBLE, "the driver knows of no GPU"));
    return begun;
}

/* ---- nvidia-smi ---- */

/* What it prints, a line of words each: those between commas, or between blanks. */
struct smi {
    FILE *stream;
    char line[4096];
    char *words[WORDS_MAX];
    size_t count;
};

static struct smi smi_begin(const char *arguments)
{
    struct smi smi = { 0 };
    AUTO_FREE char *command = mem_printf("LC_ALL=C nvidia-smi %s 2>/dev/null", arguments);

    if (system("command -v nvidia-smi >/dev/null 2>&1") != 0)
        exit(answer(ANSWER_IMPOSSIBLE, "there is no nvidia-smi"));
    smi.stream = popen(command, "re");
    if (!smi.stream)
        exit(answer(ANSWER_FAILED, "nvidia-smi: %s", strerror(errno)));
    return smi;
}

/* Colours and underlines are not part of it. */
static void drop_escapes(char *line)
{
    char *to = line;

    for (const char *at = line; *at; at++) {
        if (*at == '\033') {
            at += strcspn(at, "mGKH");
            if (*at == '\0')
                break;
        } else
            *to++ = *at;
    }
    *to = '\0';
}

static bool smi_next(struct smi *smi, const char *between)
{
    if (!fgets(smi->line, sizeof(smi->line), smi->stream))
        return false;
    smi->line[strcspn(smi->line, "\r\n")] = '\0';
    drop_escapes(smi->line);
    smi->count = 0;
    char *rest = smi->line;
    for (char *word = strsep(&rest, between); word; word = strsep(&rest, between)) {
        word += strspn(word, " \t");
        for (size_t end = strlen(word); end > 0 && isspace((unsigned char)word[end - 1]);)
            word[--end] = '\0';
        if ((word[0] || between[0] == ',') && smi->count < WORDS_MAX)
            smi->words[smi->count++] = word;
    }
    return true;
}

static void smi_end(struct smi *smi)
{
    int status = pclose(smi->stream);

    if (status != 0)
        exit(answer(ANSWER_IMPOSSIBLE, "nvidia-smi ended with status %d", status >> 8));
}

/* ---- devices ---- */

static void compare_device(const struct probe_device *device, const struct smi *smi, uint32_t i,
                           struct text *wrong)
{
    static const char *const what[] = { "uuid", "name", "memory", "PCI address" };
    char memory[32];
    const char *ours[] = { device->uuid, device->product, memory, device->address };

    snprintf(memory, sizeof(memory), "%" PRId64, device->memory_mib);
    for (size_t k = 0; k < COUNT_OF(what); k++) {
        const char *theirs = smi->words[k + 1];
        bool is_memory = k == 2; /* rounded down by one, to the nearest by the other */
        bool is_equal = is_memory ? llabs(device->memory_mib - strtoll(theirs, NULL, 10)) <= 1
                                  : strcasecmp(ours[k], theirs) == 0;
        if (!is_equal && theirs[0] != '[')
            text_printf(wrong, "; GPU %" PRIu32 " %s '%s', nvidia-smi '%s'", i, what[k], ours[k],
                        theirs);
    }
}

static int check_devices(void)
{
    struct check check = check_begin();
    AUTO_RELEASE(text) struct text wrong = { 0 }, seen = { 0 };
    struct smi smi = smi_begin(
        "--query-gpu=index,uuid,name,memory.total,pci.bus_id --format=csv,noheader,nounits");
    uint32_t count = 0;

    while (smi_next(&smi, ",")) {
        if (smi.count == 5 && count < check.count)
            compare_device(&check.devices[count], &smi, count, &wrong);
        count += smi.count == 5;
    }
    smi_end(&smi);
    if (count != check.count)
        text_printf(&wrong, "; %" PRIu32 " GPUs, nvidia-smi %" PRIu32, check.count, count);
    if (wrong.length > 0)
        return answer(ANSWER_FAILED, "%s", text_string(&wrong) + 2);
    for (uint32_t i = 0; i < check.count; i++) {
        bool is_first = i == 0 || strcmp(check.devices[i].product, check.devices[0].product) != 0;
        if (is_first)
            text_printf(&seen, ", %s (%" PRId64 " MiB)", check.devices[i].product,
                        check.devices[i].memory_mib);
    }
    return answer(ANSWER_OK, "%" PRIu32 " GPUs%s: names, UUIDs, memory and PCI addresses agree",
                  count, text_string(&seen));
}

/* ---- topology ---- */

static int check_topology(void)
{
    struct check check = check_begin();
    AUTO_RELEASE(text) struct text wrong = { 0 }, row = { 0 };
    struct smi smi = smi_begin("topo -m");
    uint32_t rows = 0;

    while (smi_next(&smi, " \t")) {
        /* A row is the name of a GPU and its links; the header has names only. */
        unsigned number = 0;
        bool is_row = smi.count > rows + 1 && sscanf(smi.words[0], "GPU%u", &number) == 1 &&
                      number == rows && strcmp(smi.words[rows + 1], "X") == 0;
        if (!is_row || rows >= check.count)
            continue;
        for (uint32_t i = 0; i < check.count; i++) {
            char ours[8];
            const char *theirs = i + 1 < smi.count ? smi.words[i + 1] : "nothing";
            probe_link_word(i == rows ? (struct probe_link){ .near = PROBE_NEAR_SELF }
                                      : check.probe->ops->link(check.probe, rows, i),
                            ours, sizeof(ours));
            if (strcmp(ours, theirs) != 0)
                text_printf(&wrong, "; GPU %" PRIu32 "-%" PRIu32 " %s, nvidia-smi %s", rows, i,
                            ours, theirs);
            else if (rows == 0)
                text_printf(&row, " %s", ours);
        }
        rows++;
    }
    smi_end(&smi);
    if (rows != check.count)
        text_printf(&wrong, "; %" PRIu32 " GPUs, nvidia-smi prints %" PRIu32 " rows", check.count,
                    rows);
    if (wrong.length > 0)
        return answer(ANSWER_FAILED, "%s", text_string(&wrong) + 2);
    return answer(ANSWER_OK, "%" PRIu32 " x %" PRIu32 " links agree; row of GPU 0:%s", rows, rows,
                  text_string(&row));
}

/* ---- readings ---- */

/* How far apart two readings may be that are taken at about the same time. */
static const struct compared {
    enum reading_id id;
    const char *query;
    double scale; /* of nvidia-smi's unit, to the reading's base */
    double apart, ratio;
} compared[] = {
    { READING_TEMPERATURE, "temperature.gpu", 1, 4, 0 },
    { READING_POWER, "power.draw", 1, 15, 0.2 },
    { READING_MEMORY_USED, "memory.used", 1048576, 700.0 * 1048576, 0 },
    { READING_GPU_USE, "utilization.gpu", 0.01, 0.25, 0 },
    { READING_SM_CLOCK, "clocks.sm", 1e6, 1e8, 0.15 },
    { READING_POWER_LIMIT, "enforced.power.limit", 1, 1, 0 },
    { READING_PCIE_WIDTH, "pcie.link.width.current", 1, 0.1, 0 },
};

struct tally {
    unsigned rounds, agreed;
    double ours, theirs; /* where they were furthest apart */
    double apart;
};

static void compare_readings(const struct reading *before, const struct reading *after,
                             const struct smi *smi, struct tally *tallies)
{
    for (size_t i = 0; i < COUNT_OF(compared); i++) {
        const struct compared *one = &compared[i];
        char *end;
        double theirs = strtod(smi->words[i + 1], &end) * one->scale;
        if (end == smi->words[i + 1] || !reading_has(before, one->id) ||
            !reading_has(after, one->id))
            continue;
        double a = reading_in_base(one->id, before->values[one->id]);
        double b = reading_in_base(one->id, after->values[one->id]);
        double low = a < b ? a : b, high = a < b ? b : a;
        double apart = theirs < low ? low - theirs : theirs > high ? theirs - high : 0;
        tallies[i].rounds++;
        tallies[i].agreed += apart <= one->apart + one->ratio * high;
        if (tallies[i].rounds == 1 || apart > tallies[i].apart)
            tallies[i] = (struct tally){ tallies[i].rounds, tallies[i].agreed,
                                         theirs < low ? low : high, theirs, apart };
    }
}

static void compare_round(struct check *check, const char *query, struct tally *tallies)
{
    struct reading *readings = mem_zero(check->count, sizeof(readings[0]));
    struct error err;
    uint32_t i = 0;

    for (uint32_t k = 0; k < check->count; k++)
        check->probe->ops->sample(check->probe, k, &readings[k], &err);
    struct smi smi = smi_begin(query);
    while (smi_next(&smi, ",") && i < check->count) {
        struct reading after = { 0 };
        if (smi.count == COUNT_OF(compared) + 1 &&
            check->probe->ops->sample(check->probe, i, &after, &err) == 0)
            compare_readings(&readings[i], &after, &smi, tallies);
        i++;
    }
    smi_end(&smi);
    free(readings);
}

/* Readings move while they are taken: each has to agree in most rounds. */
static int check_readings(unsigned rounds)
{
    struct check check = check_begin();
    struct tally tallies[COUNT_OF(compared)] = { 0 };
    AUTO_RELEASE(text) struct text query = { 0 }, seen = { 0 };
    bool is_good = true, is_any = false;

    text_add(&query, "--query-gpu=index");
    for (size_t i = 0; i < COUNT_OF(compared); i++)
        text_printf(&query, ",%s", compared[i].query);
    text_add(&query, " --format=csv,noheader,nounits");
    for (unsigned i = 0; i < rounds; i++) {
        compare_round(&check, text_string(&query), tallies);
        check_wait_ms(500);
    }
    for (size_t i = 0; i < COUNT_OF(compared); i++) {
        const struct tally *tally = &tallies[i];
        const char *name = reading_about[compared[i].id].name;
        bool agrees = tally->agreed * 2 > tally->rounds;
        if (tally->rounds == 0)
            text_printf(&seen, "; %s not read", name);
        else if (tally->apart > 0)
            text_printf(&seen, "; %s%s agreed %u of %u times, at most %g and %g", name,
                        agrees ? "" : " WRONG,", tally->agreed, tally->rounds, tally->ours,
                        tally->theirs);
        else
            text_printf(&seen, "; %s agreed %u times", name, tally->rounds);
        is_any |= tally->rounds > 0;
        is_good &= agrees || tally->rounds == 0;
    }
    return answer(is_good && is_any ? ANSWER_OK : ANSWER_FAILED, "%s", text_string(&seen) + 2);
}

/* ---- profiling counters ---- */

static int check_gpm(const char *load)
{
    static const enum reading_id ids[] = { READING_ENGINE_ACTIVE, READING_SM_ACTIVE,
                                           READING_SM_OCCUPANCY,  READING_TENSOR_ACTIVE,
                                           READING_DRAM_ACTIVE,   READING_FP32_ACTIVE,
                                           READING_PCIE_TX };
    struct check check = check_begin();
    struct reading reading = { 0 };
    AUTO_RELEASE(text) struct text seen = { 0 };
    struct error err;

    for (int i = 0; i < 3; i++) {
        if (check.probe->ops->sample(check.probe, 0, &reading, &err) < 0)
            return answer(ANSWER_FAILED, "%s", err.text);
        check_wait_ms(1000);
    }
    if (!reading_has(&reading, READING_SM_ACTIVE))
        return answer(ANSWER_IMPOSSIBLE, "%s has no GPM; it needs Hopper or later",
                      check.devices[0].product);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        if (reading_has(&reading, ids[i]))
            text_printf(&seen, ", %s %.3g", reading_about[ids[i]].name,
                        reading_in_base(ids[i], reading.values[ids[i]]));
    }
    bool is_busy = reading.values[READING_SM_ACTIVE] > READING_RATIO_ONE / 2;
    bool is_right = strcmp(load, "busy") != 0 || is_busy;
    return answer(is_right ? ANSWER_OK : ANSWER_FAILED, "%s: %s%s", load, text_string(&seen) + 2,
                  is_right ? "" : ", expected sm_active above 0.5");
}

/* ---- health ---- */

static void add_count(const struct reading *reading, enum reading_id id, const char *words,
                      struct text *seen)
{
    if (reading_has(reading, id))
        text_printf(seen, ", %s %" PRId64, words, reading->values[id]);
}

static int check_health(void)
{
    struct check check = check_begin();
    AUTO_RELEASE(text) struct text seen = { 0 };
    struct probe_event event;
    struct error err;
    bool is_well = true;

    int result = check.probe->ops->wait(check.probe, 300, &event, &err);
    for (uint32_t i = 0; i < check.count; i++) {
        struct reading reading = { 0 };
        if (check.devices[i].sick[0] ||
            check.probe->ops->sample(check.probe, i, &reading, &err) < 0) {
            text_printf(&seen, "; GPU %" PRIu32 ": %s", i,
                        check.devices[i].sick[0] ? check.devices[i].sick : err.text);
            is_well = false;
            continue;
        }
        text_printf(&seen, "; GPU %" PRIu32 " answers", i);
        add_count(&reading, READING_ECC_CORRECTED, "ECC corrected", &seen);
        add_count(&reading, READING_ECC_UNCORRECTED, "uncorrected", &seen);
        add_count(&reading, READING_ROWS_REMAPPED_UNCORRECTED, "rows remapped", &seen);
        add_count(&reading, READING_ROW_REMAP_PENDING, "row remap pending", &seen);
        add_count(&reading, READING_PAGES_PENDING, "pages pending", &seen);
        add_count(&reading, READING_RECOVERY_ACTION, "recovery action", &seen);
    }
    if (result == 1)
        text_printf(&seen, "; XID %" PRIu32 " of GPU %" PRIu32 " came", event.xid, event.device);
    else if (result == 0)
        text_add(&seen, "; XID events are waited for");
    else
        text_printf(&seen, "; no XID events: %s", err.text);
    return answer(is_well ? ANSWER_OK : ANSWER_FAILED, "%s", text_string(&seen) + 2);
}

/* ---- processes ---- */

/* Programs that use a GPU now, but this many that we know of. */
static int check_foreign(void)
{
    struct check check = check_begin();
    AUTO_RELEASE(text) struct text seen = { 0 };
    uint32_t total = 0;

    for (uint32_t i = 0; i < check.count; i++) {
        struct probe_process *processes = NULL;
        uint32_t count = 0;
        struct error err;
        if (check.probe->ops->processes(check.probe, i, &processes, &count, &err) < 0)
            return answer(ANSWER_FAILED, "GPU %" PRIu32 ": %s", i, err.text);
        for (uint32_t k = 0; k < count; k++) {
            if (!processes[k].is_graphics && total++ < PROCESSES_SHOWN)
                text_printf(&seen, ", pid %" PRIu32 " on GPU %" PRIu32, processes[k].pid, i);
        }
        free(processes);
    }
    if (total > 0)
        return answer(ANSWER_IMPOSSIBLE, "other processes use the GPUs: %s",
                      text_string(&seen) + 2);
    return answer(ANSWER_OK, "no process uses a GPU");
}

/* Whether our pids are others than those of the machine, which the driver reports. */
static bool has_own_pids(void)
{
    char name[64] = "";

    return readlink("/proc/self/ns/pid", name, sizeof(name) - 1) > 0 &&
           strcmp(name, "pid:[4026531836]") != 0; /* the number of the first is fixed */
}

/* A program of ours holds memory: tarn has to find it among the processes. */
static int check_process(uint32_t pid, int64_t mib)
{
    struct check check = check_begin();
    AUTO_RELEASE(text) struct text seen = { 0 };
    bool is_unknown = false;

    for (uint32_t i = 0; i < check.count; i++) {
        struct probe_process *processes = NULL;
        uint32_t count = 0;
        struct error err;
        if (check.probe->ops->processes(check.probe, i, &processes, &count, &err) < 0)
            return answer(ANSWER_FAILED, "GPU %" PRIu32 ": %s", i, err.text);
        for (uint32_t k = 0; k < count; k++) {
            int64_t used = processes[k].memory_bytes;
            if (processes[k].pid == pid && used >= mib << 20)
                return answer(ANSWER_OK,
                              "pid %" PRIu32 " is on GPU %" PRIu32 " with %" PRId64
                              " MiB; it holds %" PRId64,
                              pid, i, used >> 20, mib);
            if (processes[k].pid == pid)
                text_printf(&seen, ", pid %" PRIu32 " with %" PRId64 " MiB", pid,
                            used == PROBE_UNKNOWN ? used : used >> 20);
            is_unknown |= processes[k].pid != pid;
        }
        free(processes);
    }
    if (seen.length == 0 && has_own_pids())
        return answer(ANSWER_IMPOSSIBLE,
                      "this is a container with pids of its own; the driver knows others%s",
                      is_unknown ? ", and names them" : "");
    return answer(ANSWER_FAILED, "pid %" PRIu32 " with %" PRId64 " MiB is not found%s", pid, mib,
                  text_string(&seen));
}

/* ---- compute modes: what MPS may change is put back ---- */

static int print_modes(void)
{
    struct check check = check_begin();

    for (uint32_t i = 0; i < check.count; i++) {
        struct reading reading = { 0 };
        struct error err;
        if (check.probe->ops->sample(check.probe, i, &reading, &err) == 0 &&
            reading_has(&reading, READING_COMPUTE_MODE))
            printf("%" PRIu32 " %" PRId64 "\n", i, reading.values[READING_COMPUTE_MODE]);
    }
    return 0;
}

static int restore_modes(const char *path)
{
    struct check check = check_begin();
    FILE *file = fopen(path, "re");
    unsigned device = 0;
    int mode = 0, code = 0;

    while (file && fscanf(file, "%u %d", &device, &mode) == 2) {
        struct reading reading = { 0 };
        struct error err;
        if (device < check.count &&
            check.probe->ops->sample(check.probe, device, &reading, &err) == 0 &&
            reading_has(&reading, READING_COMPUTE_MODE) &&
            reading.values[READING_COMPUTE_MODE] != mode)
            code |=
                check.probe->ops->compute_mode(check.probe, device, (enum probe_compute)mode, &err);
    }
    if (file)
        fclose(file);
    return code == 0 ? ANSWER_OK : ANSWER_FAILED;
}

/* ---- MIG ---- */

static bool is_there(struct check *check, uint32_t device, const char *uuid, uint32_t *ret_count)
{
    struct probe_instance *instances = NULL;
    struct error err;
    bool is_found = false;

    *ret_count = 0;
    if (check->probe->ops->mig_list(check->probe, device, &instances, ret_count, &err) < 0)
        exit(answer(ANSWER_FAILED, "MIG instances of GPU %" PRIu32 ": %s", device, err.text));
    for (uint32_t i = 0; i < *ret_count; i++)
        is_found |= strcmp(instances[i].uuid, uuid) == 0;
    free(instances);
    return is_found;
}

/* On a GPU in MIG mode without instances: the smallest one, made and removed. While it is there,
 * the command is run with CUDA_VISIBLE_DEVICES set to it. */
static int check_mig(const char *command)
{
    struct check check = check_begin();
    struct probe_instance made = { .start = 0, .size = 1, .compute = 1 };
    struct error err;
    uint32_t device = 0, count = 0;

    while (device < check.count && !check.devices[device].mig_enabled)
        device++;
    if (device == check.count)
        return answer(ANSWER_IMPOSSIBLE,
                      "no GPU is in MIG mode (nvidia-smi -i 0 -mig 1 turns it on)");
    is_there(&check, device, "", &count);
    if (count > 0)
        return answer(ANSWER_IMPOSSIBLE, "GPU %" PRIu32 " has %" PRIu32 " MIG instances already",
                      device, count);
    int code = check.probe->ops->mig_create(check.probe, device, &made, &err);
    if (code == -EPERM || code == -EACCES)
        return answer(ANSWER_IMPOSSIBLE, "MIG: %s", err.text);
    if (code < 0)
        return answer(ANSWER_FAILED, "MIG: %s", err.text);
    bool is_listed = is_there(&check, device, made.uuid, &count);
    setenv("CUDA_VISIBLE_DEVICES", made.uuid, 1);
    int status = is_listed ? system(command) : -1;
    for (int i = 0; i < 50; i++) { /* the driver may still count the program that has ended */
        code = check.probe->ops->mig_remove(check.probe, device, made.gpu_instance, &err);
        if (code != -EBUSY)
            break;
        check_wait_ms(100);
    }
    if (code < 0)
        return answer(ANSWER_FAILED, "%s was made and can't be removed: %s", made.uuid, err.text);
    is_there(&check, device, made.uuid, &count);
    return answer(is_listed && count == 0 && (status == 0 || status >> 8 == ANSWER_IMPOSSIBLE)
                      ? ANSWER_OK
                      : ANSWER_FAILED,
                  "%s with %" PRId64 " MiB on GPU %" PRIu32 " %s, CUDA in it %s, removed, %" PRIu32
                  " left",
                  made.uuid, made.memory_mib, device, is_listed ? "made" : "made and NOT listed",
                  status == 0                        ? "worked"
                  : status >> 8 == ANSWER_IMPOSSIBLE ? "not tried"
                                                     : "FAILED",
                  count);
}

/* ---- what the script asks ---- */

/* A word and its value each line. */
static int identify(void)
{
    struct check check = check_begin();
    void *library =
        ((struct nvml *)(void *)((char *)check.probe - offsetof(struct nvml, probe)))->library;
    struct link_map *map = NULL;
    int (*version)(int *) = NULL;
    int cuda = 0;

    printf("driver %s\nglibc %s\n", probe_nvml_driver(check.probe), gnu_get_libc_version());
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        printf("library %s\n", map->l_name);
    void *symbol = dlsym(library, "nvmlSystemGetCudaDriverVersion_v2");
    memcpy(&version, &symbol, sizeof(symbol));
    if (version && version(&cuda) == NVML_SUCCESS)
        printf("cuda %d.%d\n", cuda / 1000, cuda % 1000 / 10);
    for (uint32_t i = 0; i < check.count; i++)
        printf("gpu %" PRIu32 " %s %" PRId32 " %s\n", i, check.devices[i].uuid,
               check.devices[i].minor, check.devices[i].product);
    return 0;
}

/* For a job: which files the kernel keeps from it. Opening one does nothing to its device. */
static int open_files(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        int fd = open(paths[i], O_RDWR | O_CLOEXEC);
        printf("%s %s\n", paths[i],
               fd >= 0           ? "opened"
               : errno == EPERM  ? "refused"
               : errno == EACCES ? "forbidden"
               : errno == ENOENT ? "missing"
                                 : "reached");
        if (fd >= 0)
            close(fd);
    }
    return 0;
}

/* The body of an HTTP answer of this machine. */
static int get(const char *port, const char *path)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    AUTO_FREE char *request = mem_printf("GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
    char line[4096];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_body = false;

    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        write(fd, request, strlen(request)) < 0)
        return answer(ANSWER_FAILED, "port %s: %s", port, strerror(errno));
    FILE *stream = fdopen(fd, "r");
    for (bool is_first = true; stream && fgets(line, sizeof(line), stream); is_first = false) {
        if (is_first && !strstr(line, " 200 "))
            return answer(ANSWER_FAILED, "%s: %s", path, line);
        if (is_body)
            fputs(line, stdout);
        is_body |= strcmp(line, "\r\n") == 0;
    }
    if (stream)
        fclose(stream);
    return is_body ? 0 : 1;
}

/* A free port of this machine. */
static int free_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return 1;
    printf("%u\n", ntohs(address.sin_port));
    return 0;
}

/* ---- what a target's own tools may lack ---- */

/* In a session of its own: no key of the terminal reaches it. */
static int detach(char **command)
{
    setsid();
    execvp(command[0], command);
    return answer(ANSWER_FAILED, "%s: %s", command[0], strerror(errno));
}

/* Run a command, and kill it after so many seconds: then the status is 124. It dies with us. */
static int run_within(double seconds, char **command)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(command[0], command);
        _exit(127);
    }
    if (pid < 0)
        return answer(ANSWER_FAILED, "fork: %s", strerror(errno));
    for (double ms = 0; ms < seconds * 1000; ms += 10) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        check_wait_ms(10);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return 124;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const char *word = argc > 2 ? argv[2] : "";

    if (argc > 2 && strcmp(name, "detach") == 0)
        return detach(argv + 2);
    if (argc > 3 && strcmp(name, "within") == 0)
        return run_within(strtod(word, NULL), argv + 3);
    if (strcmp(name, "open") == 0)
        return open_files(argc - 2, argv + 2);
    if (argc == 4 && strcmp(name, "get") == 0)
        return get(argv[2], argv[3]);
    if (argc == 2 && strcmp(name, "port") == 0)
        return free_port();
    if (argc == 2 && strcmp(name, "identify") == 0)
        return identify();
    if (argc == 2 && strcmp(name, "devices") == 0)
        return check_devices();
    if (argc == 2 && strcmp(name, "topology") == 0)
        return check_topology();
    if (argc == 3 && strcmp(name, "readings") == 0)
        return check_readings((unsigned)strtoul(word, NULL, 10));
    if (argc == 3 && strcmp(name, "gpm") == 0)
        return check_gpm(word);
    if (argc == 4 && strcmp(name, "latency") == 0)
        return check_latency(strtod(word, NULL), argv[3]);
    if (argc == 2 && strcmp(name, "health") == 0)
        return check_health();
    if (argc == 2 && strcmp(name, "foreign") == 0)
        return check_foreign();
    if (argc == 4 && strcmp(name, "process") == 0)
        return check_process((uint32_t)strtoul(word, NULL, 10), strtoll(argv[3], NULL, 10));
    if (argc == 2 && strcmp(name, "modes") == 0)
        return print_modes();
    if (argc == 3 && strcmp(name, "restore") == 0)
        return restore_modes(word);
    if (argc == 3 && strcmp(name, "mig") == 0)
        return check_mig(word);
    fprintf(stderr, "check-driver: it is for check-hardware\n");
    return ANSWER_USAGE;
}
