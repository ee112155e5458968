/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/slurm/import_cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"

enum { POOL_NODES_BYTES_MAX = 4000, HALF_LIFE_DAYS_MAX = 90 };

/* Settings of slurm.conf that mean something for the order and the places of jobs. */
static const struct import_note conf_notes[] = {
    { "AccountingStorageEnforce", "none|0",
      "tarn knows the accounts as queues; the queue `default` stays open to all users: restrict it "
      "with `submit`" },
    { "PriorityType", "priority/multifactor",
      "jobs start in the order of submission; `order: fifo` does the same, and tarn's own order is "
      "used" },
    { "PriorityWeight*", "0",
      "tarn has no weights: fair share between queues, then priority, then short jobs first, none "
      "delayed beyond its protected start" },
    { "PriorityMaxAge", "7-00:00:00", "see `slack_percent` and `slack_least` of a queue" },
    { "PriorityFavorSmall", "NO|0", "tarn prefers short jobs, not small ones" },
    { "PriorityUsageResetPeriod", "NONE", "past usage decays (fair_share); budgets have periods" },
    { "PreemptType", "preempt/none",
      "tarn preempts jobs that are `preemptible`, for queues within their guarantee: set "
      "`guarantee` and `preemptible`" },
    { "PreemptMode", "OFF|CLUSTER",
      "a preempted job is ended and queued again; there is no suspension" },
    { "PreemptExemptTime", "00:00:00|-1", "see `min_runtime` of a queue" },
    { "Licenses", NULL, "tarn counts no licenses" },
    { "JobSubmitPlugins", NULL,
      "the plugin still runs; rules for submissions are keys of queues, too (`submit`, "
      "`longest_duration`, `gpus_per_job`)" },
    { "MaxArraySize", "1001", "arrays of tarn have a limit of their own" },
    { "SuspendProgram", NULL, "see `node_types` and `tarn scale`" },
    { "ResumeProgram", NULL, "see `node_types` and `tarn scale`" },
    { "OverTimeLimit", "0", "tarn ends a job at its limit" },
    { "EnforcePartLimits", "NO", "tarn refuses a job above the limits of its queue" },
};

static const struct import_note partition_notes[] = {
    { "AllowAccounts", "ALL", "see `submit` of a queue" },
    { "AllowGroups", "ALL", "see `submit` of a queue" },
    { "AllowQos", "ALL", "tarn has no QOS: its limits are those of queues" },
    { "DenyAccounts", NULL, "see `submit` of a queue" },
    { "DenyQos", NULL, "tarn has no QOS: its limits are those of queues" },
    { "QOS", NULL, "tarn has no QOS: its limits are those of queues" },
    { "MaxNodes", "UNLIMITED", "see `gpus_per_job` of a queue" },
    { "MinNodes", "0|1", "tarn has no such limit" },
    { "PriorityTier", "1", "tarn serves one partition; see `guarantee` and priorities" },
    { "PriorityJobFactor", "1", "tarn serves one partition; see `guarantee` and priorities" },
    { "GraceTime", "0", "the grace period is a key of jobs (`grace`)" },
    { "OverSubscribe", "NO",
      "two jobs never have the same resources, and a job has a node alone "
      "only with `exclusive`" },
    { "MaxCPUsPerNode", "UNLIMITED", "tarn has no such limit" },
    { "TRESBillingWeights", NULL, "see `prices`" },
    { "OverTimeLimit", "NONE|0", "tarn ends a job at its limit" },
};

/* What stays with Slurm and is the same for all partitions that are pools. */
static const struct import_note pool_notes[] = {
    { "MaxTime", "UNLIMITED|INFINITE|NONE",
      "a pool has no time limit: see `longest_duration` of a "
      "queue" },
    { "AllowAccounts", "ALL", "a pool is open to all queues, unless it is static" },
    { "AllowGroups", "ALL", "a pool is open to all queues, unless it is static" },
    { "PriorityTier", "1", "a pool has no priority: see `guarantee` of a queue" },
};

/* ---- slurm.conf ---- */

static void add_partition(struct import *import, const struct slurm_line *line, const char *name)
{
    struct partition partition = { .name = name,
                                   .line = { .source = line->source, .number = line->number } };
    bool is_default = strcasecmp(name, "DEFAULT") == 0;

    LIST_EACH (const struct partition, known, &import->partitions) {
        if (strcmp(known->name, name) == 0) {
            import_fail(import, line, "PartitionName", "each partition once");
            return;
        }
    }
    LIST_EACH (const struct slurm_pair, pair, &import->defaults.pairs)
        if (!is_default)
            list_add(&partition.line.pairs, *pair);
    LIST_EACH (const struct slurm_pair, pair, &line->pairs)
        if (is_default)
            list_add(&import->defaults.pairs, *pair);
        else
            list_add(&partition.line.pairs, *pair);
    if (!is_default)
        list_add(&import->partitions, partition);
}

