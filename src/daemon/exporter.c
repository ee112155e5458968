/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/exporter.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "core/device_watch.h"
#include "daemon/inventory.h"
#include "device/host.h"
#include "device/sampler.h"
#include "io/http.h"
#include "io/log.h"
#include "node/probe_choice.h"

enum { LISTEN, PROBE, NOTIFY, EVERY_MS = 1000 };

#define EXPORTER_LISTEN "9835"

const struct option_entry options_exporter[] = {
    [LISTEN] = { "listen", 0, "[HOST:]PORT",
                 "where; of this machine only, without HOST (default " EXPORTER_LISTEN ")" },
    [PROBE] = { "probe", 0, "DEVICES", "auto, nvml, amd, intel, recorded:FILE, synthetic:h100:4" },
    [NOTIFY] = { "notify-fd", 0, "N", "write \"ready\" or what went wrong to this descriptor" },
    { 0 },
};

struct exported {
    struct reading reading;
    struct health health;
    struct probe_process *processes;
    uint32_t process_count;
    bool has_processes;
    int code;
    struct error err;
    usec_t took;
    uint64_t askings, failures;
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t xid_count;
};

struct exporter {
    uv_loop_t loop;
    uv_signal_t term, interrupt;
    uv_timer_t timer;
    uv_async_t wake;
    struct probe *probe;
    char *probe_name;
    struct probe_devices found; /* their numbers are those of the state's devices */
    struct exported *devices;
    struct state *state;
    struct sampler *sampler;
    struct watch watch;
    struct api *api;
    struct http_server *http;
    usec_t started;
};

/* ---- the state, as far as it is about devices ---- */

static int tell_state(struct exporter *exporter, struct event *event, struct error *err)
{
    event->at = sampler_now();
    return state_apply(exporter->state, event, err);
}

static int fill_state(struct exporter *exporter, struct error *err)
{
    struct probe_machine machine;

    int code = probe_machine(&machine, err);
    if (code < 0)
        return code;
    exporter->state = state_create();
    struct event node = { .kind = EVENT_NODE,
                          .node = { .name = machine.name,
                                    .cpu_milli = machine.cpu_milli,
                                    .memory_mib = machine.memory_mib } };
    code = tell_state(exporter, &node, err);
    for (uint32_t i = 0; code == 0 && i < exporter->found.count; i++) {
        char name[INVENTORY_NAME_SIZE];
        struct event event;
        inventory_device_event(machine.name, &exporter->found.items[i], i, name, &event);
        code = tell_state(exporter, &event, err);
    }
    return code;
}

/* Whether it may be used is a metric, too. */
static void settle(struct exporter *exporter, uint32_t number)
{
    const struct exported *exported = &exporter->devices[number];
    const struct device *device = &exporter->state->devices.items[number];
    enum health_fault worst = health_worst(&exported->health);
    const char *before = device->sick ? device->sick : "";
    char sick[HEALTH_WORDS_SIZE] = "";

    if (worst != FAULTS)
        health_say(&exported->health, worst, sick, sizeof(sick));
    if (strcmp(before, sick) == 0 || exporter->found.items[number].sick[0])
        return;
    AUTO_FREE char *node = mem_string(exporter->state->nodes.items[device->node].name);
    struct event event;
    char name[INVENTORY_NAME_SIZE];
    struct error err;
    inventory_device_event(node, &exporter->found.items[number], number, name, &event);
    event.device.sick = sick;
    if (tell_state(exporter, &event, &err) < 0)
        log_line(LOG_WARNING, "a device can't be described device=%s reason='%s'", name, err.text);
    log_line(sick[0] ? LOG_WARNING : LOG_NOTICE, "%s device=%s reason='%s'",
             sick[0] ? "a device is sick" : "a device is well again", name, sick);
}

/* ---- reading ---- */

/* Who has it is not known here: it may be somebody who is just about to say so. */
static void judge(struct exporter *exporter, uint32_t number)
{
    struct exported *exported = &exporter->devices[number];
    bool has_reading = exported->reading.at > 0 && exported->code == 0;
    int64_t unowned_mib =
        exported->has_processes
            ? watch_unowned(&exported->reading, exported->processes, exported->process_count)
            : -1;

    health_judge(&exported->health, &(struct health_ask){
                                        .now = sampler_now(),
                                        .reading = has_reading ? &exported->reading : NULL,
                                        .code = exported->code,
                                        .silent = sampler_silent(exporter->sampler, number),
                                        .is_leased = exported->process_count > 0,
                                        .unowned_mib = unowned_mib,
                                    });
    settle(exporter, number);
}

