/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/slurm/gres.h"

enum { LIMIT_SLACK_MIN = 2 };

/* ---- the mark ---- */

/* tarn ends the job itself at its limit: Slurm's is a little later. */
static uint32_t limit_of(const struct engine_launch *launch)
{
    if (launch->duration_max <= 0 || launch->duration_max >= 365 * USEC_PER_DAY)
        return 0;
    return (uint32_t)((launch->duration_max + launch->grace) / USEC_PER_MIN) + LIMIT_SLACK_MIN;
}

/* Of an adopted job, Slurm's limit is its own, and tarn's a minute later (slurm_document.h). */
static void add_limit(struct text *mark, const struct engine_launch *launch, bool is_adopted)
{
    int64_t limit = limit_of(launch), grace_s = launch->grace / USEC_PER_SEC;

    if (is_adopted && limit > 0) {
        limit = launch->duration_max / USEC_PER_MIN - 1;
        grace_s = -60;
    }
    if (limit > 0)
        text_printf(mark, " limit=%" PRId64 "%+" PRId64, limit, grace_s);
}

static char *mark_write(const char *instance, const struct engine_launch *launches, uint32_t count,
                        bool is_adopted)
{
    struct text mark = { 0 };

    text_printf(&mark, "tarn=%s/%" PRIu64 ".%" PRIu32 " queue=%s", instance, launches[0].id.job,
                launches[0].id.attempt, launches[0].queue);
    add_limit(&mark, &launches[0], is_adopted);
    text_add(&mark, " ranks=");
    for (uint32_t i = 0; i < count; i++)
        text_printf(&mark, "%s%" PRIu32 "@%s:%" PRIu32, i > 0 ? "," : "", launches[i].id.rank,
                    launches[i].node, launches[i].slices_count);
    return text_take(&mark);
}