static void read_lines(struct import *import, const struct slurm_lines *lines);

static void include(struct import *import, const struct slurm_line *line, const char *path)
{
    struct slurm_source source = { 0 };
    struct slurm_lines lines = { 0 };

    if (!import->from->include) {
        import_report_pair(import, line, "Include", "this file is not read");
        return;
    }
    if (import->included.count >= SLURM_INCLUDES_MAX) {
        import_fail(import, line, "Include", "at most 100 files, none inside itself");
        return;
    }
    import->code = import->from->include(import->from->user, path, &source, import->err);
    if (import->code < 0) {
        error_prefix(import->err, import->code, "%s:%u", line->source, line->number);
        return;
    }
    import->code = slurm_lines_of_conf(&source, &lines, import->err);
    list_add(&import->included, lines);
    if (import->code == 0)
        read_lines(import, &lines);
}

/* Includes are few (SLURM_INCLUDES_MAX), and so is their depth. */
static void read_lines(struct import *import, const struct slurm_lines *lines)
{
    LIST_EACH (const struct slurm_line, line, &lines->all) {
        const char *partition = slurm_line_get(line, "PartitionName");
        const char *path = slurm_line_get(line, "Include");
        if (import->code < 0)
            return;
        if (partition)
            add_partition(import, line, partition);
        else if (path)
            include(import, line, path);
    }
}

void import_read_conf(struct import *import)
{
    const char *wanted = import->from->partition;

    if (import->from->conf.text && import->from->is_listing)
        slurm_lines_of_listing(&import->from->conf, &import->conf);
    else if (import->from->conf.text)
        import->code = slurm_lines_of_conf(&import->from->conf, &import->conf, import->err);
    if (import->code == 0)
        read_lines(import, &import->conf);
    if (import->code < 0)
        return;
    LIST_EACH (const struct partition, partition, &import->partitions) {
        const char *is_default = slurm_line_get(&partition->line, "Default");
        if (wanted ? strcmp(partition->name, wanted) == 0
                   : is_default && strcasecmp(is_default, "YES") == 0)
            import->served = partition;
    }
    if (wanted && !import->served) {
        AUTO_RELEASE(text) struct text known = { 0 };
        LIST_EACH (const struct partition, partition, &import->partitions)
            text_printf(&known, "%s%s", known.length > 0 ? ", " : "; there are ", partition->name);
        import->code = error_set(import->err, -ENOENT, "%s: there is no partition '%s'%s",
                                 import->from->conf.name, wanted, text_string(&known));
    }
    if (!import->served && import->partitions.count > 0)
        import->served = &import->partitions.items[0];
}

/* Each of the lines of slurm.conf, also of included files. */
#define EACH_CONF_LINE(import, line)                                                               \
    for (size_t file_ = 0; file_ <= (import)->included.count; file_++)                             \
        LIST_EACH (const struct slurm_line, line,                                                  \
                   &(file_ == 0 ? &(import)->conf : &(import)->included.items[file_ - 1])->all)

static void add_half_life(struct import *import, const struct slurm_line *line)
{
    int64_t minutes = import_minutes(import, line, "PriorityDecayHalfLife");

    if (minutes == 0 || minutes > HALF_LIFE_DAYS_MAX * 24 * 60) {
        import_report_pair(import, line, "PriorityDecayHalfLife",
                           "past usage has a half-life of 90 days at most: that is used");
        minutes = HALF_LIFE_DAYS_MAX * 24 * 60;
    }
    text_printf(import->config, "fair_share: {half_life: %" PRId64 "m}\n", minutes);
}

/* Of a setting that is there twice, Slurm takes the last one. */
static void add_settings(struct import *import)
{
    const struct slurm_line *half_life = NULL;
    const char *scheduler = NULL;

    EACH_CONF_LINE(import, line)
    {
        const char *value = slurm_line_get(line, "SchedulerType");
        scheduler = value ? value : scheduler;
        if (slurm_line_get(line, "PriorityDecayHalfLife"))
            half_life = line;
        if (!slurm_line_get(line, "PartitionName") && !slurm_line_get(line, "NodeName"))
            import_report_notes(import, line, conf_notes, COUNT_OF(conf_notes));
    }
    if (half_life)
        add_half_life(import, half_life);
    if (scheduler && strcasecmp(scheduler, "sched/builtin") == 0)
        text_add(import->config, "backfill: none\n");
}

