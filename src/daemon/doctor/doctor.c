/* SPDX-License-Identifier: Apache-2.0 */
/* tarn doctor: what there is, what is missing, and what to do about it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "daemon/doctor/doctor_ask.h"
#include "daemon/doctor/doctor_slurm.h"
#include "daemon/doctor/finding.h"
#include "device/host.h"
#include "device/mps.h"
#include "device/nvml/nvml.h"
#include "engine/local/cgroup.h"
#include "io/file.h"
#include "io/net/peer.h"
#include "io/parts.h"
#include "io/paths.h"
#include "store/journal.h"
#include "store/side.h"

enum { CLOCK_LEAST = 1704067200 /* 2024 */, PROC_MAX = 1024 * 1024 };

static void look_at_machine(void)
{
    struct probe_machine machine;
    char memory[UNITS_TEXT_SIZE], cpus[UNITS_TEXT_SIZE];
    struct error err;

    if (probe_machine(&machine, &err) < 0)
        finding_say(GRADE_BAD, "machine", "%s", err.text);
    else
        finding_say(GRADE_OK, "machine", "%s: %s CPUs, %s of memory", machine.name,
                    units_format_milli(cpus, machine.cpu_milli),
                    units_format_mib(memory, machine.memory_mib));
}

static void list_devices(struct probe *probe)
{
    struct probe_device *devices = NULL;
    uint32_t count = 0;
    struct error err;

    if (probe->ops->devices(probe, &devices, &count, &err) < 0)
        finding_say(GRADE_BAD, "gpus", "%s", err.text);
    else if (count == 0)
        finding_say(GRADE_NOTE, "gpus", "the driver (%s) reports none", probe_nvml_driver(probe));
    for (uint32_t i = 0; i < count; i++)
        finding_say(devices[i].sick[0] ? GRADE_BAD : GRADE_OK, "gpu", "%" PRIu32 " %s %s%s", i,
                    devices[i].product,
                    devices[i].sick[0] ? "is excluded from allocation: " : devices[i].uuid,
                    devices[i].sick);
    free(devices);
    probe->ops->destroy(probe);
}

static void look_at_mps(void)
{
    if (mps_is_there())
        finding_say(GRADE_OK, "mps", "nvidia-cuda-mps-control is installed");
    else
        finding_say(
            GRADE_NOTE, "mps",
            "no nvidia-cuda-mps-control: GPUs are shared without MPS, and requests for mps=N%% are "
            "refused");
}

/* Times that people give (begin, windows, cron) are those of this clock. */
static void look_at_clock(void)
{
    struct timex clock = { 0 };
    int state = adjtimex(&clock);

    if (time(NULL) < CLOCK_LEAST)
        finding_say(GRADE_BAD, "clock",
                    "the date is before 2024; set it, or times in jobs mean nothing");
    else if (state == TIME_ERROR || (clock.status & STA_UNSYNC))
        finding_say(GRADE_NOTE, "clock",
                    "not synchronized; begin times, windows and cron depend on it (timedatectl "
                    "set-ntp "
                    "true)");
    else
        finding_say(GRADE_OK, "clock", "synchronized");
}

static void look_at_devices(void)
{
    struct probe *probe = NULL;
    struct error why;

    switch (probe_nvml_create(NULL, &probe, &why)) {
    case NVML_READY:
        list_devices(probe);
        look_at_mps();
        break;
    case NVML_NO_LIBRARY:
        finding_say(GRADE_NOTE, "gpus", "%s; synthetic GPUs are used (--devices synthetic:h100:4)",
                    why.text);
        break;
    case NVML_NO_DRIVER:
    case NVML_NO_USE:
        finding_say(GRADE_BAD, "gpus", "%s", why.text);
        break;
    }
}

/* Where a controller is mounted ("": cgroup v2), and our group there; all NULL: it is not. */
static void find_mount(const char *controller, struct cgroup_mount *ret)
{
    AUTO_RELEASE(text) struct text mounts = { 0 }, self = { 0 };

    *ret = (struct cgroup_mount){ 0 };
    if (file_read("/proc/self/mountinfo", PROC_MAX, &mounts, NULL) == 0 &&
        file_read("/proc/self/cgroup", PROC_MAX, &self, NULL) == 0)
        cgroup_find_mount(text_string(&mounts), text_string(&self), controller, ret);
}

