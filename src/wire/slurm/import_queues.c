/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/slurm/import_queues.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

enum { QUEUE_LIST_MAX = 256, COUNT_LIMIT_MAX = 1000000 };

struct account {
    const char *name, *parent;   /* parent: NULL: at the top */
    const struct account *above; /* the parent, when the tree is settled */
    const struct slurm_line *line;
    LIST(const struct slurm_line *) users;
    bool is_parent;
};

struct accounts {
    struct import *import;
    const struct slurm_line *root; /* what all accounts inherit from; NULL: not given */
    LIST(struct account) all;
};

/* Of associations and of QOS; sacctmgr has several names for some. */
static const struct import_note limit_notes[] = {
    { "GrpTRESMins", NULL, "see `gpu_hours` and `budget` of a queue, which have periods" },
    { "GrpTRESRunMins", NULL, "tarn has no limit of requested time" },
    { "GrpWall", NULL, "tarn has no limit of wall time together" },
    { "GrpJobs", NULL, "tarn limits resources, not numbers of jobs" },
    { "GrpSubmit", NULL, "tarn limits resources, not numbers of jobs" },
    { "GrpSubmitJobs", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxJobs", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxSubmit", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxSubmitJobs", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxJobsPU", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxJobsPA", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxSubmitPU", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxSubmitPA", NULL, "tarn limits resources, not numbers of jobs" },
    { "MaxTRESPerNode", NULL, "tarn has no limit of a job on a node" },
    { "MaxTRESMins", NULL, "see `longest_duration` and `gpus_per_job` of a queue" },
    { "MaxTRESMinsPerJob", NULL, "see `longest_duration` and `gpus_per_job` of a queue" },
    { "MaxTRESPA", NULL, "limit the queue of the account" },
    { "MinTRES", NULL, "tarn has no smallest job" },
};

static const struct import_note qos_notes[] = {
    { "UsageFactor", "1.000000", "see `prices` and `tariffs`" },
    { "Priority", "0", "users set priorities of jobs up to `max_priority` of a queue" },
    { "Preempt", NULL, "tarn preempts jobs that are `preemptible`; see `guarantee`" },
    { "GraceTime", "00:00:00|0", "the grace period is a key of jobs (`grace`)" },
    { "Flags", NULL, "tarn has no such flags" },
};

/* ---- resources ---- */

static bool is_number(const char *value)
{
    return value[0] && strlen(value) <= 9 && strspn(value, "0123456789") == strlen(value);
}

/* More is as good as no limit. */
static bool is_count(const char *value)
{
    return is_number(value) && atol(value) <= COUNT_LIMIT_MAX;
}

/* "512G", "1000M", or MiB as a number; up to a pebibyte. */
static bool is_size(const char *value)
{
    size_t digits = strspn(value, "0123456789");
    int64_t mib;

    return digits > 0 && digits <= 9 &&
           (!value[digits] || (strchr("KMGT", value[digits]) && !value[digits + 1])) &&
           units_parse_mib(value, &mib, NULL) == 0 && mib <= INT64_C(1) << 30;
}

/* One resource of a TRES; false: it has no equal. Dumps may have Slurm's numbers of resources. */
static bool add_resource(struct text *map, const char *key, const char *value)
{
    const char *model = string_starts(key, "gres/gpu:") ? key + strlen("gres/gpu:") : NULL;
    bool is_memory = strcmp(key, "mem") == 0 || strcmp(key, "2") == 0;
    const char *name = is_memory                                          ? "memory"
                       : strcmp(key, "cpu") == 0 || strcmp(key, "1") == 0 ? "cpus"
                       : strcmp(key, "gres/gpu") == 0                     ? "gpus"
                       : model && import_is_name(model)                   ? model
                                                                          : NULL;

    if (!name || !(is_memory ? is_size(value) : is_count(value)))
        return false;
    AUTO_RELEASE(text) struct text entry = { 0 };
    text_add(&entry, ", ");
    import_add_name(&entry, name);
    text_add(&entry, ": ");
    const char *first = entry.bytes + strlen(", ");
    if (strstr(text_string(map), entry.bytes) || string_starts(text_string(map), first))
        return false; /* it is there twice */
    text_printf(map, "%s%s%s", map->length > 0 ? entry.bytes : first, value,
                is_memory && is_number(value) ? "M" : "");
    return true;
}

/* "cpu=64,gres/gpu=8" as "cpus: 64, gpus: 8"; "": nothing of it. only: just this resource. */
static char *amount_of(struct import *import, const struct slurm_line *line, const char *key,
                       const char *only, const char *words)
{
    struct text map = { 0 };
    const char *at = slurm_line_get(line, key);

    for (at = at ? at : ""; *at;) {
        size_t length = strcspn(at, ",");
        AUTO_FREE char *part = mem_string_of(at, length);
        AUTO_FREE char *whole = mem_string(part);
        char *value = strrchr(part, '=');
        if (!value)
            import_fail(import, line, key, "RESOURCE=COUNT, as cpu=64,mem=512G,gres/gpu=8");
        else
            *value++ = '\0';
        bool is_none = value && strcmp(value, "-1") == 0;
        bool is_wanted = value && (!only || strcmp(part, only) == 0);
        if (value && !is_none && !(is_wanted && add_resource(&map, part, value))) {
            AUTO_FREE char *what = mem_printf("%s %s", key, whole);
            import_report(import, line, what, words);
        }
        at += length + (at[length] == ',');
    }
    return text_take(&map);
}

#define NO_LIMIT "tarn has no limit of this resource"

/* Under one of its names in the two forms; the name, or NULL. */
static const char *key_of(const struct slurm_line *line, const char *first, const char *second)
{
    return slurm_line_get(line, first) ? first : slurm_line_get(line, second) ? second : NULL;
}

static const char *either(const struct slurm_line *line, const char *first, const char *second)
{
    const char *key = key_of(line, first, second);

    return key ? slurm_line_get(line, key) : NULL;
}

/* ---- reading ---- */

static struct account *find_account(const struct accounts *accounts, const char *name)
{
    LIST_EACH (struct account, account, &accounts->all) {
        if (strcmp(account->name, name) == 0)
            return account;
    }
    return NULL;
}

static void add_account(struct accounts *accounts, const char *name, const char *parent,
                        const struct slurm_line *line)
{
    if (strcmp(name, "root") == 0)
        accounts->root = line;
    if (accounts->root == line || find_account(accounts, name))
        return;
    if (!import_is_name(name)) {
        import_report(accounts->import, line, name, "this is no name of a queue");
        return;
    }
    if (parent && (strcmp(parent, "root") == 0 || !parent[0]))
        parent = NULL;
    list_add(&accounts->all, ((struct account){ .name = name, .parent = parent, .line = line }));
}

static void add_user(struct accounts *accounts, const char *name, const struct slurm_line *line)
{
    struct account *account = name ? find_account(accounts, name) : NULL;
    const char *user = slurm_line_get(line, "User");

    if (!account)
        return;
    if (!user || !import_is_name(user) || strcmp(user, "each") == 0) {
        import_report(accounts->import, line, user ? user : "''", "this is no name of a user");
        return;
    }
    if (slurm_line_get(line, "Partition")) {
        import_report_pair(accounts->import, line, "Partition",
                           "users have one set of limits in a queue");
        return;
    }
    LIST_EACH (const struct slurm_line *, known, &account->users) {
        if (strcmp(slurm_line_get(*known, "User"), user) == 0)
            return;
    }
    list_add(&account->users, line);
}

static void read_dump(struct accounts *accounts)
{
    struct import *import = accounts->import;
    const char *parent = NULL;

    LIST_EACH (const struct slurm_line, line, &import->accounts.all) {
        const char *kind = line->pairs.items[0].key, *name = line->pairs.items[0].value;
        bool is_account = strcasecmp(kind, "Account") == 0;
        bool is_user = strcasecmp(kind, "User") == 0;
        if (strcasecmp(kind, "Parent") == 0) {
            parent = name;
        } else if (is_account) {
            add_account(accounts, name, parent, line);
        } else if (is_user && !parent && import->code == 0) {
            import->code =
                slurm_line_fail(line, import->err,
                                "User - '%s': expected a line Parent - 'ACCOUNT' before it", name);
        } else if (is_user) {
            add_user(accounts, parent, line);
        } else if (strcasecmp(kind, "Cluster") == 0) {
            accounts->root = line;
        } else if (import->code == 0) {
            import->code = slurm_line_fail(line, import->err,
                                           "'%s': expected Cluster, Parent, Account or User", kind);
        }
    }
}

/* Without it, the tree of the accounts would be lost. */
static bool has_parents(const struct slurm_line *line)
{
    LIST_EACH (const struct slurm_pair, pair, &line->pairs) {
        if (strcasecmp(pair->key, "Par Name") == 0 || strcasecmp(pair->key, "ParentName") == 0)
            return true;
    }
    return false;
}

static void read_table(struct accounts *accounts)
{
    struct import *import = accounts->import;
    const struct slurm_line header = { .source = import->from->accounts.name, .number = 1 };
    const char *cluster = NULL;

    if (import->accounts.all.count > 0 && !has_parents(&import->accounts.all.items[0])) {
        import->code = slurm_line_fail(&header, import->err,
                                       "no column 'ParentName', expected what this prints: %s",
                                       SLURM_IMPORT_ASSOC);
        return;
    }
    LIST_EACH (const struct slurm_line, line, &import->accounts.all) {
        const char *account = slurm_line_get(line, "Account");
        const char *its = slurm_line_get(line, "Cluster");
        if (cluster && its && strcmp(cluster, its) != 0) {
            import_fail(import, line, "Cluster",
                        "one cluster: " SLURM_IMPORT_ASSOC " cluster=NAME");
            return;
        }
        cluster = its ? its : cluster;
        if (account && !slurm_line_get(line, "User"))
            add_account(accounts, account, either(line, "Par Name", "ParentName"), line);
    }
    LIST_EACH (const struct slurm_line, line, &import->accounts.all) {
        if (slurm_line_get(line, "User"))
            add_user(accounts, slurm_line_get(line, "Account"), line);
    }
}

static void account_moved(void *user, size_t index, const char *what, const char *words)
{
    struct accounts *accounts = user;

    import_report(accounts->import, accounts->all.items[index].line, what, words);
}

static void settle_parents(struct accounts *accounts)
{
    LIST(struct import_branch) branches = { 0 };

    LIST_EACH (const struct account, account, &accounts->all)
        list_add(&branches,
                 ((struct import_branch){ .name = account->name, .parent = account->parent }));
    import_settle(branches.items, branches.count, account_moved, accounts);
    for (size_t i = 0; i < branches.count; i++)
        accounts->all.items[i].parent = branches.items[i].parent;
    list_release(&branches);
    LIST_EACH (struct account, account, &accounts->all) {
        struct account *above = account->parent ? find_account(accounts, account->parent) : NULL;
        account->above = above;
        if (above)
            above->is_parent = true;
    }
}

/* The line that sets one of these keys for an account: its own, else the nearest one above it. */
static const struct slurm_line *inherit(const struct accounts *accounts,
                                        const struct account *account, const char *first,
                                        const char *second)
{
    for (; account; account = account->above) {
        if (key_of(account->line, first, second))
            return account->line;
    }
    return accounts->root && key_of(accounts->root, first, second) ? accounts->root : NULL;
}

/* ---- QOS ---- */

static bool is_several(const char *names)
{
    return strchr(names, ',') || strchr("+-", names[0]);
}

/* Whether an account sets this QOS itself, and not as the root does, of which it is said once. */
static bool is_own_qos(const struct accounts *accounts, const struct account *account,
                       const struct slurm_line *line, const char *name)
{
    const char *all[] = { NULL, NULL };

    if (line != account->line)
        return false;
    if (accounts->root && accounts->root != line) {
        all[0] = slurm_line_get(accounts->root, "QOS");
        all[1] = either(accounts->root, "Def QOS", "DefaultQOS");
    }
    return !(all[0] && strcmp(all[0], name) == 0) && !(all[1] && strcmp(all[1], name) == 0);
}

/* What the QOS of an account is called; NULL: it is none of its own, and Slurm takes `normal`. */
static const char *name_of_qos(const struct accounts *accounts, const struct account *account,
                               const struct slurm_line **ret_line)
{
    const struct slurm_line *list = inherit(accounts, account, "QOS", "QOS");
    const struct slurm_line *line = inherit(accounts, account, "Def QOS", "DefaultQOS");
    const char *names = list ? slurm_line_get(list, "QOS") : NULL;

    if (names && is_several(names) && is_own_qos(accounts, account, list, names))
        import_report_pair(accounts->import, list, "QOS",
                           "a queue has one set of limits: make a queue for each QOS");
    *ret_line = line ? line : list;
    if (line)
        return either(line, "Def QOS", "DefaultQOS");
    return names && !is_several(names) ? names : NULL;
}

/* The only QOS of an account, or its default one, as Slurm selects it. */
static const struct slurm_line *qos_of(const struct accounts *accounts,
                                       const struct account *account)
{
    struct import *import = accounts->import;
    const struct slurm_line *line;
    const char *name = name_of_qos(accounts, account, &line);

    LIST_EACH (const struct slurm_line, qos, &import->qos.all) {
        const char *known = slurm_line_get(qos, "Name");
        if (known && strcmp(known, name ? name : "normal") == 0)
            return qos;
    }
    if (name && is_own_qos(accounts, account, line, name))
        import_report(
            import, line, name,
            "the limits of this QOS are not known: see `--qos`, the output of sacctmgr -P "
            "show qos");
    return NULL;
}

/* What is said of the root once, and not of each account. */
static void report_root(const struct accounts *accounts)
{
    const struct account root = { .name = "root", .line = accounts->root };

    if (!root.line)
        return;
    qos_of(accounts, &root);
    import_report_pair(accounts->import, root.line, "GrpTRES",
                       "this limits all accounts together: limit the queues at the top");
    import_report_notes(accounts->import, root.line, limit_notes, COUNT_OF(limit_notes));
}

/* ---- queues ---- */

static void add_weight(struct import *import, const struct account *account)
{
    const char *share = either(account->line, "Fairshare", "Share");
    long weight = share && is_number(share) ? atol(share) : 0;
    bool is_weight = weight >= 1 && weight <= IMPORT_WEIGHT_MAX;

    text_printf(import->config, "    weight: %ld\n", is_weight ? weight : 1);
    if (share && !is_weight)
        import_report(import, account->line, share,
                      "a share that is no number from 1 to 1000000 becomes the weight 1");
}

/* What a user has instead of what the account gives, and a queue has only for all of its users. In
 * a listing, users also have what they inherit. */
static void report_own_limits(const struct accounts *accounts, const struct account *account,
                              const struct slurm_line *user)
{
    static const struct {
        const char *first, *second, *words;
    } kinds[] = {
        { "MaxTRES", "MaxTRESPerJob",
          "`gpus_per_job` is one for all users of a queue: make a queue for this user" },
        { "MaxWall", "MaxWallDurationPerJob",
          "`longest_duration` is one for all users of a queue: make a queue for this user" },
        { "QOS", "QOS", "a queue has one set of limits: make a queue for each QOS" },
        { "Def QOS", "DefaultQOS", "a queue has one set of limits: make a queue for this QOS" },
    };

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const char *key = key_of(user, kinds[i].first, kinds[i].second);
        const struct slurm_line *line = inherit(accounts, account, kinds[i].first, kinds[i].second);
        const char *usual = line ? either(line, kinds[i].first, kinds[i].second) : "normal";
        if (!key || strcmp(slurm_line_get(user, key), usual) == 0)
            continue;
        AUTO_FREE char *what =
            mem_printf("%s: %s=%s", slurm_line_get(user, "User"), key, slurm_line_get(user, key));
        import_report(accounts->import, user, what, kinds[i].words);
    }
}