/* ---- nodes ---- */

/* "gpu:4" or "gpu:4(S:0-1)", which has no type, among "gpu:h100:8,shard:32". */
static bool has_untyped_gpus(const char *gres)
{
    for (const char *at = gres; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, "gpu", 3) != 0 || (at[3] && !strchr(":,", at[3])))
            continue;
        size_t digits = at[3] == ':' ? strspn(at + 4, "0123456789") : 0;
        if (at[3] != ':' || (digits > 0 && (!at[4 + digits] || strchr(",(", at[4 + digits]))))
            return true;
    }
    return false;
}

static void report_node(struct import *import, const struct slurm_line *line)
{
    const char *gres = slurm_line_get(line, "Gres"), *weight = slurm_line_get(line, "Weight");

    if (weight && strcmp(weight, "1") != 0)
        import_report_pair(import, line, "Weight", "tarn places by fragmentation; see `placement`");
    if (gres && has_untyped_gpus(gres))
        import_report_pair(import, line, "Gres",
                           "GPUs without a type have the model `gpu`: add a type, to request "
                           "models");
}

static void report_gres(struct import *import, const struct slurm_line *line)
{
    const char *name = slurm_line_get(line, "Name");

    if (!name && !slurm_line_get(line, "AutoDetect") && import->code == 0)
        import->code = slurm_line_fail(line, import->err,
                                       "no Name, expected Name=gpu Type=TYPE "
                                       "File=FILE, or AutoDetect=HOW");
    if (!name)
        return;
    if (strcmp(name, "mps") == 0 || strcmp(name, "shard") == 0)
        return;
    if (strcmp(name, "gpu") != 0)
        import_report_pair(import, line, "Name", "tarn allocates GPUs only");
    else if (!slurm_line_get(line, "Type") && !slurm_line_get(line, "AutoDetect"))
        import_report_pair(import, line, "Name",
                           "GPUs without a Type have the model `gpu`: add a type, to request "
                           "models");
    import_report_pair(import, line, "MultipleFiles", "MIG instances are whole GPUs of their type");
}

/* Names of nodes of a line; a failure is that of the line. */
static void read_hosts(struct import *import, const struct slurm_line *line, const char *key,
                       struct slurm_hosts *hosts)
{
    const char *words = slurm_line_get(line, key);
    struct error wrong;

    if (!words || import->code < 0 || slurm_hosts_add(hosts, words, &wrong) == 0)
        return;
    import->code = slurm_line_fail(line, import->err, "%s=%s", key, wrong.text);
}

/* ---- partitions ---- */

static uint64_t name_key(const char *name)
{
    return map_hash(name, strlen(name));
}

/* Each name once: a node may be in several sets. */
static void add_once(struct slurm_hosts *hosts, struct map *known, const char *name)
{
    uint64_t value;

    if (map_get(known, name_key(name), &value))
        return;
    map_set(known, name_key(name), 1);
    list_add(&hosts->all, mem_string(name));
}