static bool read_ranks(const char *at, struct slurm_mark *ret)
{
    while (at && *at) {
        char node[256];
        struct slurm_rank rank = { 0 };
        if (sscanf(at, "%" SCNu32 "@%255[^:, ]:%" SCNu32, &rank.rank, node, &rank.gpus) != 3)
            return false;
        rank.node = mem_string(node);
        list_add(&ret->ranks, rank);
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return ret->ranks.count > 0;
}

bool slurm_mark_read(const char *instance, const char *comment, struct slurm_mark *ret)
{
    AUTO_FREE char *start = mem_printf("tarn=%s/", instance);
    const char *ranks = comment ? strstr(comment, " ranks=") : NULL;
    const char *limit = comment ? strstr(comment, " limit=") : NULL;

    *ret = (struct slurm_mark){ 0 };
    if (!ranks || !string_starts(comment, start) ||
        sscanf(comment + strlen(start), "%" SCNu64 ".%" SCNu32, &ret->job, &ret->attempt) != 2)
        return false;
    if (limit && sscanf(limit, " limit=%" SCNu32 "%" SCNd32, &ret->limit_min, &ret->grace_s) != 2)
        ret->limit_min = 0;
    if (read_ranks(ranks + strlen(" ranks="), ret))
        return true;
    slurm_mark_release(ret);
    return false;
}

void slurm_mark_release(struct slurm_mark *mark)
{
    for (size_t i = 0; i < mark->ranks.count; i++)
        free(mark->ranks.items[i].node);
    list_release(&mark->ranks);
}

usec_t slurm_mark_duration(const struct slurm_mark *mark, uint32_t limit_min)
{
    usec_t slack_min = mark->grace_s < 0 ? 0 : LIMIT_SLACK_MIN;
    usec_t duration = ((usec_t)limit_min - slack_min) * USEC_PER_MIN - mark->grace_s * USEC_PER_SEC;

    return duration > USEC_PER_SEC ? duration : USEC_PER_SEC;
}

/* ---- the batch script ---- */

/* One word for the shell. */
static void add_word(struct text *script, const char *word)
{
    text_add_char(script, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            text_add(script, "'\\''");
        else
            text_add_char(script, *word);
    }
    text_add_char(script, '\'');
}

static void add_argv(struct text *script, const char *const *argv)
{
    for (size_t i = 0; argv[i]; i++) {
        text_add_char(script, ' ');
        add_word(script, argv[i]);
    }
    text_add_char(script, '\n');
}

/* Slurm sets its own; tarn's would mislead srun. */
static bool is_passed(const char *variable)
{
    return !string_starts(variable, "SLURM_") && !string_starts(variable, "SLURMD_") &&
           !string_starts(variable, "BASH_ENV=");
}

static bool has_variable(const char *const *envp, const char *variable)
{
    for (; *envp; envp++) {
        if (strcmp(*envp, variable) == 0)
            return true;
    }
    return false;
}

/* Those that differ from the environment of the script. */
static void add_env(struct text *script, const char *const *envp, const char *const *known)
{
    for (; *envp; envp++) {
        const char *value = strchr(*envp, '=');
        AUTO_FREE char *name = value ? mem_string_of(*envp, (size_t)(value - *envp)) : NULL;
        if (!value || !is_passed(*envp) || has_variable(known, *envp))
            continue;
        text_printf(script, "export %s=", name);
        add_word(script, value + 1);
        text_add_char(script, '\n');
    }
}

static void add_redirect(struct text *script, const struct engine_launch *launch)
{
    const char *into = launch->append ? " >>" : " >";

    text_add(script, "exec <");
    add_word(script, launch->input ? launch->input : "/dev/null");
    text_add(script, into);
    add_word(script, launch->output);
    text_add(script, launch->error ? (launch->append ? " 2>>" : " 2>") : " 2>&1");
    if (launch->error)
        add_word(script, launch->error);
    text_add(script, " || exit\n");
}

static char *gres_of(const char *model, uint32_t count)
{
    bool is_typed = model && strcmp(model, "gpu") != 0;

    if (count == 0)
        return NULL;
    return mem_printf("gpu%s%s:%" PRIu32, is_typed ? ":" : "", is_typed ? model : "", count);
}

/* The first rank that fails is the result of the gang, and ends the others. */
static void add_rank(struct text *script, const struct engine_launch *launch,
                     const struct engine_launch *first, int64_t component)
{
    const char *model = launch->slices_count > 0 ? launch->slices[0].model : NULL;
    AUTO_FREE char *gres = gres_of(model, launch->slices_count);

    text_add(script, "(\n");
    add_env(script, launch->envp, first->envp);
    text_add(script, "cd ");
    add_word(script, launch->cwd);
    text_add(script, " || exit\n");
    add_redirect(script, launch);
    text_printf(script,
                "exec \"$srun\" --quiet --nodes=1 --ntasks=1 --exact --mem=0 --nodelist=%s "
                "--gres=%s",
                launch->node, gres ? gres : "none");
    if (component >= 0)
        text_printf(script, " --het-group=%" PRId64, component);
    if (launch->cpu_milli > 0)
        text_printf(script, " --cpus-per-task=%" PRId64, (launch->cpu_milli + 999) / 1000);
    text_add(script, " --");
    add_argv(script, launch->argv);
    text_add(script, ") &\npids=\"$pids $!\"\n");
}

/* ---- the job ---- */

/* A file name pattern of Slurm that means exactly this path. */
static char *pattern_of(const char *path)
{
    struct text pattern = { 0 };

    for (; path && *path; path++) {
        if (*path == '%')
            text_add_char(&pattern, '%');
        text_add_char(&pattern, *path);
    }
    return text_take(&pattern);
}

static bool is_part(const struct engine_launch *launch)
{
    return launch->slices_count > 0 && launch->slices[0].milli < 1000;
}

static int check(const struct engine_launch *launches, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct engine_launch *launch = &launches[i];
        if (is_part(launch) && (count > 1 || launch->slices_count > 1))
            return error_set(err, -ENOTSUP,
                             "engine slurm: it allocates a part of one GPU to a job with one "
                             "member only");
        for (uint32_t k = 0; k < count && launch->slices_count > 0; k++) {
            const struct engine_launch *other = &launches[k];
            const struct engine_slice *last = other->slices + other->slices_count - 1;
            if (other->slices_count > 0 && strcmp(other->node, launch->node) == 0 &&
                strcmp(last->model, launch->slices[0].model) != 0)
                return error_set(err, -ENOTSUP,
                                 "engine slurm: a job needs GPUs of one model on a node; it got %s "
                                 "and %s on %s",
                                 launch->slices[0].model, last->model, launch->node);
        }
    }
    return 0;
}

static bool has_several_models(const char *gres)
{
    AUTO_FREE char(*models)[GRES_MODEL_SIZE] = NULL;
    uint32_t count = gres_models(gres, &models);
    bool has = false;

    for (uint32_t i = 1; i < count; i++)
        has |= strcmp(models[i], models[0]) != 0;
    return has;
}

