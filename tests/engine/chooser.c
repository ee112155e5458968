/* SPDX-License-Identifier: Apache-2.0 */
/* An engine for tests that chooses devices itself, and to which jobs are submitted directly: one
 * node c1 with four GPUs, of which it allocates the last free ones first, or those that the file
 * order names first ("1230"). Nothing runs: a member ends when it is stopped. In STATE/chooser,
 * NAME.job is the document of an arrival; NAME.answer gets its number or the refusal; log gets a
 * line for each start and signal. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "core/engine.h"

enum { GPUS = 4, LOOK_MS = 50 };

struct member {
    struct member_id id;
    uint32_t devices; /* bit i: device i */
    bool is_stopped;
};

struct chooser {
    struct engine engine;
    struct engine_options options;
    char folder[512];
    uv_timer_t timer;
    LIST(struct member) members, fresh;
    bool is_told;
};

static struct chooser only;

static char *path_of(const char *name)
{
    return mem_printf("%s/%s", only.folder, name);
}

static void write_line(const char *name, const char *mode, const char *line)
{
    AUTO_FREE char *path = path_of(name);
    FILE *file = fopen(path, mode);

    fprintf(file, "%s\n", line);
    fclose(file);
}

static const char *uuid_of(int i)
{
    static const char *const uuids[GPUS] = { "GPU-c1-0", "GPU-c1-1", "GPU-c1-2", "GPU-c1-3" };

    return uuids[i];
}

static uint32_t taken(void)
{
    uint32_t devices = 0;

    for (size_t i = 0; i < only.members.count; i++)
        devices |= only.members.items[i].devices;
    return devices;
}

static void read_order(char *order)
{
    AUTO_FREE char *path = path_of("order");
    FILE *file = fopen(path, "re");

    snprintf(order, GPUS + 1, "3210");
    if (!file)
        return;
    if (fscanf(file, "%4[0-3]", order) != 1)
        abort();
    fclose(file);
}

static int start(struct engine *engine, const struct engine_launch *launches, uint32_t count,
                 struct error *err)
{
    (void)engine;
    (void)err;
    for (uint32_t i = 0; i < count; i++) {
        struct member member = { .id = launches[i].id };
        uint32_t wanted = launches[i].slices_count;
        char order[GPUS + 1];
        read_order(order);
        for (const char *at = order; *at && wanted > 0; at++) {
            uint32_t device = 1u << (*at - '0');
            if ((taken() | member.devices) & device)
                continue;
            member.devices |= device;
            wanted--;
        }
        AUTO_FREE char *line = mem_printf("start %s", launches[i].external);
        if (launches[i].external)
            write_line("log", "ae", line);
        list_add(&only.members, member);
        list_add(&only.fresh, member);
    }
    return 0;
}

static struct member *member_at(const struct engine_attempt *attempt, uint32_t i)
{
    struct member_id id = { attempt->job, attempt->attempt, attempt->ranks[i] };

    for (size_t k = 0; k < only.members.count; k++) {
        if (memcmp(&only.members.items[k].id, &id, sizeof(id)) == 0)
            return &only.members.items[k];
    }
    return NULL;
}

static void stop(struct engine *engine, const struct engine_attempt *attempt, usec_t grace)
{
    (void)engine;
    (void)grace;
    for (uint32_t i = 0; i < attempt->count; i++) {
        struct member *member = member_at(attempt, i);
        if (member)
            member->is_stopped = true;
    }
}

static void send_signal(struct engine *engine, const struct engine_attempt *attempt, int signal)
{
    AUTO_FREE char *line = mem_printf("signal %d", signal);

    (void)engine;
    for (uint32_t i = 0; i < attempt->count; i++)
        write_line("log", "ae", line);
}

static void recover(struct engine *engine, const struct engine_attempt *attempt,
                    const bool *was_started, bool *ret_found)
{
    (void)engine;
    (void)was_started;
    for (uint32_t i = 0; i < attempt->count; i++)
        ret_found[i] = member_at(attempt, i) != NULL;
}

static void forget(struct engine *engine, const struct engine_attempt *attempt)
{
    (void)engine;
    for (uint32_t i = 0; i < attempt->count; i++) {
        struct member *member = member_at(attempt, i);
        if (member)
            list_remove(&only.members, (size_t)(member - only.members.items));
    }
}

static void answer(struct engine *engine, const char *name, uint64_t job, const struct error *err,
                   bool lacks_nodes)
{
    AUTO_FREE char *file = mem_printf("%s.answer", name);
    AUTO_FREE char *line = job > 0 ? mem_printf("%d", (int)job) : mem_string(err->text);

    (void)engine;
    (void)lacks_nodes;
    write_line(file, "we", line);
}