static void take(struct exporter *exporter, uint32_t number, struct sampled *got)
{
    struct exported *exported = &exporter->devices[number];

    exported->askings++;
    exported->failures += got->code != 0;
    exported->code = got->code;
    exported->err = got->err;
    exported->took = got->took;
    if (got->code == 0)
        exported->reading = got->reading;
    free(exported->processes);
    exported->processes = got->processes;
    exported->process_count = got->process_count;
    exported->has_processes = got->has_processes;
    judge(exporter, number);
}

static void take_event(struct exporter *exporter, const struct probe_event *event)
{
    struct exported *exported = &exporter->devices[event->device];

    watch_count_xid(exported->xids, &exported->xid_count, event->xid);
    health_xid(&exported->health, event->xid, sampler_now());
    settle(exporter, event->device);
}

static void on_wake(uv_async_t *wake)
{
    struct exporter *exporter = wake->data;
    struct probe_event event;
    struct sampled got;

    for (uint32_t i = 0; exporter->sampler && i < exporter->found.count; i++) {
        if (sampler_take(exporter->sampler, i, &got))
            take(exporter, i, &got);
    }
    while (exporter->sampler && sampler_take_event(exporter->sampler, &event)) {
        if (event.device < exporter->found.count)
            take_event(exporter, &event);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct exporter *exporter = timer->data;

    for (uint32_t i = 0; i < exporter->found.count; i++) {
        if (sampler_silent(exporter->sampler, i) > USEC_PER_SEC)
            judge(exporter, i);
    }
    sampler_ask(exporter->sampler);
}

static void notify(void *user)
{
    uv_async_send(&((struct exporter *)user)->wake);
}

/* ---- for who exports ---- */

static bool watch_device(const struct watch *watch, uint32_t device, struct watch_device *ret)
{
    const struct exporter *exporter = CONTAINER_OF(watch, const struct exporter, watch);

    if (device >= exporter->found.count || !exporter->sampler)
        return false;
    const struct exported *exported = &exporter->devices[device];
    *ret = (struct watch_device){
        .reading = exported->reading,
        .trouble = exported->code < 0 ? exported->err.text : NULL,
        .health = &exported->health,
        .askings = exported->askings,
        .failures = exported->failures,
        .took = exported->took,
        .xid_count = exported->xid_count,
        .silent = sampler_silent(exporter->sampler, device),
        .age = exported->reading.at > 0 ? sampler_now() - exported->reading.at : 0,
    };
    memcpy(ret->xids, exported->xids, sizeof(ret->xids));
    return true;
}

static const struct usage *watch_usage(const struct watch *watch, uint64_t job, uint32_t attempt)
{
    (void)watch;
    (void)job;
    (void)attempt;
    return NULL;
}

static struct probe_link watch_link(const struct watch *watch, uint32_t a, uint32_t b)
{
    (void)watch;
    (void)a;
    (void)b;
    return (struct probe_link){ .near = PROBE_NEAR_UNKNOWN };
}

static const struct watch_ops watch_ops = { watch_device, watch_usage, watch_link };

static struct state *state_of(const void *user)
{
    return ((const struct exporter *)user)->state;
}

static usec_t now(const void *user)
{
    (void)user;
    return sampler_now();
}

/* ---- begin and end ---- */

static int start_sampler(struct exporter *exporter, struct error *err)
{
    struct sampler_options options = { .probe = exporter->probe,
                                       .device_count = exporter->found.count,
                                       .notify = notify,
                                       .user = exporter };

    exporter->devices = mem_zero(exporter->found.count + 1, sizeof(exporter->devices[0]));
    if (!exporter->probe || !exporter->probe->ops->sample || exporter->found.count == 0)
        return 0;
    int code = sampler_create(&options, &exporter->sampler, err);
    if (code == 0)
        uv_timer_start(&exporter->timer, on_timer, 0, EVERY_MS);
    return code;
}

static int open_door(struct exporter *exporter, const char *address, struct error *err)
{
    struct http_options http = { .loop = &exporter->loop,
                                 .listen_fd = -1,
                                 .handler = api_handle_metrics,
                                 .owner = geteuid(),
                                 .is_open = true };
    const struct api_ports ports = {
        .control = { .world = { .user = exporter, .state = state_of }, .clock = { .now = now } },
        .devices = { .watch = &exporter->watch },
        .daemon = { .started = exporter->started, .has_no_jobs = true },
    };

    int code = http_listen_tcp(address, &http.listen_fd, err);
    if (code < 0)
        return error_prefix(err, code, "listen");
    exporter->api = api_create(&ports, &exporter->loop);
    http.user = exporter->api;
    return http_create(&http, &exporter->http, err);
}

static int open_all(struct exporter *exporter, const char *devices, const char *address,
                    struct error *err)
{
    int code = probe_choice_open(devices, &exporter->probe, &exporter->probe_name, err);

    if (code == 0)
        code = probe_choice_find(&exporter->probe, &exporter->found, err);
    if (code == 0)
        code = fill_state(exporter, err);
    if (code == 0)
        code = start_sampler(exporter, err);
    return code == 0 ? open_door(exporter, address, err) : code;
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop);
}

