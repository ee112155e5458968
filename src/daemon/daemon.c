/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"
#include "daemon/door.h"
#include "device/mps.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "base/mem.h"
#include "control/tend.h"
#include "daemon/alert/alerter.h"
#include "daemon/arrival_notes.h"
#include "daemon/cleaner.h"
#include "daemon/engine_module.h"
#include "daemon/hub.h"
#include "daemon/launcher.h"
#include "daemon/nodes/inventory.h"
#include "daemon/nodes/node_calls.h"
#include "daemon/nodes/node_faults.h"
#include "daemon/nodes/shortage.h"
#include "daemon/output_checks.h"
#include "daemon/reporter.h"
#include "daemon/start_config.h"
#include "daemon/study/forecaster.h"
#include "daemon/study/planned.h"
#include "daemon/study/slack_chooser.h"
#include "daemon/study/study.h"
#include "engine/local/local.h"
#include "io/child_watch.h"
#include "io/log.h"
#include "io/names.h"
#include "io/net/http.h"
#include "io/net/peer.h"
#include "io/parts.h"
#include "io/reserve.h"
#include "io/workers.h"
#include "node/machine.h"
#include "store/readings.h"
#include "wire/config/config.h"

enum { DESCRIPTORS_LEAST = HTTP_CONNECTIONS_MAX + 256 };
enum { KILL_TIMEOUT_MS = 10000, KILL_LOOK_MS = 50 };

struct daemon {
    const struct daemon_options *options;
    uv_loop_t loop;
    uv_signal_t term, interrupt;
    uv_timer_t ending;
    uv_timer_t tending; /* what hangs on the wall clock */
    bool has_tended;    /* since the start */
    struct hub *hub;
    struct workers *workers;
    struct config *config; /* of --config, until it is applied; NULL: none */
    struct engine *engine;
    struct launcher *launcher;
    struct machine *machine;
    struct inventory *inventory;
    struct node_calls *calls;   /* NULL: the engine has no nodes on call */
    struct node_faults *faults; /* NULL: the engine does not want to know them */
    struct reporter reporter;
    struct alerter *alerter;
    struct readings *readings;
    char *shim;
    char *slurm_dir; /* of srun and the like; NULL: none */
    struct api_ports ports;
    struct studies *studies;
    struct planned *planned;
    struct forecaster *forecaster;
    struct slack_chooser *slack_chooser;
    struct api *api;
    struct http_server *http, *metrics, *network;
    struct door door;
    struct change first; /* the first batch: this version, and the machine's devices */
    struct change last;  /* with --kill: the jobs that run are cancelled */
    bool is_stopping;
    bool is_ending; /* also when the loop of the start took the stop, as for a signal */
    struct error first_error;
    int first_code;
    unsigned looks;
    bool is_first_done;
};

/* Of the machine as it was found. */
static void describe(void *user)
{
    const struct daemon *daemon = user;
    struct engine_node here;

    if (machine_describe(daemon->machine, &here))
        inventory_describe(daemon->inventory, &here);
}

static void begin_end(struct daemon *daemon)
{
    daemon->is_ending = true;
    uv_stop(&daemon->loop);
}

static bool has_active_jobs(const struct daemon *daemon)
{
    const uint32_t *counts = hub_state(daemon->hub)->job_counts;

    return counts[JOB_GRANTED] + counts[JOB_RUNNING] + counts[JOB_STOPPING] > 0;
}

/* After a stop, or while the killed ones end: answers are still sent meanwhile. */
static void on_ending(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;

    if (daemon->looks++ * KILL_LOOK_MS >= KILL_TIMEOUT_MS || !has_active_jobs(daemon))
        begin_end(daemon);
}

static void on_stop_asked(uv_timer_t *timer)
{
    begin_end(timer->data);
}

/* Cancelled first, so that the next daemon does not run them once more. */
static int run_last(struct change *change, struct error *err)
{
    struct daemon *daemon = CONTAINER_OF(change, struct daemon, last);

    (void)err;
    for (const struct job *job = hub_state(daemon->hub)->first_active; job;
         job = job->run->active_next) {
        struct event cancel = { .kind = EVENT_CANCEL,
                                .cancel = { .job = job->id, .user = "down --kill" } };
        hub_emit(daemon->hub, &cancel);
    }
    return 0;
}