static void report_user(const struct accounts *accounts, const struct account *account,
                        const struct slurm_line *user)
{
    struct import *import = accounts->import;
    const char *share = either(user, "Fairshare", "Share");

    if (share && strcmp(share, "1") != 0 && strcmp(share, "parent") != 0)
        import_report(import, user, slurm_line_get(user, "User"),
                      "users of a queue have equal shares; make a queue for this one");
    report_own_limits(accounts, account, user);
    import_report_notes(import, user, limit_notes, COUNT_OF(limit_notes));
}

/* A queue lists at most QUEUE_LIST_MAX users. */
static void add_submit(const struct accounts *accounts, const struct account *account)
{
    struct import *import = accounts->import;
    bool has_room = account->users.count <= QUEUE_LIST_MAX;

    LIST_EACH (const struct slurm_line *, user, &account->users)
        report_user(accounts, account, *user);
    if (!has_room)
        import_report(import, account->line, account->name,
                      "a queue lists at most 256 users, and it has more: it is open to all. Name a "
                      "Unix group, submit: {groups: [...]}");
    if (account->users.count == 0 || !has_room)
        return;
    text_add(import->config, "    submit: [");
    LIST_EACH (const struct slurm_line *, user, &account->users) {
        text_add(import->config, user == account->users.items ? "" : ", ");
        import_add_name(import->config, slurm_line_get(*user, "User"));
    }
    text_add(import->config, "]\n");
}