/* A part of a GPU: as many of Slurm's parts as hold it. */
static int set_part(struct slurm_component *component, const struct slurm_nodes *nodes,
                    const struct engine_launch *launch, struct error *err)
{
    const struct slurm_node *node = slurm_nodes_find(nodes, launch->node);
    const struct engine_slice *slice = &launch->slices[0];
    const char *gres = node ? node->gres : NULL;
    const char *name = slice->is_mps || gres_parts(gres, "shard") == 0 ? "mps" : "shard";
    uint32_t parts = gres_parts(gres, name);

    if (parts == 0)
        return error_set(err, -ENOTSUP, "engine slurm: node %s offers no parts of GPUs (gres/%s)",
                         launch->node, name);
    free(component->gres);
    component->gres = mem_printf("%s%s%s:%" PRIu64, name, has_several_models(gres) ? ":" : "",
                                 has_several_models(gres) ? slice->model : "",
                                 ((uint64_t)slice->milli * parts + 999) / 1000);
    return 0;
}

/* What all members on a node need. */
struct node_use {
    const char *node, *model;
    uint32_t gpus, ranks;
    int64_t memory_mib, cpu_milli;
};

static uint32_t add_up(const struct engine_launch *launches, uint32_t count, struct node_use *uses)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct engine_launch *launch = &launches[i];
        uint32_t at = 0;
        while (at < used && strcmp(uses[at].node, launch->node) != 0)
            at++;
        used += at == used;
        uses[at].node = launch->node;
        uses[at].model = launch->slices_count > 0 ? launch->slices[0].model : uses[at].model;
        uses[at].gpus += launch->slices_count;
        uses[at].ranks++;
        uses[at].memory_mib += launch->memory_mib;
        uses[at].cpu_milli += launch->cpu_milli;
    }
    return used;
}

static bool is_alike(const struct node_use *a, const struct node_use *b)
{
    return a->gpus == b->gpus && a->ranks == b->ranks &&
           strcmp(a->model ? a->model : "", b->model ? b->model : "") == 0;
}

static void add_nodes(struct slurm_component *component, const struct node_use *like,
                      const struct node_use *uses, uint32_t used)
{
    struct text nodes = { 0 };

    component->gres = gres_of(like->model, like->gpus);
    for (uint32_t i = 0; i < used; i++) {
        const struct node_use *use = &uses[i];
        uint32_t cpus = (uint32_t)((use->cpu_milli + 999) / 1000 + use->ranks - 1) / use->ranks;
        if (!is_alike(use, like))
            continue;
        text_printf(&nodes, "%s%s", component->node_count > 0 ? "," : "", use->node);
        component->node_count++;
        component->task_count += use->ranks;
        component->cpus_per_task =
            cpus > component->cpus_per_task ? cpus : component->cpus_per_task;
        component->memory_mib =
            use->memory_mib > component->memory_mib ? use->memory_mib : component->memory_mib;
    }
    component->nodes = text_take(&nodes);
}

/* Slurm gives each node of a job the same; nodes that differ are components of one. */
static void divide(struct slurm_order *order, const struct engine_launch *launches, uint32_t count)
{
    AUTO_FREE struct node_use *uses = mem_zero(count, sizeof(*uses));
    uint32_t used = add_up(launches, count, uses);

    for (uint32_t i = 0; i < used; i++) {
        struct slurm_component component = { 0 };
        bool is_known = false;
        for (uint32_t k = 0; k < i && !is_known; k++)
            is_known = is_alike(&uses[k], &uses[i]);
        if (is_known)
            continue;
        add_nodes(&component, &uses[i], uses, used);
        list_add(&order->components, component);
    }
}

/* The component that a node belongs to. */
static uint32_t component_of(const struct slurm_order *order, const char *node)
{
    for (uint32_t i = 0; i < order->components.count; i++) {
        const char *at = order->components.items[i].nodes;
        for (size_t length; *at; at += length + (at[length] == ',')) {
            length = strcspn(at, ",");
            if (strlen(node) == length && strncmp(at, node, length) == 0)
                return i;
        }
    }
    return 0;
}