static void look_at_processes(const struct cgroup *cgroup)
{
    struct cgroup_mount mount;

    find_mount("", &mount);
    if (cgroup->tree)
        finding_say(GRADE_OK, "processes",
                    "contained by cgroup v2 in %s: no process outlives its job", mount.path);
    else if (!mount.path)
        finding_say(GRADE_NOTE, "processes",
                    "cgroup v2 is not mounted: jobs are watched, not contained");
    else if (cgroup->lacks_kill)
        finding_say(
            GRADE_NOTE, "processes",
            "cgroup v2 in %s has no cgroup.kill (Linux 5.14): jobs are watched, not contained",
            mount.path);
    else
        finding_say(
            GRADE_NOTE, "processes",
            "no control group in %s is delegated to you: jobs are watched, not contained; "
            "systemd-run --user --scope -p Delegate=yes tarn up starts a daemon with one, as does "
            "the machine's service",
            mount.path);
    cgroup_mount_release(&mount);
}

struct limit {
    const char *what, *controller;
    const char *with, *without; /* it */
    bool is_v2;
    const char *v1; /* NULL: not there */
};

/* In which of the two versions the limits of jobs are, or why they are in none. */
static void look_at_limit(const struct limit *limit)
{
    struct cgroup_mount mount;

    find_mount(limit->controller, &mount);
    if (limit->is_v2)
        finding_say(GRADE_OK, limit->what, "%s by cgroup v2", limit->with);
    else if (limit->v1)
        finding_say(GRADE_OK, limit->what, "%s by cgroup v1 in %s", limit->with, mount.path);
    else if (mount.own)
        finding_say(GRADE_NOTE, limit->what,
                    "%s: the %s controller belongs to cgroup v1, and you may not write %s",
                    limit->without, limit->controller, mount.own);
    else
        finding_say(GRADE_NOTE, limit->what,
                    "%s: no %s controller of cgroup v2 is delegated to you", limit->without,
                    limit->controller);
    cgroup_mount_release(&mount);
}

static void look_at_limits(const struct cgroup *cgroup)
{
    static const char with[] = "limits are enforced";
    static const char without[] = "limits are tracked, not enforced";
    AUTO_FREE char *pids = mem_printf(
        "the limit of %" PRId64 " processes and threads of a job is enforced", cgroup->pids_max);
    const struct limit limits[] = {
        { "memory", "memory", with, without, cgroup->has_memory, cgroup->memory },
        { "cpus", "cpu", with, without, cgroup->has_cpu, cgroup->cpu },
        { "pids", "pids", pids,
          "no limit of processes is in force, so a job can take all of the machine",
          cgroup->pids_max > 0 && !cgroup->pids, cgroup->pids },
    };

    for (size_t i = 0; i < COUNT_OF(limits); i++)
        look_at_limit(&limits[i]);
}

static void look_at_containment(void)
{
    struct cgroup cgroup = { 0 };

    cgroup_detect(&cgroup, "doctor", geteuid() == 0);
    look_at_processes(&cgroup);
    look_at_limits(&cgroup);
    if (cgroup.can_fence || cgroup.devices)
        finding_say(GRADE_OK, "fence", "jobs can open only their own GPUs, by cgroup %s",
                    cgroup.can_fence ? "v2" : "v1");
    else
        finding_say(GRADE_NOTE, "fence", "jobs can open each other's GPUs: %s",
                    geteuid() == 0 ? "neither version of cgroups denies device files here"
                                   : "only a daemon of root can deny device files");
    cgroup_release(&cgroup, true);
}

static void look_at_shim(void)
{
    AUTO_FREE char *shim = NULL;
    struct error err;

    if (part_find_shim(&shim, &err) < 0)
        finding_say(GRADE_BAD, "shim", "%s", err.text);
    else
        finding_say(GRADE_OK, "shim", "%s", shim);
}