static size_t count_resources(const char *amount)
{
    size_t count = amount[0] != '\0';

    for (; *amount; amount++)
        count += *amount == ',';
    return count;
}

/* Limits of each user: those of the QOS, and their own. */
static void add_user_limits(struct import *import, const struct account *account,
                            const struct slurm_line *qos)
{
    const char *key = qos ? key_of(qos, "MaxTRESPU", "MaxTRESPerUser") : NULL;
    AUTO_FREE char *each = key ? amount_of(import, qos, key, NULL, NO_LIMIT) : mem_string("");
    size_t count = count_resources(each);

    if (count > 0)
        text_printf(import->config, "    users:\n      each: {%s}\n", each);
    LIST_EACH (const struct slurm_line *, user, &account->users) {
        AUTO_FREE char *own = amount_of(import, *user, "GrpTRES", NULL, NO_LIMIT);
        size_t more = count_resources(own);
        if (more > 0 && count + more > QUEUE_LIST_MAX) {
            import_report_pair(import, *user, "GrpTRES",
                               "a queue has at most 256 limits of users: see `each` of `users`");
            continue;
        }
        if (more == 0)
            continue;
        text_add(import->config, count > 0 ? "      " : "    users:\n      ");
        count += more;
        import_add_name(import->config, slurm_line_get(*user, "User"));
        text_printf(import->config, ": {%s}\n", own);
    }
}

