/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine slurm needs of a cluster, as the commands of Slurm show it. */
#include "daemon/doctor/doctor_slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cmd/import_source.h"
#include "cli/fields.h"
#include "daemon/doctor/doctor_ask.h"
#include "daemon/doctor/finding.h"
#include "io/net/peer.h"
#include "io/parts.h"
#include "wire/slurm/slurm_files.h"

struct site {
    struct slurm_lines config;
    json_t *daemon, *settings;     /* of the daemon that listens; NULL: none does */
    const char *partition;         /* "": the default one */
    const char *account;           /* "": that of each user */
    char user[IDENTITY_NAME_SIZE]; /* of the daemon */
    bool is_allocation, is_adopting;
};

/* ---- the daemon ---- */

static json_t *ask_daemon(const char *path)
{
    json_t *reply = NULL;
    struct error err;

    return doctor_ask(path, &reply, &err) < 0 ? NULL : reply;
}

static bool is_of_slurm(const json_t *daemon)
{
    return strcmp(field_text(daemon, "engine"), "slurm") == 0;
}

bool doctor_serves_slurm(void)
{
    AUTO(json) json_t *daemon = ask_daemon("/v1/daemon");

    return daemon && is_of_slurm(daemon);
}

static void read_settings(struct site *site)
{
    const json_t *slurm = json_object_get(site->settings, "slurm");

    site->partition = field_text(slurm, "partition");
    site->account = field_text(slurm, "account");
    site->is_allocation = strcmp(field_text(slurm, "mode"), "allocation") == 0;
    site->is_adopting = field_is_true(slurm, "adopt");
    if (site->daemon)
        snprintf(site->user, sizeof(site->user), "%s", field_text(site->daemon, "user"));
    else
        peer_name(geteuid(), site->user, NULL);
}

/* ---- what Slurm says ---- */

static bool ask(const char *command, struct slurm_lines *ret, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    if (import_ask(command, &text, err) < 0)
        return false;
    struct slurm_source source = { command, text_string(&text) };
    slurm_lines_of_listing(&source, ret);
    return true;
}

static const char *get(const struct site *site, const char *key)
{
    const char *found = NULL;

    LIST_EACH (const struct slurm_line, line, &site->config.all) {
        const char *value = slurm_line_get(line, key);
        found = value ? value : found;
    }
    return found ? found : "";
}

/* Whether slurm.conf is where the commands of Slurm look for it: without it, they try for a minute.
 */
static bool has_conf(void)
{
    static const char *const places[] = { "/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf" };
    const char *own = getenv("SLURM_CONF");

    if (own)
        return access(own, R_OK) == 0;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (access(places[i], R_OK) == 0)
            return true;
    }
    return false;
}

static void look_at_module(void)
{
    AUTO_FREE char *path = NULL;
    struct error err;

    if (part_find("tarn-engine-slurm.so", "src/engine", &path, &err) < 0)
        finding_say(GRADE_BAD, "engine",
                    "%s; it is built where libslurm-dev is installed (meson setup --wipe build)",
                    err.text);
    else
        finding_say(GRADE_OK, "engine", "%s", path);
}

static bool look_at_controller(struct site *site)
{
    AUTO_RELEASE(text) struct text answer = { 0 };
    struct error err;

    if (import_ask("scontrol ping", &answer, &err) < 0 ||
        !ask("scontrol show config", &site->config, &err)) {
        finding_say(GRADE_BAD, "slurmctld", "%s; check that it runs, and that the munge keys agree",
                    err.text);
        return false;
    }
    finding_say(GRADE_OK, "slurmctld", "Slurm %s, cluster %s", get(site, "SLURM_VERSION"),
                get(site, "ClusterName"));
    return true;
}

static void look_at_settings(const struct site *site)
{
    const char *select = get(site, "SelectType"), *gres = get(site, "GresTypes");
    const char *tasks = get(site, "TaskPlugin"), *fence = get(site, "ConstrainDevices");

    if (strcmp(select, "select/cons_tres") != 0)
        finding_say(GRADE_BAD, "select", "SelectType is %s; expected select/cons_tres", select);
    if (!strstr(gres, "gpu"))
        finding_say(GRADE_BAD, "gres",
                    "GresTypes is '%s'; expected gpu, without which there are no "
                    "GPUs",
                    gres);
    else
        finding_say(GRADE_OK, "gres", "GresTypes is %s", gres);
    if (strstr(tasks, "task/cgroup") && strcmp(fence, "yes") == 0)
        finding_say(GRADE_OK, "node fence", "jobs can open only their own GPUs (ConstrainDevices)");
    else
        finding_say(GRADE_NOTE, "node fence",
                    "jobs can open each other's GPUs: TaskPlugin is %s, ConstrainDevices is %s; "
                    "expected task/cgroup in slurm.conf, and yes in cgroup.conf",
                    tasks[0] ? tasks : "not set", fence[0] ? fence : "not set");
}