static void look_at_disk(const char *dir)
{
    enum { NFS = 0x6969, FREE_MIB_MIN = 256 };
    struct statfs disk;
    char free_text[UNITS_TEXT_SIZE];

    if (statfs(dir, &disk) < 0)
        return;
    int64_t free_mib = (int64_t)(disk.f_bavail * (uint64_t)disk.f_bsize >> 20);
    if (disk.f_type == NFS && !doctor_serves_slurm()) /* the nodes of a cluster need it there */
        finding_say(GRADE_BAD, "disk",
                    "%s is on NFS, where the journal's locks cannot be relied on; set TARN_STATE",
                    dir);
    finding_say(free_mib < FREE_MIB_MIN ? GRADE_BAD : GRADE_OK, "disk", "%s free in %s",
                units_format_mib(free_text, free_mib), dir);
}

static void say_aside(void *user, const char *name, const char *why)
{
    const struct paths *paths = user;

    finding_say(GRADE_BAD, "aside",
                "%s/%s: the file is %s: the daemon does not use it; remove it to end this",
                paths->state, name, strcmp(why, "newer") == 0 ? "of a newer version" : why);
}

static void look_at_state(const struct paths *paths)
{
    __attribute__((cleanup(journal_auto_destroy))) struct journal *journal = NULL;
    struct error err;

    if (access(paths->state, F_OK) < 0) {
        finding_say(GRADE_NOTE, "state", "%s: does not exist yet; created at the first start",
                    paths->state);
        return;
    }
    if (access(paths->state, W_OK) < 0)
        finding_say(GRADE_BAD, "state", "%s: %s", paths->state, strerror(errno));
    look_at_disk(paths->state);
    side_each_aside(paths->state, say_aside, (void *)(uintptr_t)paths);
    int code = journal_open(paths->state, JOURNAL_READ, &journal, &err);
    if (code == -ENOENT)
        finding_say(GRADE_NOTE, "journal", "none yet");
    else if (code < 0)
        finding_say(GRADE_BAD, "journal", "%s", err.text);
    else {
        char size[UNITS_TEXT_SIZE];
        finding_say(GRADE_OK, "journal", "%" PRIu64 " records, %s", journal_last(journal),
                    units_format_mib(size, (journal_size(journal) + (1 << 20) - 1) >> 20));
    }
}

static bool daemon_answers(void)
{
    AUTO(json) json_t *reply = NULL;
    struct error err;

    int code = doctor_ask("/v1/daemon", &reply, &err);
    if (code == -ETIMEDOUT)
        finding_say(GRADE_BAD, "daemon", "%s (%d s)", err.text, DOCTOR_ANSWER_S);
    return code != -ETIMEDOUT;
}

static void look_at_daemon(const struct paths *paths)
{
    struct rlimit limit;

    if (!paths_is_listening(paths->socket))
        finding_say(GRADE_NOTE, "daemon", "none on %s; tarn up starts one", paths->socket);
    else if (daemon_answers())
        finding_say(GRADE_OK, "daemon", "listens on %s", paths->socket);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < 4096)
        finding_say(
            GRADE_NOTE, "files",
            "at most %ld open files: about as many jobs can run at a time; raise ulimit -Hn",
            (long)limit.rlim_max);
}

/* A daemon of another user has other rights, and another state directory: what this process may do
 * says nothing about it. */
static bool look_at_shared(const struct paths *paths)
{
    char owner[IDENTITY_NAME_SIZE];
    struct stat status;

    if (stat(paths->socket, &status) < 0 || status.st_uid == geteuid() ||
        !paths_is_listening(paths->socket))
        return false;
    peer_name(status.st_uid, owner, NULL);
    if (!daemon_answers())
        return true;
    finding_say(
        GRADE_OK, "daemon",
        "%s runs it for all users, on %s; its control groups, state and journal are checked if %s "
        "runs tarn doctor",
        owner, paths->socket, owner);
    return true;
}

int run_doctor(const struct options *options)
{
    struct paths paths = { 0 };
    struct error err;

    findings_begin(options->is_json);
    look_at_machine();
    look_at_clock();
    look_at_devices();
    int code = paths_find(&paths, &err);
    if (code < 0)
        finding_say(GRADE_BAD, "paths", "%s", err.text);
    if (code < 0 || !look_at_shared(&paths)) {
        look_at_containment();
        look_at_shim();
        if (code == 0) {
            look_at_state(&paths);
            look_at_daemon(&paths);
        }
    }
    doctor_slurm();
    paths_release(&paths);
    return findings_end() ? 0 : 1;
}