/* That of the account, else that of the QOS. */
static char *limit_of(struct import *import, const struct account *account,
                      const struct slurm_line *qos)
{
    char *limit = amount_of(import, account->line, "GrpTRES", NULL, NO_LIMIT);

    if (!qos || !slurm_line_get(qos, "GrpTRES"))
        return limit;
    if (limit[0]) {
        import_report_pair(import, qos, "GrpTRES", "the limit of the account is used");
        return limit;
    }
    free(limit);
    return amount_of(import, qos, "GrpTRES", NULL, NO_LIMIT);
}

static void add_gpus_per_job(const struct accounts *accounts, const struct account *account,
                             const struct slurm_line *qos)
{
    struct import *import = accounts->import;
    const struct slurm_line *own = inherit(accounts, account, "MaxTRES", "MaxTRESPerJob");
    const struct slurm_line *line = own ? own : qos;
    const char *key = line ? key_of(line, "MaxTRES", "MaxTRESPerJob") : NULL;

    if (!key)
        return;
    AUTO_FREE char *most =
        amount_of(import, line, key, "gres/gpu", "of a job tarn limits only the number of GPUs");
    if (most[0] && strcmp(most, "gpus: 0") != 0)
        text_printf(import->config, "    gpus_per_job: %s\n", most + strlen("gpus: "));
}