/* ---- partition and account ---- */

static const struct slurm_line *find_partition(const struct site *site,
                                               const struct slurm_lines *lines, struct text *names)
{
    const struct slurm_line *found = NULL;

    LIST_EACH (const struct slurm_line, line, &lines->all) {
        const char *name = slurm_line_get(line, "PartitionName");
        const char *is_default = slurm_line_get(line, "Default");
        if (!name)
            continue;
        text_printf(names, "%s%s", names->length > 0 ? ", " : "", name);
        if (site->partition[0] ? strcmp(name, site->partition) == 0
                               : is_default && strcmp(is_default, "YES") == 0)
            found = line;
    }
    return found;
}

/* The GPUs of its nodes: "gpu:h100:4" of each kind of node. */
static char *gpus_of(const char *partition)
{
    AUTO_RELEASE(text) struct text all = { 0 };
    struct text found = { 0 };
    size_t length = strlen(partition);
    struct error err;

    if (import_ask("sinfo -h -o '%R %G'", &all, &err) < 0)
        return text_take(&found);
    for (char *rest = all.bytes, *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, partition, length) == 0 && line[length] == ' ' &&
            strstr(line + length, "gpu"))
            text_printf(&found, "%s%s", found.length > 0 ? ", " : "", line + length + 1);
    }
    return text_take(&found);
}

static void judge_partition(const struct slurm_line *line)
{
    const char *name = slurm_line_get(line, "PartitionName");
    const char *state = slurm_line_get(line, "State"), *nodes = slurm_line_get(line, "Nodes");
    AUTO_FREE char *gpus = gpus_of(name);

    if (!state || strcmp(state, "UP") != 0)
        finding_say(GRADE_BAD, "partition", "%s is %s; expected UP", name, state ? state : "gone");
    else if (!nodes)
        finding_say(GRADE_BAD, "partition", "%s has no nodes", name);
    else if (!gpus[0])
        finding_say(GRADE_BAD, "partition", "%s: no node has GPUs; expected Gres=gpu:TYPE:COUNT",
                    name);
    else
        finding_say(GRADE_OK, "partition", "%s: nodes %s with %s", name, nodes, gpus);
}

static void look_at_partition(const struct site *site)
{
    AUTO_RELEASE(slurm_lines) struct slurm_lines lines = { 0 };
    AUTO_RELEASE(text) struct text names = { 0 };
    struct error err;

    if (!ask("scontrol -o show partition", &lines, &err)) {
        finding_say(GRADE_BAD, "partition", "%s", err.text);
        return;
    }
    const struct slurm_line *found = find_partition(site, &lines, &names);
    if (found)
        judge_partition(found);
    else if (site->partition[0])
        finding_say(GRADE_BAD, "partition", "there is no '%s' (slurm: partition); there are: %s",
                    site->partition, text_string(&names));
    else
        finding_say(GRADE_BAD, "partition",
                    "Slurm has no default partition; expected slurm: {partition: NAME}, one of: %s",
                    text_string(&names));
}

static bool has_line(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (strncmp(at, word, length) == 0 && (at[length] == '\n' || !at[length]))
            return true;
    }
    return false;
}

static void look_at_account(const struct site *site)
{
    AUTO_RELEASE(text) struct text names = { 0 };
    struct error err;

    bool is_enforced = strstr(get(site, "AccountingStorageEnforce"), "associations");
    if (!site->account[0]) {
        if (is_enforced)
            finding_say(GRADE_OK, "account",
                        "the default account of each user, which must have one");
        return;
    }
    if (!strstr(get(site, "AccountingStorageType"), "slurmdbd"))
        finding_say(GRADE_NOTE, "account", "'%s' is not checked: Slurm has no accounting database",
                    site->account);
    else if (import_ask("sacctmgr -nP show account format=Account", &names, &err) < 0)
        finding_say(GRADE_NOTE, "account", "'%s' is not checked: %s", site->account, err.text);
    else if (!has_line(text_string(&names), site->account))
        finding_say(is_enforced ? GRADE_BAD : GRADE_NOTE, "account",
                    "there is no '%s' (slurm: account); sacctmgr show account lists them",
                    site->account);
    else
        finding_say(GRADE_OK, "account", "%s", site->account);
}