static void start_loop(struct exporter *exporter)
{
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&exporter->loop);
    uv_signal_init(&exporter->loop, &exporter->term);
    uv_signal_init(&exporter->loop, &exporter->interrupt);
    uv_timer_init(&exporter->loop, &exporter->timer);
    uv_async_init(&exporter->loop, &exporter->wake, on_wake);
    exporter->timer.data = exporter->wake.data = exporter;
    uv_signal_start(&exporter->term, on_signal, SIGTERM);
    uv_signal_start(&exporter->interrupt, on_signal, SIGINT);
}

static void on_walk(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_all(struct exporter *exporter)
{
    http_destroy(exporter->http);
    api_destroy(exporter->api);
    uv_timer_stop(&exporter->timer);
    bool are_all_back = sampler_destroy(exporter->sampler);
    if (!are_all_back) /* a thread hangs in the driver, and may wake us still: it ends with us */
        _exit(0);
    uv_walk(&exporter->loop, on_walk, NULL);
    uv_run(&exporter->loop, UV_RUN_DEFAULT);
    uv_loop_close(&exporter->loop);
    for (uint32_t i = 0; exporter->devices && i < exporter->found.count; i++)
        free(exporter->devices[i].processes);
    free(exporter->devices);
    state_destroy(exporter->state);
    if (exporter->probe)
        exporter->probe->ops->destroy(exporter->probe);
    free(exporter->found.items);
    free(exporter->probe_name);
}

static void tell(int fd, const char *words)
{
    if (fd >= 0) {
        dprintf(fd, "%s\n", words);
        close(fd);
    }
}

static bool read_fd(const char *text, int *ret)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : -1;

    *ret = (int)value;
    return !text || (text[0] >= '0' && text[0] <= '9' && *end == '\0' && value <= 1023);
}

int run_exporter(int argc, char **argv)
{
    struct exporter exporter = { .watch = { &watch_ops }, .started = sampler_now() };
    const char *devices = getenv("TARN_DEVICES");
    struct options options;
    struct error err;
    int status, fd;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count > 0)
        return usage_wrong("exporter", "'%s': expected no word", options.words[0]);
    if (!read_fd(options.values[NOTIFY], &fd))
        return usage_wrong("exporter", "--notify-fd '%s': expected a number",
                           options.values[NOTIFY]);
    const char *address = options.values[LISTEN] ? options.values[LISTEN] : EXPORTER_LISTEN;
    devices = devices && devices[0] ? devices : "auto";
    devices = options.values[PROBE] ? options.values[PROBE] : devices;
    start_loop(&exporter);
    int code = open_all(&exporter, devices, address, &err);
    if (code == 0) {
        log_line(LOG_NOTICE, "ready version=%s listen=%s devices=%s count=%" PRIu32, TARN_VERSION,
                 address, exporter.probe_name, exporter.found.count);
        tell(fd, "ready");
        uv_run(&exporter.loop, UV_RUN_DEFAULT);
    } else {
        fprintf(stderr, "tarn: %s\n", err.text);
        tell(fd, err.text);
    }
    close_all(&exporter);
    return code < 0 ? 1 : 0;
}