static int64_t shorter(int64_t a, int64_t b)
{
    return a == 0 || (b > 0 && b < a) ? b : a;
}

static void add_minutes(struct import *import, const char *key, int64_t minutes)
{
    if (minutes > 0)
        text_printf(import->config, "    %s: %" PRId64 "m\n", key, minutes);
}

static void add_durations(const struct accounts *accounts, const struct account *account,
                          const struct slurm_line *qos)
{
    struct import *import = accounts->import;
    const struct slurm_line *served = import->served ? &import->served->line : NULL;
    int64_t longest = import_minutes(import, served, "MaxTime");
    int64_t usual = import_minutes(import, served, "DefaultTime");
    const struct slurm_line *lines[] = {
        account ? inherit(accounts, account, "MaxWall", "MaxWallDurationPerJob") : NULL, qos
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const char *key = lines[i] ? key_of(lines[i], "MaxWall", "MaxWallDurationPerJob") : NULL;
        if (key)
            longest = shorter(longest, import_minutes(import, lines[i], key));
    }
    add_minutes(import, "longest_duration", longest);
    add_minutes(import, "default_duration", longest > 0 && usual > longest ? longest : usual);
}

/* A QOS limits jobs, and a queue with queues below it has none: these have their own. */
static void add_queue(const struct accounts *accounts, const struct account *account)
{
    struct import *import = accounts->import;
    const struct slurm_line *its = qos_of(accounts, account),
                            *qos = account->is_parent ? NULL : its;
    AUTO_FREE char *limit = limit_of(import, account, qos);

    text_add(import->config, "  ");
    import_add_name(import->config, account->name);
    text_add(import->config, ":\n");
    if (account->parent) {
        text_add(import->config, "    parent: ");
        import_add_name(import->config, account->parent);
        text_add(import->config, "\n");
    }
    add_weight(import, account);
    if (limit[0])
        text_printf(import->config, "    limit: {%s}\n", limit);
    add_gpus_per_job(accounts, account, qos);
    add_durations(accounts, account, qos);
    if (!account->is_parent) {
        add_submit(accounts, account);
        add_user_limits(import, account, qos);
    } else if (account->users.count > 0)
        import_report(import, account->line, account->name,
                      "a queue with queues below it takes no jobs: move its users to one of these");
    import_report_notes(import, account->line, limit_notes, COUNT_OF(limit_notes));
}

