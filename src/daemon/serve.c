/* SPDX-License-Identifier: Apache-2.0 */
/* tarn serve: options and folders, then the daemon. */
#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "daemon/daemon.h"
#include "io/file.h"
#include "io/log.h"
#include "io/paths.h"
#include "io/reserve.h"

enum {
    STATE,
    SOCKET,
    CONFIG,
    DEVICES,
    ENGINE,
    GRACE,
    STUDY,
    ALL,
    SHIM,
    METRICS,
    JOB_DIR,
    NOTIFY,
    LISTEN,
    CERTIFICATE,
    KEY,
    HOSTS,
    LOGIN,
    PROXY,
    PROXY_SECRET,
    PROXY_HEADER
};

const struct option_entry options_serve[] = {
    [STATE] = { "state", 0, "DIR", "state directory (default: see tarn(1), FILES)" },
    [SOCKET] = { "socket", 0, "PATH", "socket to listen on" },
    [CONFIG] = { "config", 0, "FILE",
                 "apply this configuration at each start, as tarn apply does" },
    [DEVICES] = { "devices", 0, "DEVICES",
                  "auto, nvml, amd, intel, none, recorded:FILE, synthetic:h100:4 "
                  "($TARN_DEVICES)" },
    [ENGINE] = { "engine", 0, "ENGINE", "local, or the name or path of a module (default local)" },
    [GRACE] = { "grace", 0, "DURATION",
                "time between SIGTERM and SIGKILL for jobs without --grace (default 30s)" },
    [STUDY] = { "study-limit", 0, "DURATION", "time limit of a what-if or a replay (default 2m)" },
    [ALL] = { "all-users", 0, NULL, "open the socket to all users of this machine (only root)" },
    [SHIM] = { "shim", 0, "PATH", "path of tarn-shim, which supervises a job" },
    [METRICS] = { "metrics", 0, "[HOST:]PORT",
                  "serve /metrics to Prometheus; without HOST to this machine only" },
    [JOB_DIR] = { "hpc-job-dir", 0, "DIR",
                  "write to DIR which jobs hold which GPU, for dcgm-exporter" },
    [NOTIFY] = { "notify-fd", 0, "N", "write \"ready\" or the error to this descriptor" },
    [LISTEN] = { "listen", 0, "[HOST:]PORT",
                 "serve the API over HTTPS, too; http://PORT: without TLS, to this machine only" },
    [CERTIFICATE] = { "tls-cert", 0, "FILE", "certificate in PEM (default: a self-signed one)" },
    [KEY] = { "tls-key", 0, "FILE", "its private key in PEM" },
    [HOSTS] = { "host", 0, "NAMES", "more names of this server, separated by commas" },
    [LOGIN] = { "login", 0, "pam", "take the passwords of this machine's accounts, by PAM" },
    [PROXY] = { "proxy", 0, "ADDRESS", "trust the proxy at this address to identify users" },
    [PROXY_SECRET] = { "proxy-secret", 0, "FILE", "what it sends as Tarn-Proxy-Secret" },
    [PROXY_HEADER] = { "proxy-header", 0, "NAME",
                       "its header with the user (default X-Forwarded-User)" },
    { 0 },
};

/* All of a path but its last part is made as well, ours alone. */
static int make_folders(const char *path, unsigned mode, struct error *err)
{
    AUTO_FREE char *copy = mem_string(path);
    int code = 0;

    for (char *at = strchr(copy + 1, '/'); code == 0 && at; at = strchr(at + 1, '/')) {
        *at = '\0';
        code = folder_make(copy, 0755, err);
        *at = '/';
    }
    return code == 0 ? folder_make(copy, mode, err) : code;
}

static int make_places(const struct daemon_options *options, struct error *err)
{
    AUTO_FREE char *socket = mem_string(options->socket);

    int code = make_folders(options->state_dir, options->for_all_users ? 0711 : 0700, err);
    /* Jobs of others reach their own folders through it; the journal itself is closed to them. */
    if (code == 0 && options->for_all_users && chmod(options->state_dir, 0711) < 0)
        code = error_set(err, -errno, "folder %s: %s", options->state_dir, strerror(errno));
    char *parent = dirname(socket);
    if (code == 0 && strcmp(parent, options->state_dir) != 0 && access(parent, F_OK) < 0)
        code = make_folders(parent, options->for_all_users ? 0755 : 0700, err);
    return code;
}