static bool has_feature(const char *features, const char *wanted)
{
    const size_t length = strlen(wanted);

    for (const char *at = features; at && *at; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, wanted, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Feature, or Features; NodeName=DEFAULT says them for the lines after it. */
static void read_nodes_with(struct import *import, const char *feature, struct slurm_hosts *hosts)
{
    const char *usual = NULL;

    EACH_CONF_LINE(import, line)
    {
        const char *name = slurm_line_get(line, "NodeName");
        const char *one = slurm_line_get(line, "Feature"),
                   *own = one ? one : slurm_line_get(line, "Features");
        if (name && strcasecmp(name, "DEFAULT") == 0)
            usual = own ? own : usual;
        else if (name && has_feature(own ? own : usual, feature))
            read_hosts(import, line, "NodeName", hosts);
    }
}

/* The line of a set of this name; NULL: it is a node. */
static const struct slurm_line *find_set(struct import *import, const char *name)
{
    EACH_CONF_LINE(import, line)
    {
        const char *set = slurm_line_get(line, "NodeSet");
        if (set && strcmp(set, name) == 0)
            return line;
    }
    return NULL;
}

static void read_set(struct import *import, const struct slurm_line *line,
                     struct slurm_hosts *hosts)
{
    const char *feature = slurm_line_get(line, "Feature");

    read_hosts(import, line, "Nodes", hosts);
    if (feature)
        read_nodes_with(import, feature, hosts);
    if (!feature && !slurm_line_get(line, "Nodes"))
        import_fail(import, line, "NodeSet", "Nodes=NODES or Feature=NAME beside it");
    else if (hosts->all.count == 0 && import->code == 0)
        import_report_pair(import, line, "NodeSet", "no node of the file belongs to this set");
}

/* Nodes of a partition: names, and sets of nodes. */
static void read_partition_hosts(struct import *import, const struct slurm_line *line,
                                 struct slurm_hosts *hosts)
{
    AUTO_RELEASE(slurm_hosts) struct slurm_hosts given = { 0 };
    struct map known = { 0 };

    read_hosts(import, line, "Nodes", &given);
    LIST_EACH (char *, name, &given.all) {
        AUTO_RELEASE(slurm_hosts) struct slurm_hosts members = { 0 };
        const struct slurm_line *set = find_set(import, *name);
        if (!set)
            add_once(hosts, &known, *name);
        else
            read_set(import, set, &members);
        LIST_EACH (char *, member, &members.all)
            add_once(hosts, &known, *member);
    }
    map_release(&known);
}

/* Nodes=ALL are those of all partitions. */
static bool has_all_nodes(const struct partition *partition)
{
    const char *nodes = slurm_line_get(&partition->line, "Nodes");

    return nodes && strcasecmp(nodes, "ALL") == 0;
}

static void read_served(struct import *import, struct map *nodes)
{
    AUTO_RELEASE(slurm_hosts) struct slurm_hosts hosts = { 0 };

    read_partition_hosts(import, &import->served->line, &hosts);
    LIST_EACH (char *, name, &hosts.all)
        map_set(nodes, name_key(*name), 1);
}

static bool is_within(const struct slurm_hosts *hosts, const struct map *nodes)
{
    uint64_t value;

    LIST_EACH (char *, name, &hosts->all) {
        if (!map_get(nodes, name_key(*name), &value))
            return false;
    }
    return true;
}

/* A partition whose nodes are all in the one that tarn serves. */
static void add_pool(struct import *import, const struct partition *partition,
                     const struct slurm_hosts *hosts, bool *ret_has_pools)
{
    AUTO_RELEASE(text) struct text names = { 0 };

    LIST_EACH (char *, name, &hosts->all)
        text_printf(&names, "%s%s", names.length > 0 ? "," : "", *name);
    if (!import_is_name(partition->name) || strcmp(partition->name, "default") == 0) {
        import_report(import, &partition->line, partition->name, "this is no name of a pool");
        return;
    }
    if (names.length > POOL_NODES_BYTES_MAX) {
        import_report(import, &partition->line, partition->name,
                      "too many nodes for a pool by names: give these nodes a label, and the pool "
                      "`where`");
        return;
    }
    if (!*ret_has_pools)
        text_add(import->config, "pools:\n");
    *ret_has_pools = true;
    text_add(import->config, "  ");
    import_add_name(import->config, partition->name);
    if (hosts->all.count == 0) {
        text_add(import->config, ": {}\n");
    } else {
        text_add(import->config, ": {nodes: [");
        LIST_EACH (char *, name, &hosts->all) {
            text_add(import->config, name == hosts->all.items ? "" : ", ");
            import_add_name(import->config, *name);
        }
        text_add(import->config, "]}\n");
    }
    import_report_notes(import, &partition->line, pool_notes, COUNT_OF(pool_notes));
}

static void add_partitions(struct import *import)
{
    const struct partition *served = import->served;
    struct map nodes = { 0 };
    bool has_pools = false;

    if (!served)
        return;
    if (served->name[0] && import_is_name(served->name)) {
        text_add(import->config, "slurm: {partition: ");
        import_add_name(import->config, served->name);
        text_add(import->config, "}\n");
    }
    if (!has_all_nodes(served))
        read_served(import, &nodes);
    import_report_notes(import, &served->line, partition_notes, COUNT_OF(partition_notes));
    LIST_EACH (const struct partition, partition, &import->partitions) {
        AUTO_RELEASE(slurm_hosts) struct slurm_hosts hosts = { 0 };
        if (partition == served)
            continue;
        if (!has_all_nodes(partition))
            read_partition_hosts(import, &partition->line, &hosts);
        if (has_all_nodes(served) || (!has_all_nodes(partition) && is_within(&hosts, &nodes))) {
            add_pool(import, partition, &hosts, &has_pools);
            continue;
        }
        AUTO_FREE char *words = mem_printf(
            "it has nodes outside of partition %s, the only one that tarn serves: its jobs and "
            "nodes stay with Slurm. For one pool, give tarn a partition with all nodes",
            served->name);
        import_report(import, &partition->line, partition->name, words);
    }
    map_release(&nodes);
}

/* ---- switches ---- */

struct node_place {
    char *name;
    const char *rack, *block;
};

struct places {
    LIST(struct node_place) all;
    struct map known; /* name_key() to index */
};

static void set_place(struct import *import, struct places *places, const struct slurm_line *line,
                      const char *node, const char *rack, const char *block)
{
    uint64_t index;

    if (!map_get(&places->known, name_key(node), &index)) {
        map_set(&places->known, name_key(node), places->all.count);
        list_add(&places->all, ((struct node_place){ mem_string(node), rack, block }));
        return;
    }
    struct node_place *place = &places->all.items[index];
    if ((rack && place->rack) || (block && place->block))
        import_report(import, line, node, "it has a place already: the first one is used");
    place->rack = place->rack ? place->rack : rack;
    place->block = place->block ? place->block : block;
}

static void place_nodes(struct import *import, struct places *places, const struct slurm_line *line,
                        const char *rack, const char *block)
{
    AUTO_RELEASE(slurm_hosts) struct slurm_hosts hosts = { 0 };

    read_hosts(import, line, "Nodes", &hosts);
    LIST_EACH (char *, name, &hosts.all)
        set_place(import, places, line, *name, rack, block);
}

/* The switches below one with switches: those that are racks have it as their block. */
static void place_racks(struct import *import, struct places *places, const struct slurm_line *line,
                        const char *block)
{
    AUTO_RELEASE(slurm_hosts) struct slurm_hosts below = { 0 };
    struct map names = { 0 };
    uint64_t value;
    bool has_racks = false;

    read_hosts(import, line, "Switches", &below);
    LIST_EACH (char *, name, &below.all)
        map_set(&names, name_key(*name), 1);
    LIST_EACH (struct node_place, place, &places->all) {
        if (!place->rack || !map_get(&names, name_key(place->rack), &value))
            continue;
        has_racks = true;
        place->block = place->block ? place->block : block;
    }
    map_release(&names);
    if (!has_racks && import->code == 0)
        import_report_pair(import, line, "SwitchName",
                           "tarn knows two levels: racks of nodes, and blocks of racks");
}

static const char *name_of_place(struct import *import, const struct slurm_line *line,
                                 const char *key)
{
    const char *name = slurm_line_get(line, key);

    if (name && import_is_name(name))
        return name;
    if (name)
        import_report(import, line, name, "this is no name of a rack or block");
    return NULL;
}

static void read_switches(struct import *import, struct places *places)
{
    LIST_EACH (const struct slurm_line, line, &import->topology.all) {
        const char *rack = name_of_place(import, line, "SwitchName");
        const char *block = name_of_place(import, line, "BlockName");
        if (!slurm_line_get(line, "SwitchName") && !slurm_line_get(line, "BlockName") &&
            !slurm_line_get(line, "BlockSizes") && import->code == 0)
            import->code = slurm_line_fail(line, import->err,
                                           "no SwitchName or BlockName, expected SwitchName=NAME "
                                           "Nodes=NODES, or Switches=SWITCHES");
        if ((rack || block) && !slurm_line_get(line, "Switches"))
            place_nodes(import, places, line, rack, block);
        import_report_pair(import, line, "BlockSizes", "tarn fills a block without such sizes");
    }
    LIST_EACH (const struct slurm_line, line, &import->topology.all) {
        const char *name = name_of_place(import, line, "SwitchName");
        if (name && slurm_line_get(line, "Switches"))
            place_racks(import, places, line, name);
    }
}

static void add_places(struct import *import)
{
    struct places places = { 0 };
    bool has_title = false;

    read_switches(import, &places);
    LIST_EACH (const struct node_place, place, &places.all) {
        if (!place->rack && !place->block)
            continue;
        text_add(import->config, has_title ? "  " : "nodes:\n  ");
        has_title = true;
        import_add_name(import->config, place->name);
        text_add(import->config, ": {");
        if (place->rack) {
            text_add(import->config, "rack: ");
            import_add_name(import->config, place->rack);
        }
        if (place->block) {
            text_add(import->config, place->rack ? ", block: " : "block: ");
            import_add_name(import->config, place->block);
        }
        text_add(import->config, "}\n");
    }
    LIST_EACH (struct node_place, place, &places.all)
        free(place->name);
    list_release(&places.all);
    map_release(&places.known);
}

void import_add_cluster(struct import *import)
{
    add_partitions(import);
    add_settings(import);
    EACH_CONF_LINE(import, line)
    {
        if (slurm_line_get(line, "NodeName"))
            report_node(import, line);
    }
    LIST_EACH (const struct slurm_line, line, &import->gres.all)
        report_gres(import, line);
    if (import->code == 0)
        add_places(import);
}
