/* SPDX-License-Identifier: Apache-2.0 */
/* tarn serve: options and folders, then the daemon. */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "daemon/daemon.h"
#include "io/file.h"
#include "io/paths.h"

static const char usage[] =
    "Usage: tarn serve [OPTIONS]\n"
    "Run the daemon in the foreground. `tarn up` does the same in the background.\n"
    "\n"
    "  --state DIR        where everything is kept (default: see tarn(1), FILES)\n"
    "  --socket PATH      where to listen\n"
    "  --devices DEVICES  auto, nvml, amd, intel, none, recorded:FILE, synthetic:h100:4\n"
    "                     ($TARN_DEVICES)\n"
    "  --engine ENGINE    what runs jobs: local, or a module's name or path (default: local)\n"
    "  --grace DURATION   between SIGTERM and SIGKILL, of jobs that say nothing (default 30s)\n"
    "  --study-limit DURATION  how long a what-if or a replay may take (default 1m)\n"
    "  --all-users        open the socket to all users of this machine (only root)\n"
    "  --shim PATH        the tarn-shim to start jobs with\n"
    "  --metrics [HOST:]PORT  let Prometheus read /metrics there; of this machine only, without "
    "HOST\n"
    "  --hpc-job-dir DIR  say there which jobs have which GPU, as dcgm-exporter reads it\n"
    "  --notify-fd N      write \"ready\" or what went wrong to this descriptor\n"
    "  -h, --help         this\n";

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

enum {
    OPTION_STATE = 256,
    OPTION_SOCKET,
    OPTION_DEVICES,
    OPTION_ENGINE,
    OPTION_GRACE,
    OPTION_STUDY,
    OPTION_ALL,
    OPTION_SHIM,
    OPTION_METRICS,
    OPTION_JOB_DIR,
    OPTION_NOTIFY
};

static int read_number(const char *text, int *ret)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end || value > 1023)
        return -EINVAL;
    *ret = (int)value;
    return 0;
}

static int read_options(int argc, char **argv, struct daemon_options *options, struct paths *paths)
{
    static const struct option longs[] = {
        { "state", required_argument, NULL, OPTION_STATE },
        { "socket", required_argument, NULL, OPTION_SOCKET },
        { "devices", required_argument, NULL, OPTION_DEVICES },
        { "engine", required_argument, NULL, OPTION_ENGINE },
        { "grace", required_argument, NULL, OPTION_GRACE },
        { "study-limit", required_argument, NULL, OPTION_STUDY },
        { "all-users", no_argument, NULL, OPTION_ALL },
        { "shim", required_argument, NULL, OPTION_SHIM },
        { "metrics", required_argument, NULL, OPTION_METRICS },
        { "hpc-job-dir", required_argument, NULL, OPTION_JOB_DIR },
        { "notify-fd", required_argument, NULL, OPTION_NOTIFY },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    struct error err;
    int option;

    optind = 0;
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) >= 0) {
        switch (option) {
        case OPTION_STATE:
            options->state_dir = optarg;
            break;
        case OPTION_SOCKET:
            options->socket = optarg;
            break;
        case OPTION_DEVICES:
            options->devices = optarg;
            break;
        case OPTION_ENGINE:
            options->engine = optarg;
            break;
        case OPTION_GRACE:
            if (units_parse_duration(optarg, &options->grace, &err) < 0) {
                fprintf(stderr, "tarn: --grace %s\n", err.text);
                return 2;
            }
            break;
        case OPTION_STUDY:
            if (units_parse_duration(optarg, &options->study_limit, &err) < 0 ||
                options->study_limit < USEC_PER_SEC) {
                fprintf(stderr, "tarn: --study-limit '%s': expected a duration from 1s on\n",
                        optarg);
                return 2;
            }
            break;
        case OPTION_ALL:
            options->for_all_users = true;
            break;
        case OPTION_SHIM:
            options->shim = optarg;
            break;
        case OPTION_METRICS:
            options->metrics = optarg;
            break;
        case OPTION_JOB_DIR:
            options->hpc_job_dir = optarg;
            break;
        case OPTION_NOTIFY:
            if (read_number(optarg, &options->notify_fd) < 0) {
                fprintf(stderr, "tarn: --notify-fd '%s': expected a number\n", optarg);
                return 2;
            }
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            fputs("tarn serve --help tells how it is used\n", stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "tarn: serve takes no '%s'\n", argv[optind]);
        return 2;
    }
    if (!options->socket && options->state_dir) {
        free(paths->socket);
        paths->socket = mem_printf("%s/tarn.sock", options->state_dir);
    }
    return 0;
}

/* Where we act with the rights of a job's user (folders.h), our own groups must not count. */
static int drop_groups(struct error *err)
{
    if (geteuid() == 0 && setgroups(0, NULL) < 0)
        return error_set(err, -errno, "groups: can't be given up: %s", strerror(errno));
    return 0;
}

int run_serve(int argc, char **argv)
{
    const char *devices = getenv("TARN_DEVICES");
    struct daemon_options options = {
        .devices = devices && devices[0] ? devices : "auto",
        .engine = "local",
        .grace = DAEMON_GRACE_DEFAULT,
        .study_limit = DAEMON_STUDY_LIMIT_DEFAULT,
        .notify_fd = -1,
    };
    struct paths paths = { 0 };
    struct error err;

    int code = paths_find(&paths, &err);
    if (code == 0) {
        options.for_all_users = geteuid() == 0 && paths.is_machine_wide;
        int status = read_options(argc, argv, &options, &paths);
        if (status != 0) {
            paths_release(&paths);
            return status;
        }
        options.state_dir = options.state_dir ? options.state_dir : paths.state;
        options.socket = options.socket ? options.socket : paths.socket;
        if (options.state_dir[0] != '/' || options.socket[0] != '/')
            code = error_set(&err, -EINVAL, "serve: --state and --socket need absolute paths");
    }
    if (code == 0 && options.for_all_users && geteuid() != 0)
        code =
            error_set(&err, -EPERM, "serve: --all-users needs root: each job runs as who sent it");
    if (code == 0)
        code = make_places(&options, &err);
    if (code == 0 && options.for_all_users)
        code = drop_groups(&err);
    if (code == 0)
        code = daemon_run(&options, &err);
    paths_release(&paths);
    if (code < 0) {
        fprintf(stderr, "tarn: %s\n", err.text);
        return 1;
    }
    return 0;
}
