/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/slurm/slurm_import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "wire/slurm/slurm_files.h"

enum { NAME_MAX_LENGTH = 63 };

struct account {
    const char *name, *parent; /* parent: NULL: at the top */
    const struct slurm_line *line;
    LIST(const struct slurm_line *) users;
    bool is_parent;
};

struct import {
    struct text *config, *report;
    struct slurm_lines conf, accounts, qos;
    LIST(struct account) queues;
    const struct slurm_line *partition;
    struct slurm_line defaults; /* of partitions; the pairs belong to the lines */
};

/* ---- the report ---- */

static void report(struct import *import, const char *file, unsigned line, const char *what,
                   const char *words)
{
    char clean[160];

    string_clean(clean, sizeof(clean), what, strlen(what));
    text_printf(import->report, "%s:%u: %s: %s\n", file, line, clean, words);
}

static void report_pair(struct import *import, const char *file, const struct slurm_line *line,
                        const char *key, const char *words)
{
    const char *value = slurm_line_get(line, key);
    AUTO_FREE char *what = mem_printf("%s=%s", key, value ? value : "");

    if (value)
        report(import, file, line->number, what, words);
}

/* Settings of slurm.conf that mean something for the order and the places of jobs. */
static const struct {
    const char *key, *harmless, *words; /* a key that ends with '*' is a prefix */
} conf_keys[] = {
    { "Include", NULL, "this file is not read: put its lines in place of this one" },
    { "PriorityWeight*", "0",
      "tarn has no weights: fair share between queues, then priority, then short jobs first, none "
      "delayed beyond its protected start" },
    { "PriorityMaxAge", NULL, "see `slack_percent` and `slack_least` of a queue" },
    { "PriorityFavorSmall", "NO", "tarn prefers short jobs, not small ones" },
    { "PriorityUsageResetPeriod", "NONE", "past usage decays (fair_share); budgets have periods" },
    { "PreemptType", "preempt/none",
      "tarn preempts jobs that are `preemptible`, for queues within their guarantee: set "
      "`guarantee` and `preemptible`" },
    { "PreemptMode", "OFF", "a preempted job is ended and queued again; there is no suspension" },
    { "PreemptExemptTime", NULL, "see `min_runtime` of a queue" },
    { "TopologyPlugin", "topology/none", "name the racks: nodes: {NAME: {rack: R}}" },
    { "Licenses", NULL, "tarn counts no licenses" },
    { "JobSubmitPlugins", NULL,
      "the plugin still runs; rules for submissions are keys of queues, too (submit, "
      "longest_duration, gpus_per_job)" },
    { "MaxArraySize", NULL, "arrays of tarn have a limit of their own" },
    { "SuspendProgram", NULL, "see node_types and `tarn scale`" },
    { "ResumeProgram", NULL, "see node_types and `tarn scale`" },
    { "OverTimeLimit", "0", "tarn ends a job at its limit" },
    { "EnforcePartLimits", "NO", "tarn refuses a job above the limits of its queue" },
};

static void report_conf(struct import *import, const struct slurm_line *line)
{
    const struct slurm_pair *pair = &line->pairs.items[0];

    for (size_t i = 0; i < COUNT_OF(conf_keys); i++) {
        const char *key = conf_keys[i].key;
        size_t length = strcspn(key, "*");
        bool is_it = strncasecmp(pair->key, key, length) == 0 &&
                     (key[length] == '*' || pair->key[length] == '\0');
        AUTO_FREE char *what =
            mem_printf("%s%s%s", pair->key, pair->value[0] ? "=" : "", pair->value);
        if (is_it &&
            (!conf_keys[i].harmless || strcasecmp(pair->value, conf_keys[i].harmless) != 0))
            report(import, "slurm.conf", line->number, what, conf_keys[i].words);
    }
}

/* ---- values ---- */

/* "1-12:00:00" as minutes, rounded up; 0: none, or no limit. */
static int64_t minutes_of(const char *time)
{
    usec_t duration;

    if (!time || units_parse_slurm_time(time, &duration, NULL) < 0 || duration <= 0 ||
        duration == USEC_NEVER)
        return 0;
    return (duration + USEC_PER_MIN - 1) / USEC_PER_MIN;
}

