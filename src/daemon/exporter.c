/* SPDX-License-Identifier: Apache-2.0 */
/* exporter - the metrics of this machine's devices, for a machine without the daemon
 *
 * The metrics of devices that `tarn serve --metrics` gives: readings, health, DCGM's names. On a
 * node of a Slurm cluster it states the Slurm job of each process, and the daemon of the cluster
 * reads it (GET /v1/gpus); on a node of Kubernetes, the pod of each device. It knows no jobs of
 * tarn and no leases, so no process is foreign. It keeps nothing: faults are forgotten at its end.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "cli/command.h"
#include "daemon/nodes/inventory.h"
#include "device/host.h"
#include "device/sampler.h"
#include "io/log.h"
#include "io/net/http.h"
#include "node/probe_choice.h"
#include "node/watcher.h"

enum { LISTEN, PROBE, KUBELET, NOTIFY };

#define EXPORTER_LISTEN "9835"

const struct option_entry options_exporter[] = {
    [LISTEN] = { "listen", 0, "[HOST:]PORT",
                 "address to listen on; without HOST, this machine only (default " EXPORTER_LISTEN
                 ")" },
    [PROBE] = { "probe", 0, "DEVICES", "auto, nvml, amd, intel, recorded:FILE, synthetic:h100:4" },
    [KUBELET] = { "kubelet", 0, "FILE",
                  "state the pod of each GPU, from the checkpoint of the kubelet's device "
                  "manager" },
    [NOTIFY] = { "notify-fd", 0, "N", "write \"ready\" or the error to this descriptor" },
    { 0 },
};

struct exporter {
    uv_loop_t loop;
    uv_signal_t term, interrupt;
    struct probe *probe;
    char *probe_name;
    const char *kubelet; /* NULL: none */
    struct probe_devices found;
    struct state *state;
    struct engine engine; /* it starts nothing, and knows no owner of a process */
    struct watcher *watcher;
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

/* A device becomes sick or healthy: that is a metric, too. */
static void report(void *user, const struct event *event)
{
    struct event told = *event;
    struct error err;

    if (tell_state(user, &told, &err) < 0)
        log_line(LOG_WARNING, "a device cannot be described reason='%s'", err.text);
}

static struct state *state_of(const void *user)
{
    return ((const struct exporter *)user)->state;
}

static usec_t now(const void *user)
{
    (void)user;
    return sampler_now();
}

static usec_t wall_ahead(const void *user)
{
    struct timespec wall;

    (void)user;
    clock_gettime(CLOCK_REALTIME, &wall);
    return wall.tv_sec * USEC_PER_SEC + wall.tv_nsec / 1000 - sampler_now();
}

static void looked(void *user)
{
    (void)user; /* no job waits for a device */
}

/* ---- begin and end ---- */

static int start_watcher(struct exporter *exporter, struct error *err)
{
    static const struct engine_ops ops = { .name = "exporter" };
    const struct watcher_options options = {
        .loop = &exporter->loop,
        .port = { .user = exporter,
                  .state = state_of,
                  .report = report,
                  .now = now,
                  .wall_ahead = wall_ahead },
        .engine = &exporter->engine,
        .probe = exporter->probe,
        .boot = "",
        .devices = exporter->found.items,
        .device_count = exporter->found.count,
        .kubelet = exporter->kubelet,
        .looked = looked,
    };

    exporter->engine.ops = &ops;
    return watcher_create(&options, &exporter->watcher, err);
}

static int open_door(struct exporter *exporter, const char *address, struct error *err)
{
    struct http_options http = { .loop = &exporter->loop,
                                 .listen_fd = -1,
                                 .handler = api_handle_metrics,
                                 .owner = geteuid(),
                                 .is_open = true };
    const struct api_ports ports = {
        .control = { .world = { .user = exporter, .state = state_of },
                     .clock = { .now = now, .wall_ahead = wall_ahead } },
        .devices = { .watch = watcher_watch(exporter->watcher) },
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
        code = start_watcher(exporter, err);
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
    uv_signal_start(&exporter->term, on_signal, SIGTERM);
    uv_signal_start(&exporter->interrupt, on_signal, SIGINT);
}

static void on_walk(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_all(struct exporter *exporter, int status)
{
    http_destroy(exporter->http);
    api_destroy(exporter->api);
    if (!watcher_destroy(exporter->watcher)) /* a thread hangs in the driver: it ends with us */
        _exit(status);
    uv_walk(&exporter->loop, on_walk, NULL);
    uv_run(&exporter->loop, UV_RUN_DEFAULT);
    uv_loop_close(&exporter->loop);
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

int run_exporter(const struct options *options)
{
    struct exporter exporter = { .started = sampler_now() };
    const char *devices = getenv("TARN_DEVICES");
    struct error err;
    int fd;

    if (!option_fd(options->values[NOTIFY], &fd))
        return usage_wrong("exporter", "--notify-fd '%s': expected a number",
                           options->values[NOTIFY]);
    const char *address = options->values[LISTEN] ? options->values[LISTEN] : EXPORTER_LISTEN;
    devices = devices && devices[0] ? devices : "auto";
    devices = options->values[PROBE] ? options->values[PROBE] : devices;
    exporter.kubelet = options->values[KUBELET];
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
    int status = code < 0 ? 1 : 0;
    close_all(&exporter, status);
    return status;
}