static void done_last(struct change *change, int code, const struct error *err)
{
    struct daemon *daemon = CONTAINER_OF(change, struct daemon, last);

    if (code < 0)
        log_line(LOG_WARNING, "jobs are killed, and may run again reason='%s'", err->text);
    if (code == -ESHUTDOWN)
        return;
    launcher_kill_all(daemon->launcher);
    uv_timer_start(&daemon->ending, on_ending, KILL_LOOK_MS, KILL_LOOK_MS);
}

static void stop(void *user, bool kill_jobs)
{
    struct daemon *daemon = user;

    log_line(LOG_NOTICE, "a stop was requested kill=%d", kill_jobs);
    if (daemon->is_stopping)
        return;
    daemon->is_stopping = true;
    if (kill_jobs) {
        hub_stop_planning(daemon->hub);
        daemon->last.run = run_last;
        daemon->last.done = done_last;
        hub_enqueue(daemon->hub, &daemon->last);
    } else
        uv_timer_start(&daemon->ending, on_stop_asked, KILL_LOOK_MS, 0);
}

enum { TEND_MS = 2000 }; /* so often the wall clock is looked at */

static void on_tend(uv_timer_t *timer);

static void tend_soon(void *user)
{
    struct daemon *daemon = user;

    uv_timer_start(&daemon->tending, on_tend, 0, 0);
}

static void on_tend(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    const struct clock *clock = hub_clock(daemon->hub);
    uint64_t delay = TEND_MS;
    usec_t next = tend(&daemon->ports.control, !daemon->has_tended);
    usec_t now = clock_now(clock);
    daemon->has_tended = true;
    if (next > now && next - now < (usec_t)TEND_MS * USEC_PER_MS)
        delay = (uint64_t)((next - now + USEC_PER_MS - 1) / USEC_PER_MS);
    if (hub_trouble(daemon->hub))
        delay = TEND_MS;
    uv_timer_start(&daemon->tending, on_tend, delay, 0);
}

static void on_signal(uv_signal_t *signal, int number)
{
    log_line(LOG_NOTICE, "stopping; jobs continue signal=%d", number);
    begin_end(signal->data);
}

static void on_decided(void *user, const struct event *decision)
{
    launcher_decided(((struct daemon *)user)->launcher, decision);
}

static void on_changed(void *user, const uint64_t *jobs, size_t count)
{
    struct daemon *daemon = user;

    machine_changed(daemon->machine, jobs, count);
    node_calls_changed(daemon->calls);
    if (daemon->forecaster)
        forecaster_changed(daemon->forecaster, jobs, count);
    if (daemon->slack_chooser)
        slack_chooser_changed(daemon->slack_chooser);
    if (daemon->alerter)
        alerter_changed(daemon->alerter, jobs, count);
    if (daemon->api)
        api_changed(daemon->api, jobs, count);
}

static void on_ended(void *user, struct member_id id)
{
    launcher_ended(((struct daemon *)user)->launcher, id);
}

static void on_forgotten(void *user, const struct forgotten *jobs, size_t count)
{
    struct daemon *daemon = user;

    cleaner_remove(&daemon->loop, daemon->options->state_dir, jobs, count);
}

static void on_nodes_known(void *user)
{
    struct daemon *daemon = user;

    daemon->ports.control.is_blind = false;
    if (daemon->launcher)
        launcher_look(daemon->launcher);
}

static int run_first(struct change *change, struct error *err)
{
    struct daemon *daemon = CONTAINER_OF(change, struct daemon, first);
    struct event boot = {
        .kind = EVENT_BOOT,
        .boot = { .version = TARN_VERSION,
                  .brain = SCHED_VERSION,
                  .engine = daemon->engine->ops->name },
    };
    struct engine_node here;

    (void)err;
    hub_emit(daemon->hub, &boot);
    if (!machine_describe(daemon->machine, &here)) {
        inventory_expect(daemon->inventory);
        return 0;
    }
    inventory_note(daemon->inventory, &here);
    inventory_describe(daemon->inventory, &here);
    inventory_complete(daemon->inventory);
    return 0;
}