static int check_options(const struct options *given, struct daemon_options *options)
{
    const char *const *values = given->values;
    struct error err;

    if (values[GRACE] && units_parse_duration(values[GRACE], &options->grace, &err) < 0)
        return usage_wrong("serve", "--grace %s", err.text);
    if (values[STUDY] && (units_parse_duration(values[STUDY], &options->study_limit, &err) < 0 ||
                          options->study_limit < USEC_PER_SEC))
        return usage_wrong("serve", "--study-limit '%s': expected a duration of at least 1s",
                           values[STUDY]);
    if (!option_fd(values[NOTIFY], &options->notify_fd))
        return usage_wrong("serve", "--notify-fd '%s': expected a number", values[NOTIFY]);
    options->for_all_users |= values[ALL] != NULL;
    options->shim = values[SHIM];
    options->config = values[CONFIG];
    options->metrics = values[METRICS];
    options->door = (struct door_options){ .address = values[LISTEN],
                                           .certificate = values[CERTIFICATE],
                                           .key = values[KEY],
                                           .hosts = values[HOSTS],
                                           .login = values[LOGIN],
                                           .proxy = values[PROXY],
                                           .proxy_secret = values[PROXY_SECRET],
                                           .proxy_header = values[PROXY_HEADER] };
    options->hpc_job_dir = values[JOB_DIR];
    options->devices = values[DEVICES] ? values[DEVICES] : options->devices;
    options->engine = values[ENGINE] ? values[ENGINE] : "local";
    return 0;
}

/* Where the daemon acts with the rights of a job's user (job_folders.h), its own groups must not
 * count. */
static int drop_groups(struct error *err)
{
    if (geteuid() == 0 && setgroups(0, NULL) < 0)
        return error_set(err, -errno, "groups: cannot be dropped: %s", strerror(errno));
    return 0;
}

static int run(struct daemon_options *options, struct error *err)
{
    enum reserve reserve = reserve_prepare(options->state_dir);

    if (reserve == RESERVE_USED)
        log_line(LOG_WARNING, "the disk is full: the daemon starts with its reserve state=%s",
                 options->state_dir);
    else if (reserve == RESERVE_NONE)
        log_line(LOG_WARNING,
                 "the disk is full, and no reserve is left from an earlier start: the daemon may "
                 "not start before there is room state=%s",
                 options->state_dir);
    return daemon_run(options, err);
}

static int serve(struct daemon_options *options, struct error *err)
{
    int code = 0;

    if (options->state_dir[0] != '/' || options->socket[0] != '/')
        code = error_set(err, -EINVAL, "serve: --state and --socket need absolute paths");
    else if (options->for_all_users && geteuid() != 0)
        code = error_set(err, -EPERM, "serve: --all-users needs root: each job runs as its user");
    if (code == 0)
        code = make_places(options, err);
    if (code == 0 && options->for_all_users)
        code = drop_groups(err);
    return code == 0 ? run(options, err) : code;
}

int run_serve(const struct options *given)
{
    const char *devices = getenv("TARN_DEVICES");
    struct daemon_options options = {
        .devices = devices && devices[0] ? devices : "auto",
        .grace = DAEMON_GRACE_DEFAULT,
        .study_limit = DAEMON_STUDY_LIMIT_DEFAULT,
    };
    AUTO_FREE char *below = NULL; /* the socket in a state directory that was named */
    struct paths paths = { 0 };
    struct error err;

    int status = check_options(given, &options);
    if (status != 0)
        return status;
    int code = paths_find(&paths, &err);
    if (code == 0) {
        if (given->values[STATE])
            below = mem_printf("%s/tarn.sock", given->values[STATE]);
        options.for_all_users |= geteuid() == 0 && paths.is_machine_wide;
        options.state_dir = given->values[STATE] ? given->values[STATE] : paths.state;
        options.socket = given->values[SOCKET] ? given->values[SOCKET]
                         : below               ? below
                                               : paths.socket;
        code = serve(&options, &err);
    }
    paths_release(&paths);
    if (code < 0)
        fprintf(stderr, "tarn: %s\n", err.text);
    return code < 0 ? 1 : 0;
}