static void add_minutes(struct import *import, const char *key, int64_t minutes)
{
    if (minutes > 0)
        text_printf(import->config, "    %s: %" PRId64 "m\n", key, minutes);
}

static bool is_number(const char *value)
{
    return value[0] && strlen(value) <= 9 && strspn(value, "0123456789") == strlen(value);
}

/* "512G", "1000M", or MiB as a number. */
static bool is_size(const char *value)
{
    size_t digits = strspn(value, "0123456789");

    return digits > 0 && digits <= 12 &&
           (!value[digits] || (strchr("KMGT", value[digits]) && !value[digits + 1]));
}

/* One resource of a TRES; false: it has no equal. */
static bool add_resource(struct text *map, const char *key, const char *value)
{
    const char *model = string_starts(key, "gres/gpu:") ? key + strlen("gres/gpu:") : NULL;
    const char *separator = map->length > 0 ? ", " : "";

    if (strcmp(key, "mem") == 0 && is_size(value)) {
        text_printf(map, "%smemory: %s%s", separator, value, is_number(value) ? "M" : "");
        return true;
    }
    if (!is_number(value))
        return false;
    if (strcmp(key, "cpu") == 0)
        text_printf(map, "%scpus: %s", separator, value);
    else if (strcmp(key, "gres/gpu") == 0)
        text_printf(map, "%sgpus: %s", separator, value);
    else if (model && string_is_name(model, NAME_MAX_LENGTH))
        text_printf(map, "%s%s: %s", separator, model, value);
    else
        return false;
    return true;
}

/* "cpu=64,gres/gpu=8" as "cpus: 64, gpus: 8"; "": nothing of it. */
static char *amount_of(struct import *import, const char *file, const struct slurm_line *line,
                       const char *key)
{
    struct text map = { 0 };
    const char *at = slurm_line_get(line, key);

    for (at = at ? at : ""; *at;) {
        size_t length = strcspn(at, ",");
        AUTO_FREE char *part = mem_string_of(at, length);
        char *value = strrchr(part, '=');
        if (value)
            *value++ = '\0';
        if (!value || !add_resource(&map, part, value)) {
            AUTO_FREE char *what = mem_printf("%s %.*s", key, (int)length, at);
            report(import, file, line->number, what, "tarn has no limit of this resource");
        }
        at += length + (at[length] == ',');
    }
    return text_take(&map);
}

/* ---- partitions ---- */

static bool is_yes(const char *value)
{
    return value && strcasecmp(value, "YES") == 0;
}

static const char *of_partition(const struct import *import, const char *key)
{
    const char *value = import->partition ? slurm_line_get(import->partition, key) : NULL;

    return value ? value : slurm_line_get(&import->defaults, key);
}

static int find_partition(struct import *import, const char *wanted, struct error *err)
{
    const struct slurm_line *first = NULL;

    LIST_EACH (const struct slurm_line, line, &import->conf.all) {
        const char *name = slurm_line_get(line, "PartitionName");
        if (!name)
            continue;
        if (strcasecmp(name, "DEFAULT") == 0) {
            LIST_EACH (const struct slurm_pair, pair, &line->pairs)
                list_add(&import->defaults.pairs, *pair);
            continue;
        }
        first = first ? first : line;
        if (wanted ? strcmp(name, wanted) == 0 : is_yes(slurm_line_get(line, "Default")))
            import->partition = line;
    }
    if (wanted && !import->partition)
        return error_set(err, -ENOENT, "slurm.conf: there is no partition '%s'", wanted);
    import->partition = import->partition ? import->partition : first;
    return 0;
}