static void done_first(struct change *change, int code, const struct error *err)
{
    struct daemon *daemon = CONTAINER_OF(change, struct daemon, first);

    daemon->is_first_done = true;
    daemon->first_code = code;
    if (code < 0)
        daemon->first_error = *err;
}

/* Many jobs are many descriptors; the jobs themselves get the old limit back
 * (engine/local/local.h). */
static int64_t raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    int64_t before = (int64_t)limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < 1048576 ? limit.rlim_max : 1048576;
    setrlimit(RLIMIT_NOFILE, &limit);
    return before;
}

/* Connections alone may take most of them. */
static int check_descriptors(struct error *err)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max >= DESCRIPTORS_LEAST)
        return 0;
    return error_set(err, -EMFILE,
                     "descriptors: the hard limit is %lld, expected at least %d (ulimit -Hn, "
                     "LimitNOFILE= of the service)",
                     (long long)limit.rlim_max, DESCRIPTORS_LEAST);
}

static int open_local(struct daemon *daemon, const struct engine_options *engine, struct error *err)
{
    struct local_engine_options local = { .engine = *engine,
                                          .is_root = geteuid() == 0,
                                          .nofile_max = raise_file_limit() };
    int code = 0;

    if (daemon->options->shim)
        daemon->shim = mem_string(daemon->options->shim);
    else
        code = part_find_shim(&daemon->shim, err);
    local.shim_path = daemon->shim;
    if (part_find_slurm(&daemon->slurm_dir, NULL) < 0) /* a single program without its parts */
        daemon->slurm_dir = NULL;
    return code < 0 ? code : local_engine_create(&local, &daemon->engine, err);
}

static int open_engine(struct daemon *daemon, struct error *err)
{
    const struct daemon_options *options = daemon->options;
    struct engine_options engine = {
        .loop = &daemon->loop,
        .rules = hub_rules(daemon->hub),
        .at_start = daemon->config ? &daemon->config->settings.watch : hub_rules(daemon->hub),
        .state_dir = options->state_dir,
        .reports = reporter_callbacks(&daemon->reporter),
    };
    bool is_local = strcmp(options->engine, "local") == 0;

    return is_local ? open_local(daemon, &engine, err)
                    : engine_module_open(options->engine, &engine, &daemon->engine, err);
}

/* Without a history all else goes on. */
static void open_readings(struct daemon *daemon)
{
    AUTO_FREE char *path = mem_printf("%s/readings.db", daemon->options->state_dir);
    const struct engine_abilities *abilities = &daemon->engine->abilities;
    bool is_any = abilities->has_own_nodes ? abilities->has_readings
                                           : strcmp(daemon->options->devices, "none") != 0;
    struct error err;

    if (is_any && readings_open(path, 0, &daemon->readings, &err) < 0)
        log_line(LOG_WARNING, "readings are not saved reason='%s'", err.text);
}

static int open_machine(struct daemon *daemon, struct error *err)
{
    struct machine_options machine = {
        .loop = &daemon->loop,
        .workers = daemon->workers,
        .port = { daemon->hub, hub_state, hub_report, hub_emit, hub_enqueue, hub_trouble,
                  hub_clock(daemon->hub), clock_now, clock_wall_ahead, daemon->readings,
                  readings_add },
        .engine = daemon->engine,
        .devices = daemon->options->devices,
        .state_dir = daemon->options->state_dir,
        .hpc_job_dir = daemon->options->hpc_job_dir,
    };

    return machine_create(&machine, &daemon->machine, err);
}

static int open_launcher(struct daemon *daemon, struct error *err)
{
    const struct daemon_options *options = daemon->options;
    struct launcher_options launcher = {
        .loop = &daemon->loop,
        .hub = daemon->hub,
        .engine = daemon->engine,
        .state_dir = options->state_dir,
        .socket = options->socket,
        .slurm_dir = daemon->slurm_dir,
        .is_root = geteuid() == 0,
        .machine = daemon->machine,
        .inventory = daemon->inventory,
        .shortage = daemon->reporter.shortage,
    };
    return launcher_create(&launcher, &daemon->launcher, err);
}