/* ---- rights, and the folder of the state ---- */

static bool is_slurm_user(const struct site *site)
{
    const char *user = get(site, "SlurmUser"); /* "slurm(64030)" */
    size_t length = strcspn(user, "(");

    return strlen(site->user) == length && strncmp(user, site->user, length) == 0;
}

static void look_at_rights(const struct site *site)
{
    bool is_root = strcmp(site->user, "root") == 0, is_own = is_slurm_user(site);

    if (site->is_adopting && !is_root && !is_own)
        finding_say(
            GRADE_BAD, "rights",
            "%s may not change the jobs of others, as adopt needs; expected a daemon of root "
            "or of SlurmUser",
            site->user);
    else if (is_root && site->is_allocation && strcmp(get(site, "DisableRootJobs"), "Yes") == 0)
        finding_say(
            GRADE_BAD, "rights",
            "Slurm refuses the allocations of root; expected DisableRootJobs=NO, or a daemon "
            "of another user");
    else if (is_root)
        finding_say(GRADE_OK, "rights", "the daemon is root's: each job runs as its user");
    else
        finding_say(
            GRADE_NOTE, "rights",
            "the daemon is %s's: it runs the jobs of %s only%s; a daemon of root serves all "
            "users",
            site->user, site->user,
            is_own ? "" : ", and drains no nodes with faulty GPUs in Slurm");
    if (site->is_adopting && !strstr(get(site, "JobSubmitPlugins"), "lua"))
        finding_say(GRADE_NOTE, "adopt",
                    "JobSubmitPlugins has no lua: users must submit with sbatch --hold");
}

static void look_at_folder(const char *folder)
{
    static const uint32_t shared[] = { 0x6969 /* NFS */,       0x0bd00bd3 /* Lustre */,
                                       0x47504653 /* GPFS */,  0x19830326 /* BeeGFS */,
                                       0x00c36400 /* Ceph */,  0xff534d42 /* CIFS */,
                                       0xfe534d42 /* SMB2 */,  0x65735546 /* FUSE */,
                                       0xaad7aaea /* PanFS */, 0x01161970 /* GFS2 */ };
    struct statfs disk;

    if (statfs(folder, &disk) < 0)
        return;
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        if ((uint32_t)disk.f_type == shared[i]) {
            finding_say(GRADE_OK, "shared", "%s is on a network file system", folder);
            return;
        }
    }
    finding_say(
        GRADE_NOTE, "shared",
        "%s is on a local file system; all nodes need it at the same path: srun -N COUNT ls "
        "-d %s",
        folder, folder);
}

static void look_at_site(struct site *site)
{
    if (!look_at_controller(site))
        return;
    look_at_settings(site);
    finding_say(GRADE_OK, "mode", "%s%s",
                site->is_allocation ? "allocation: tarn holds nodes, and runs jobs on them"
                                    : "job: each attempt is a Slurm job",
                site->is_adopting ? "; jobs of sbatch are adopted" : "");
    look_at_partition(site);
    look_at_account(site);
    look_at_rights(site);
}

void doctor_slurm(void)
{
    struct site site = { .daemon = ask_daemon("/v1/daemon") };
    bool is_served = site.daemon && is_of_slurm(site.daemon), has_file = has_conf();
    const char *own = getenv("SLURM_CONF");

    if (is_served || has_file || own) {
        site.settings = is_served ? ask_daemon("/v1/config") : NULL;
        read_settings(&site);
        look_at_module();
        if (has_file)
            look_at_site(&site);
        else
            finding_say(GRADE_BAD, "slurm.conf",
                        "%s: cannot be read; set SLURM_CONF to that of the cluster",
                        own ? own : "/etc/slurm/slurm.conf");
        if (is_served)
            look_at_folder(field_text(site.daemon, "state_dir"));
    }
    slurm_lines_release(&site.config);
    json_decref(site.daemon);
    json_decref(site.settings);
}