static void destroy(struct engine *engine)
{
    (void)engine;
    uv_timer_stop(&only.timer);
    list_release(&only.members);
    list_release(&only.fresh);
}

static void tell_node(void)
{
    struct probe_device devices[GPUS] = { 0 };

    for (int i = 0; i < GPUS; i++) {
        devices[i] = (struct probe_device){ .model = "h100",
                                            .memory_mib = 81920,
                                            .numa_node = PROBE_UNKNOWN };
        snprintf(devices[i].uuid, sizeof(devices[i].uuid), "%s", uuid_of(i));
    }
    struct engine_node node = { .name = "c1",
                                .cpu_milli = 16000,
                                .memory_mib = 65536,
                                .devices = devices,
                                .device_count = GPUS };
    only.options.reports.node(only.options.reports.user, &node, true);
}

static void tell_fresh(void)
{
    const struct engine_reports *reports = &only.options.reports;

    for (size_t i = 0; i < only.fresh.count; i++) {
        const struct member *member = &only.fresh.items[i];
        const char *uuids[GPUS];
        uint32_t count = 0;
        for (int k = 0; k < GPUS; k++) {
            if (member->devices >> k & 1)
                uuids[count++] = uuid_of(k);
        }
        struct engine_outcome outcome = { .id = member->id, .kind = ENGINE_STARTED };
        reports->assigned(reports->user, member->id, uuids, count);
        reports->outcome(reports->user, &outcome);
    }
    only.fresh.count = 0;
}

static void tell_ends(void)
{
    for (size_t i = 0; i < only.members.count; i++) {
        struct member *member = &only.members.items[i];
        struct engine_outcome outcome = { .id = member->id,
                                          .kind = ENGINE_ENDED,
                                          .exit_code = -1,
                                          .signal = 15,
                                          .was_stopped = true };
        if (!member->is_stopped)
            continue;
        member->is_stopped = false;
        member->devices = 0;
        only.options.reports.outcome(only.options.reports.user, &outcome);
    }
}

/* It arrives when NAME.job is there, and is withdrawn when that is removed. */
static void look_for(const char *name)
{
    const struct engine_reports *reports = &only.options.reports;
    AUTO_FREE char *file = mem_printf("%s.job", name), *path = path_of(file);
    AUTO_FREE char *known = mem_printf("%s.answer", name), *answered = path_of(known);
    char document[65536] = "";
    FILE *opened = fopen(path, "re");

    if (opened) {
        size_t length = fread(document, 1, sizeof(document) - 1, opened);
        document[length] = '\0';
        fclose(opened);
    }
    if (opened && access(answered, F_OK) < 0) {
        struct engine_arrival arrival = {
            .name = name, .document = document, .user = "ana", .uid = 4711, .gid = 4711
        };
        reports->arrived(reports->user, &arrival);
        reports->arrived(reports->user, &arrival); /* said twice: it is the same job */
    }
    if (!opened && unlink(answered) == 0)
        reports->withdrawn(reports->user, name, "scancel");
}

/* When the file stray is there: the end of a member of an unknown job. */
static void tell_stray(void)
{
    struct engine_outcome outcome = { .id = { 999999, 1, 0 }, .kind = ENGINE_ENDED };
    AUTO_FREE char *path = path_of("stray");

    if (unlink(path) == 0)
        only.options.reports.outcome(only.options.reports.user, &outcome);
}

static void on_look(uv_timer_t *timer)
{
    (void)timer;
    if (!only.is_told)
        tell_node();
    only.is_told = true;
    tell_fresh();
    tell_ends();
    tell_stray();
    look_for("a");
    look_for("b");
}

static int create(const struct engine_options *options, struct engine **ret, struct error *err)
{
    static const struct engine_ops ops = { .name = "chooser",
                                           .start = start,
                                           .stop = stop,
                                           .signal = send_signal,
                                           .recover = recover,
                                           .forget = forget,
                                           .answer = answer,
                                           .destroy = destroy };

    only.engine = (struct engine){ &ops, { .has_own_nodes = true, .has_output = true } };
    only.options = *options;
    snprintf(only.folder, sizeof(only.folder), "%s/chooser", options->state_dir);
    if (mkdir(only.folder, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "%s: %s", only.folder, strerror(errno));
    uv_timer_init(options->loop, &only.timer);
    uv_timer_start(&only.timer, on_look, 0, LOOK_MS);
    *ret = &only.engine;
    return 0;
}

extern const struct engine_module tarn_engine_module;
const struct engine_module tarn_engine_module = { ENGINE_MODULE_VERSION, create };