/* A TCP socket for Prometheus, which serves the metrics only. */
static int open_metrics(struct daemon *daemon, struct error *err)
{
    struct http_options http = {
        .loop = &daemon->loop,
        .listen_fd = -1,
        .handler = api_handle_metrics,
        .owner = geteuid(),
        .user = daemon->api,
        .is_open = true,
    };

    if (!daemon->options->metrics)
        return 0;
    int code = http_listen_tcp(daemon->options->metrics, &http.listen_fd, err);
    if (code < 0)
        return error_prefix(err, code, "metrics");
    return http_create(&http, &daemon->metrics, err);
}

/* The API over TCP. */
static int open_network(struct daemon *daemon, struct error *err)
{
    struct http_options http = {
        .loop = &daemon->loop,
        .listen_fd = daemon->door.fd,
        .handler = api_handle,
        .admit = api_admit,
        .owner = geteuid(),
        .user = daemon->api,
        .is_tls = daemon->door.port.is_tls,
    };

    if (daemon->door.fd < 0)
        return 0;
    daemon->door.fd = -1;
    return http_create(&http, &daemon->network, err);
}

/* What changes the state: for the engine's reports and, later, for requests. */
static void fill_control(struct daemon *daemon)
{
    const struct clock *clock = hub_clock(daemon->hub);

    daemon->ports.control = (struct control){
        .world = { daemon->hub, hub_state, hub_emit, hub_enqueue, hub_written },
        .clock = { clock, clock_now, clock_wall_ahead, clock_noted_ahead, hub_note_ahead,
                   daemon->hub },
        .blobs = { hub_journal(daemon->hub), journal_blob_add, journal_blob_get,
                   journal_blob_last },
        .watchers = { daemon, tend_soon, describe },
        .grace = daemon->options->grace,
        .owner = geteuid(),
    };
}

static void fill_ports(struct daemon *daemon)
{
    const struct daemon_options *options = daemon->options;
    const struct clock *clock = hub_clock(daemon->hub);

    daemon->ports = (struct api_ports){
        .control = daemon->ports.control,
        .planner = { daemon->hub, hub_brain, hub_work, hub_trouble },
        .attempts = { daemon->launcher, launcher_output_path, launcher_kill,
                      daemon->engine->ops->signal ? launcher_signal : NULL,
                      daemon->engine->ops->enter ? launcher_enter : NULL,
                      daemon->engine->abilities.isolation, launcher_trouble,
                      daemon->engine->ops->spell ? launcher_spell : NULL },
        .devices = { daemon->machine, machine_devices_watch(daemon->machine), machine_clear },
        .readings = { daemon->readings, readings_query },
        .alerts = { daemon->alerter, alerter_look, alerter_silence, alerter_unsilence,
                    alerter_counts },
        .studies = { daemon->studies, studies_start },
        .forecasts = { daemon->forecaster, forecaster_is_fresh, forecaster_start, forecaster_end,
                       forecaster_shown, forecaster_report },
        .daemon = { daemon, stop, options->state_dir, daemon->engine->ops->name,
                    machine_devices(daemon->machine), options->socket, clock_now(clock),
                    .is_machine_wide = options->for_all_users },
        .door = daemon->door.port,
    };
}

static int open_door(struct daemon *daemon, struct error *err)
{
    const struct daemon_options *options = daemon->options;
    int fd = -1;

    int code = door_open(&options->door, options->state_dir, &daemon->door, err);
    if (code == 0)
        code = http_listen(options->socket, options->for_all_users ? 0666 : 0600, &fd, err);
    if (code < 0)
        return code;
    AUTO_FREE char *estimates = mem_printf("%s/estimates.db", options->state_dir);
    daemon->planned = planned_create(&daemon->ports.control);
    daemon->forecaster = forecaster_create(&daemon->loop, daemon->hub, daemon->planned, estimates);
    daemon->slack_chooser = slack_chooser_create(&daemon->loop, daemon->hub);
    daemon->studies = studies_create(&(struct studies_options){ .loop = &daemon->loop,
                                                                .hub = daemon->hub,
                                                                .forecaster = daemon->forecaster,
                                                                .planned = daemon->planned,
                                                                .state_dir = options->state_dir,
                                                                .limit = options->study_limit,
                                                                .grace = options->grace,
                                                                .owner = geteuid() });
    fill_ports(daemon);
    daemon->api = api_create(&daemon->ports, &daemon->loop);
    if (daemon->engine->ops->note)
        daemon->reporter.notes =
            arrival_notes_create(&daemon->loop, daemon->hub, daemon->engine, daemon->api);
    struct http_options http = {
        .loop = &daemon->loop,
        .listen_fd = fd,
        .handler = api_handle,
        .owner = geteuid(),
        .user = daemon->api,
    };
    code = http_create(&http, &daemon->http, err);
    if (code == 0)
        code = open_metrics(daemon, err);
    return code < 0 ? code : open_network(daemon, err);
}