static void report_partition(struct import *import, const struct slurm_line *line)
{
    static const struct {
        const char *key, *words;
    } keys[] = {
        { "AllowAccounts", "see `submit` of a queue" },
        { "AllowGroups", "see `submit` of a queue" },
        { "AllowQos", "tarn has no QOS: its limits are those of queues" },
        { "DenyAccounts", "see `submit` of a queue" },
        { "QOS", "tarn has no QOS: its limits are those of queues" },
        { "MaxNodes", "see `gpus_per_job` of a queue" },
        { "PriorityTier", "tarn serves one partition; see `guarantee` and priorities" },
        { "PriorityJobFactor", "tarn serves one partition; see `guarantee` and priorities" },
        { "GraceTime", "the grace period is a key of jobs (`grace`)" },
        { "OverSubscribe", "two jobs never have the same resources" },
        { "MaxCPUsPerNode", "tarn has no such limit" },
    };

    if (line == import->partition) {
        for (size_t i = 0; i < COUNT_OF(keys); i++)
            report_pair(import, "slurm.conf", line, keys[i].key, keys[i].words);
        return;
    }
    const char *name = slurm_line_get(line, "PartitionName");
    if (strcasecmp(name, "DEFAULT") != 0)
        report(import, "slurm.conf", line->number, name,
               "tarn serves one partition: its jobs and nodes stay with Slurm");
}

static void report_node(struct import *import, const struct slurm_line *line)
{
    const char *gres = slurm_line_get(line, "Gres");

    report_pair(import, "slurm.conf", line, "Weight",
                "tarn places by fragmentation; see `placement`");
    if (gres && strstr(gres, "gpu") &&
        strspn(strstr(gres, "gpu") + 3, ":0123456789") == strlen(strstr(gres, "gpu") + 3))
        report_pair(import, "slurm.conf", line, "Gres",
                    "GPUs without a type have the model `gpu`: add a type, to request models");
    if (gres && (strstr(gres, "shard:") || strstr(gres, "mps:")))
        report_pair(import, "slurm.conf", line, "Gres", "tarn allocates whole GPUs through Slurm");
}

/* ---- accounts ---- */

static struct account *find_account(struct import *import, const char *name)
{
    LIST_EACH (struct account, account, &import->queues) {
        if (strcmp(account->name, name) == 0)
            return account;
    }
    return NULL;
}

static void add_account(struct import *import, const char *name, const char *parent,
                        const struct slurm_line *line)
{
    if (strcmp(name, "root") == 0 || find_account(import, name))
        return;
    if (!string_is_name(name, NAME_MAX_LENGTH)) {
        report(import, "accounts", line->number, name, "this is no name of a queue");
        return;
    }
    if (parent && (strcmp(parent, "root") == 0 || !parent[0]))
        parent = NULL;
    list_add(&import->queues, ((struct account){ .name = name, .parent = parent, .line = line }));
}

static void add_user(struct import *import, const char *account, const struct slurm_line *line)
{
    struct account *found = account ? find_account(import, account) : NULL;

    if (found)
        list_add(&found->users, line);
}

static void read_dump(struct import *import, const char *text)
{
    const char *parent = NULL;

    slurm_lines_of_dump(text, &import->accounts);
    LIST_EACH (const struct slurm_line, line, &import->accounts.all) {
        const char *account = slurm_line_get(line, "Account");
        if (slurm_line_get(line, "Parent"))
            parent = slurm_line_get(line, "Parent");
        else if (account)
            add_account(import, account, parent, line);
        else if (slurm_line_get(line, "User"))
            add_user(import, parent, line);
    }
}

static void read_table(struct import *import, const char *text)
{
    slurm_lines_of_table(text, &import->accounts);
    LIST_EACH (const struct slurm_line, line, &import->accounts.all) {
        const char *account = slurm_line_get(line, "Account");
        if (account && !slurm_line_get(line, "User"))
            add_account(import, account, slurm_line_get(line, "Par Name"), line);
    }
    LIST_EACH (const struct slurm_line, line, &import->accounts.all) {
        if (slurm_line_get(line, "User"))
            add_user(import, slurm_line_get(line, "Account"), line);
    }
}

/* Parents that are not there are at the top; rings are cut. */
static void settle_parents(struct import *import)
{
    LIST_EACH (struct account, account, &import->queues) {
        const struct account *at = account;
        for (size_t i = 0; at && at->parent && i <= import->queues.count; i++) {
            at = find_account(import, at->parent);
            if (!at || i == import->queues.count)
                account->parent = NULL;
        }
    }
    LIST_EACH (const struct account, account, &import->queues) {
        struct account *parent = account->parent ? find_account(import, account->parent) : NULL;
        if (parent)
            parent->is_parent = true;
    }
}