/* Without accounts, the limits of the partition are those of the queue that is always there. */
static void add_default(const struct accounts *accounts)
{
    struct import *import = accounts->import;
    const struct slurm_line *served = import->served ? &import->served->line : NULL;

    if (import_minutes(import, served, "MaxTime") == 0 &&
        import_minutes(import, served, "DefaultTime") == 0)
        return;
    text_add(import->config, "queues:\n  default:\n");
    add_durations(accounts, NULL, NULL);
}

void import_add_queues(struct import *import)
{
    struct accounts accounts = { .import = import };
    const char *text = import->from->accounts.text;

    if (text && text[strcspn(text, "|\n")] == '|')
        read_table(&accounts);
    else if (text)
        read_dump(&accounts);
    settle_parents(&accounts);
    if (accounts.all.count > 0)
        text_add(import->config, "queues:\n");
    else
        add_default(&accounts);
    report_root(&accounts);
    LIST_EACH (const struct account, account, &accounts.all)
        add_queue(&accounts, account);
    LIST_EACH (const struct slurm_line, line, &import->qos.all) {
        import_report_notes(import, line, limit_notes, COUNT_OF(limit_notes));
        import_report_notes(import, line, qos_notes, COUNT_OF(qos_notes));
    }
    LIST_EACH (struct account, account, &accounts.all)
        list_release(&account->users);
    list_release(&accounts.all);
}