/* Its own user and root can always use it: their names are kept while the database is down. */
static void learn_names(struct daemon *daemon)
{
    char name[IDENTITY_NAME_SIZE];

    names_start(daemon->workers);
    peer_name(0, name, NULL);
    peer_name(geteuid(), name, NULL);
}

static int open_all(struct daemon *daemon, struct error *err)
{
    const struct daemon_options *options = daemon->options;
    struct hub_options hub = {
        .loop = &daemon->loop,
        .state_dir = options->state_dir,
        .callbacks = { daemon, on_decided, on_changed, on_ended, on_forgotten },
    };

    int code = check_descriptors(err);
    if (code == 0)
        code = workers_start(&daemon->loop, &daemon->workers, err);
    if (code == 0)
        learn_names(daemon);
    if (code == 0)
        code = hub_create(&hub, &daemon->hub, err);
    if (code < 0)
        return code;
    daemon->inventory = inventory_create(daemon->hub, daemon, on_nodes_known);
    fill_control(daemon);
    daemon->reporter = (struct reporter){ .hub = daemon->hub,
                                          .control = &daemon->ports.control,
                                          .inventory = daemon->inventory,
                                          .shortage = shortage_create(&daemon->loop, daemon->hub),
                                          .checks = output_checks_create(&daemon->loop, daemon->hub,
                                                                         options->state_dir) };
    if (options->config)
        code = start_config_read(daemon->hub, options->config, &daemon->config, err);
    if (code == 0)
        code = open_engine(daemon, err);
    if (code < 0)
        return code;
    open_readings(daemon);
    code = open_machine(daemon, err);
    daemon->reporter.engine = daemon->engine;
    daemon->reporter.machine = daemon->machine;
    daemon->ports.control.is_whole_only = !daemon->engine->abilities.has_fractions;
    daemon->ports.control.has_parts = daemon->engine->abilities.has_parts;
    daemon->ports.control.has_fixed_gangs = daemon->engine->abilities.starts_whole;
    daemon->ports.control.lacks_warnings = !daemon->engine->abilities.can_warn;
    daemon->ports.control.has_fixed_nodes = !daemon->engine->abilities.has_own_nodes;
    daemon->ports.control.is_blind =
        daemon->engine->abilities.has_own_nodes && hub_state(daemon->hub)->nodes.count == 0;
    daemon->ports.control.lacks_mps = daemon->engine->abilities.has_own_nodes
                                          ? !daemon->engine->abilities.has_mps
                                          : !mps_is_there();
    if (code == 0)
        code = open_launcher(daemon, err);
    if (code < 0)
        return code;

    /* Before: what ended while there was no daemon is news, too. */
    code = alerter_create(&daemon->loop, daemon->hub, options->state_dir, &daemon->alerter, err);
    if (code < 0)
        return code;
    launcher_recover(daemon->launcher);
    daemon->first.run = run_first;
    daemon->first.done = done_first;
    hub_enqueue(daemon->hub, &daemon->first);
    while (!daemon->is_first_done)
        uv_run(&daemon->loop, UV_RUN_ONCE);
    if (daemon->first_code < 0)
        return error_set(err, daemon->first_code, "%s", daemon->first_error.text);
    if (daemon->config)
        code = start_config_apply(daemon->hub, &daemon->loop, &daemon->ports.control,
                                  options->config, TAKE(daemon->config), err);
    if (code < 0)
        return code;
    code = machine_watch(daemon->machine, daemon->launcher, launcher_look, err);
    if (code < 0)
        return code;
    launcher_look(daemon->launcher);
    daemon->calls =
        node_calls_create(&daemon->loop, daemon->hub, daemon->inventory, daemon->engine);
    daemon->faults = node_faults_create(&daemon->loop, daemon->hub, daemon->engine);
    alerter_watch(daemon->alerter, machine_devices_watch(daemon->machine));
    return open_door(daemon, err);
}