static char *script_of(const struct slurm_order *order, const struct engine_launch *launches,
                       uint32_t count)
{
    struct text script = { 0 };

    text_printf(&script, "#!/bin/bash\n# tarn job %" PRIu64 ", attempt %" PRIu32 "\numask %04o\n",
                launches[0].id.job, launches[0].id.attempt, (unsigned)launches[0].umask);
    if (count == 1) {
        text_add(&script, "exec");
        add_argv(&script, launches[0].argv);
        return text_take(&script);
    }
    text_add(&script, "srun=$(command -v srun) || { echo 'no srun on this node'; exit 127; }\n"
                      "pids=\n");
    for (uint32_t i = 0; i < count; i++)
        add_rank(&script, &launches[i], &launches[0],
                 order->components.count > 1 ? (int64_t)component_of(order, launches[i].node) : -1);
    text_add(&script, "status=0\n"
                      "for pid in $pids; do\n"
                      "    wait -n; code=$?\n"
                      "    if [ $code -ne 0 ] && [ $status -eq 0 ]; then\n"
                      "        status=$code\n"
                      "        kill $pids 2>/dev/null\n"
                      "    fi\n"
                      "done\n"
                      "exit $status\n");
    return text_take(&script);
}

static void set_env(struct slurm_order *order, const char *const *envp)
{
    uint32_t count = 0;

    while (envp[count])
        count++;
    order->env = mem_zero(count + 1, sizeof(char *));
    for (uint32_t i = 0; i < count; i++) {
        if (is_passed(envp[i]))
            order->env[order->env_count++] = mem_string(envp[i]);
    }
}

static char *word_or_null(const char *word)
{
    return word[0] ? mem_string(word) : NULL;
}

int slurm_order_make(const char *instance, const struct watch_rules *rules,
                     const struct slurm_nodes *nodes, const struct engine_launch *launches,
                     uint32_t count, struct slurm_order **ret, struct error *err)
{
    const struct engine_launch *first = &launches[0];
    bool is_gang = count > 1;

    int code = check(launches, count, err);
    if (code < 0)
        return code;
    AUTO(slurm_order) struct slurm_order *order = mem_zero(1, sizeof(*order));
    divide(order, launches, count);
    if (is_part(first))
        code = set_part(&order->components.items[0], nodes, first, err);
    if (code < 0)
        return code;
    order->name = mem_string(first->title && first->title[0] ? first->title : "tarn");
    order->comment = mark_write(instance, launches, count, false);
    order->partition = word_or_null(rules->slurm_partition);
    order->account = word_or_null(rules->slurm_account);
    order->script = script_of(order, launches, count);
    order->cwd = mem_string(first->cwd);
    order->output = is_gang ? mem_string("/dev/null") : pattern_of(first->output);
    order->error = is_gang || !first->error ? NULL : pattern_of(first->error);
    order->input = mem_string(is_gang || !first->input ? "/dev/null" : first->input);
    set_env(order, first->envp);
    order->limit_min = limit_of(first);
    order->append = first->append;
    order->uid = first->uid;
    order->gid = first->gid;
    *ret = TAKE(order);
    return 0;
}

struct slurm_order *slurm_order_adopt(const char *instance, const struct engine_launch *launches,
                                      uint32_t count, const char *adopted)
{
    struct slurm_order *order = mem_zero(1, sizeof(*order));
    AUTO_FREE struct node_use *uses = mem_zero(count, sizeof(*uses));
    uint32_t used = add_up(launches, count, uses);
    struct slurm_component component = { .node_count = used };
    struct text nodes = { 0 };

    for (uint32_t i = 0; i < used; i++)
        text_printf(&nodes, "%s%s", i > 0 ? "," : "", uses[i].node);
    component.nodes = text_take(&nodes);
    list_add(&order->components, component);
    order->adopted = mem_string(adopted);
    order->comment = mark_write(instance, launches, count, true);
    return order;
}

void slurm_order_destroy(struct slurm_order *order)
{
    if (!order)
        return;
    char *texts[] = {
        order->name, order->comment, order->partition, order->account, order->script,
        order->cwd,  order->output,  order->error,     order->input,   order->adopted
    };
    LIST_EACH (struct slurm_component, component, &order->components) {
        free(component->nodes);
        free(component->gres);
        free(component->excluded_nodes);
    }
    list_release(&order->components);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    for (uint32_t i = 0; i < order->env_count; i++)
        free(order->env[i]);
    free(order->env);
    free(order);
}