/* Under one of its names in the two forms. */
static const char *either(const struct slurm_line *line, const char *first, const char *second)
{
    const char *value = slurm_line_get(line, first);

    return value ? value : slurm_line_get(line, second);
}

static void report_limits(struct import *import, const char *file, const struct slurm_line *line)
{
    static const struct {
        const char *key, *words;
    } keys[] = {
        { "GrpTRESMins", "see `gpu_hours` and `budget` of a queue, which have periods" },
        { "GrpTRESRunMins", "tarn has no limit of requested time" },
        { "GrpJobs", "tarn limits resources, not numbers of jobs" },
        { "GrpSubmit", "tarn limits resources, not numbers of jobs" },
        { "GrpSubmitJobs", "tarn limits resources, not numbers of jobs" },
        { "MaxJobs", "tarn limits resources, not numbers of jobs" },
        { "MaxSubmit", "tarn limits resources, not numbers of jobs" },
        { "MaxSubmitJobs", "tarn limits resources, not numbers of jobs" },
        { "MaxJobsPU", "tarn limits resources, not numbers of jobs" },
        { "MaxSubmitPU", "tarn limits resources, not numbers of jobs" },
        { "MaxTRES", "see `gpus_per_job` of a queue" },
        { "MaxTRESPerJob", "see `gpus_per_job` of a queue" },
        { "MaxTRESPA", "limit the queue of the account" },
        { "UsageFactor", "see `prices` and `tariffs`" },
        { "Preempt", "tarn preempts jobs that are `preemptible`; see `guarantee`" },
    };

    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *value = slurm_line_get(line, keys[i].key);
        if (value && strcmp(value, "1.000000") != 0)
            report_pair(import, file, line, keys[i].key, keys[i].words);
    }
}

/* The only QOS of an account, if there is one. */
static const struct slurm_line *qos_of(struct import *import, const struct account *account)
{
    const char *name = slurm_line_get(account->line, "QOS");
    const char *chosen = either(account->line, "Def QOS", "DefaultQOS");

    if (name && strchr(name, ','))
        report_pair(import, "accounts", account->line, "QOS",
                    "a queue has one set of limits: make a queue for each QOS");
    name = name && strchr(name, ',') ? chosen : name;
    LIST_EACH (const struct slurm_line, line, &import->qos.all) {
        const char *known = slurm_line_get(line, "Name");
        if (name && known && strcmp(known, name) == 0)
            return line;
    }
    return NULL;
}

static void add_weight(struct import *import, const struct account *account)
{
    const char *share = either(account->line, "Fairshare", "Share");

    if (share && is_number(share) && atol(share) > 0 && atol(share) <= 1000000)
        text_printf(import->config, "    weight: %ld\n", atol(share));
    else if (share)
        report(import, "accounts", account->line->number, share,
               "a share that is no number from 1 to 1000000 becomes the weight 1");
}

static void add_users(struct import *import, const struct account *account,
                      const struct slurm_line *qos)
{
    AUTO_RELEASE(text) struct text names = { 0 }, limits = { 0 };
    AUTO_FREE char *each = qos ? amount_of(import, "qos", qos, "MaxTRESPU") : mem_string("");

    if (each[0])
        text_printf(&limits, "each: {%s}", each);
    for (size_t i = 0; i < account->users.count; i++) {
        const struct slurm_line *user = account->users.items[i];
        const char *name = slurm_line_get(user, "User"),
                   *share = either(user, "Fairshare", "Share");
        if (!string_is_name(name, NAME_MAX_LENGTH)) {
            report(import, "accounts", user->number, name, "this is no name of a user");
            continue;
        }
        AUTO_FREE char *own = amount_of(import, "accounts", user, "GrpTRES");
        text_printf(&names, "%s%s", names.length > 0 ? ", " : "", name);
        if (own[0])
            text_printf(&limits, "%s%s: {%s}", limits.length > 0 ? ", " : "", name, own);
        if (share && strcmp(share, "1") != 0 && strcmp(share, "parent") != 0)
            report(import, "accounts", user->number, name,
                   "users of a queue have equal shares; make a queue for this one");
        report_limits(import, "accounts", user);
    }
    if (names.length > 0)
        text_printf(import->config, "    submit: [%s]\n", text_string(&names));
    if (limits.length > 0)
        text_printf(import->config, "    users: {%s}\n", text_string(&limits));
}