static void tell(const struct daemon *daemon, const char *words)
{
    int fd = daemon->options->notify_fd;

    if (fd < 0)
        return;
    dprintf(fd, "%s\n", words);
    close(fd);
}

static void on_walk(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void close_all(struct daemon *daemon)
{
    if (daemon->hub)
        hub_shut(daemon->hub);
    api_shut(daemon->api);
    studies_destroy(daemon->studies);
    daemon->studies = NULL;
    slack_chooser_destroy(daemon->slack_chooser);
    daemon->slack_chooser = NULL;
    forecaster_destroy(daemon->forecaster);
    daemon->forecaster = NULL;
    planned_destroy(daemon->planned);
    daemon->planned = NULL;
    http_destroy(daemon->metrics);
    http_destroy(daemon->network);
    door_release(&daemon->door);
    http_destroy(daemon->http);
    arrival_notes_destroy(daemon->reporter.notes);
    daemon->reporter.notes = NULL;
    api_destroy(daemon->api);
    daemon->api = NULL;
    uv_timer_stop(&daemon->tending);
    uv_timer_stop(&daemon->ending); /* it reads the state */
    alerter_destroy(daemon->alerter);
    daemon->alerter = NULL;
    machine_stop(daemon->machine);
    node_calls_destroy(daemon->calls);
    daemon->calls = NULL;
    node_faults_destroy(daemon->faults);
    if (daemon->engine)
        daemon->engine->ops->destroy(daemon->engine);
    inventory_destroy(daemon->inventory);
    shortage_destroy(daemon->reporter.shortage);
    hub_destroy(daemon->hub);
    output_checks_destroy(daemon->reporter.checks); /* the hub gives back ends that it has */
    launcher_destroy(daemon->launcher);
    readings_close(daemon->readings);
    workers_stop(daemon->workers);
    names_stop();
    uv_run(&daemon->loop, UV_RUN_NOWAIT);
    child_watch_drain(&daemon->loop);
    uv_walk(&daemon->loop, on_walk, NULL);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon->loop);
    machine_destroy(daemon->machine); /* what is prepared on devices is over only now */
    config_destroy(daemon->config);
    free(daemon->shim);
    free(daemon->slurm_dir);
}

static void start_signals(struct daemon *daemon)
{
    signal(SIGPIPE, SIG_IGN);
    uv_signal_init(&daemon->loop, &daemon->term);
    uv_signal_init(&daemon->loop, &daemon->interrupt);
    uv_timer_init(&daemon->loop, &daemon->ending);
    uv_timer_init(&daemon->loop, &daemon->tending);
    daemon->term.data = daemon->interrupt.data = daemon->ending.data = daemon->tending.data =
        daemon;
    uv_signal_start(&daemon->term, on_signal, SIGTERM);
    uv_signal_start(&daemon->interrupt, on_signal, SIGINT);
}

int daemon_run(const struct daemon_options *options, struct error *err)
{
    struct daemon daemon = { .options = options };
    bool is_listening = false;

    uv_loop_init(&daemon.loop);
    start_signals(&daemon);
    int code = open_all(&daemon, err);
    if (code == 0) {
        log_line(LOG_NOTICE, "ready version=%s state=%s socket=%s devices=%s", TARN_VERSION,
                 options->state_dir, options->socket, machine_devices(daemon.machine));
        tell(&daemon, "ready");
        tend_soon(&daemon); /* a wall clock not seen before is another: all is worked out */
        reserve_keep(options->state_dir);
        if (!daemon.is_ending)
            uv_run(&daemon.loop, UV_RUN_DEFAULT);
        is_listening = true;
    } else {
        if (code == -ENOSPC)
            error_prefix(err, code,
                         "state %s: make room for %d MiB on its file system, and start the daemon "
                         "again",
                         options->state_dir, RESERVE_BYTES >> 20);
        tell(&daemon, err->text);
    }
    close_all(&daemon);
    reserve_keep(options->state_dir);
    if (is_listening) /* last: a client that waits for our end may start another daemon */
        unlink(options->socket);
    return code;
}