static void add_queue(struct import *import, const struct account *account)
{
    const struct slurm_line *qos = qos_of(import, account);
    AUTO_FREE char *limit = amount_of(import, "accounts", account->line, "GrpTRES");
    const char *wall = either(account->line, "MaxWall", "MaxWallDurationPerJob");
    int64_t longest = minutes_of(wall), of_all = minutes_of(of_partition(import, "MaxTime"));

    text_printf(import->config, "  %s:\n", account->name);
    if (account->parent)
        text_printf(import->config, "    parent: %s\n", account->parent);
    add_weight(import, account);
    if (qos) {
        AUTO_FREE char *of_qos = amount_of(import, "qos", qos, "GrpTRES");
        int64_t minutes = minutes_of(slurm_line_get(qos, "MaxWall"));
        if (limit[0] && of_qos[0])
            report_pair(import, "qos", qos, "GrpTRES", "the limit of the account is used");
        if (!limit[0]) {
            free(limit);
            limit = mem_string(of_qos);
        }
        longest = longest == 0 || (minutes > 0 && minutes < longest) ? minutes : longest;
    }
    if (limit[0])
        text_printf(import->config, "    limit: {%s}\n", limit);
    if (longest == 0 || (of_all > 0 && of_all < longest))
        longest = of_all;
    add_minutes(import, "longest_duration", longest);
    int64_t usual = minutes_of(of_partition(import, "DefaultTime"));
    add_minutes(import, "default_duration", longest > 0 && usual > longest ? longest : usual);
    if (!account->is_parent)
        add_users(import, account, qos);
    else if (account->users.count > 0)
        report(import, "accounts", account->line->number, account->name,
               "a queue with queues below it takes no jobs: move its users to one of these");
    report_limits(import, "accounts", account->line);
}

/* ---- all of it ---- */

static void add_settings(struct import *import)
{
    const char *name =
        import->partition ? slurm_line_get(import->partition, "PartitionName") : NULL;

    if (name && string_is_name(name, NAME_MAX_LENGTH))
        text_printf(import->config, "slurm:\n  partition: %s\n", name);
    LIST_EACH (const struct slurm_line, line, &import->conf.all) {
        int64_t minutes = minutes_of(slurm_line_get(line, "PriorityDecayHalfLife"));
        const char *scheduler = slurm_line_get(line, "SchedulerType");
        if (minutes > 0)
            text_printf(import->config, "fair_share:\n  half_life: %" PRId64 "m\n", minutes);
        if (scheduler && strcasecmp(scheduler, "sched/builtin") == 0)
            text_add(import->config, "backfill: none\n");
        if (slurm_line_get(line, "PartitionName"))
            report_partition(import, line);
        else if (slurm_line_get(line, "NodeName"))
            report_node(import, line);
        else
            report_conf(import, line);
    }
}

int slurm_import(const struct slurm_import *from, struct text *config, struct text *report_to,
                 struct error *err)
{
    struct import import = { .config = config, .report = report_to };
    const char *accounts = from->accounts ? from->accounts : "";

    slurm_lines_of_conf(from->conf, &import.conf);
    slurm_lines_of_table(from->qos ? from->qos : "", &import.qos);
    int code = find_partition(&import, from->partition, err);
    if (code == 0) {
        bool is_table = strchr(accounts, '|') && strcspn(accounts, "|") < strcspn(accounts, "\n");
        text_add(config, "# made by tarn import slurm\n");
        add_settings(&import);
        if (is_table)
            read_table(&import, accounts);
        else
            read_dump(&import, accounts);
        settle_parents(&import);
        if (import.queues.count > 0)
            text_add(config, "queues:\n");
        LIST_EACH (const struct account, account, &import.queues)
            add_queue(&import, account);
        LIST_EACH (const struct slurm_line, line, &import.qos.all)
            report_limits(&import, "qos", line);
    }
    LIST_EACH (struct account, account, &import.queues)
        list_release(&account->users);
    list_release(&import.queues);
    list_release(&import.defaults.pairs);
    slurm_lines_release(&import.conf);
    slurm_lines_release(&import.accounts);
    slurm_lines_release(&import.qos);
    return code;
}
