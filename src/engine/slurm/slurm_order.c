/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- the mark ---- */

static char *mark_write(const char *instance, const struct engine_launch *launches, uint32_t count)
{
    struct text mark = { 0 };

    text_printf(&mark, "tarn=%s/%" PRIu64 ".%" PRIu32 " queue=%s ranks=", instance,
                launches[0].id.job, launches[0].id.attempt, launches[0].queue);
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

    *ret = (struct slurm_mark){ 0 };
    if (!ranks || !string_starts(comment, start) ||
        sscanf(comment + strlen(start), "%" SCNu64 ".%" SCNu32, &ret->job, &ret->attempt) != 2)
        return false;
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

static char *gres_of(const struct engine_launch *launch, uint32_t count)
{
    const char *model = launch->slices_count > 0 ? launch->slices[0].model : "gpu";
    bool is_typed = strcmp(model, "gpu") != 0;

    if (count == 0)
        return NULL;
    return mem_printf("gpu%s%s:%" PRIu32, is_typed ? ":" : "", is_typed ? model : "", count);
}

/* The first rank that fails is the result of the gang, and ends the others. */
static void add_rank(struct text *script, const struct engine_launch *launch,
                     const struct engine_launch *first)
{
    AUTO_FREE char *gres = gres_of(launch, launch->slices_count);

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
    if (launch->cpu_milli > 0)
        text_printf(script, " --cpus-per-task=%" PRId64, (launch->cpu_milli + 999) / 1000);
    text_add(script, " --");
    add_argv(script, launch->argv);
    text_add(script, ") &\npids=\"$pids $!\"\n");
}

static char *script_of(const struct engine_launch *launches, uint32_t count)
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
        add_rank(&script, &launches[i], &launches[0]);
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

/* What all members on the node of this one need. */
static void add_up(const struct engine_launch *launches, uint32_t count, const char *node,
                   uint32_t *ret_gpus, int64_t *ret_memory_mib)
{
    *ret_gpus = 0;
    *ret_memory_mib = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(launches[i].node, node) != 0)
            continue;
        *ret_gpus += launches[i].slices_count;
        *ret_memory_mib += launches[i].memory_mib;
    }
}

static int check(const struct engine_launch *launches, uint32_t count, struct error *err)
{
    uint32_t first_gpus, gpus;
    int64_t memory_mib;

    add_up(launches, count, launches[0].node, &first_gpus, &memory_mib);
    for (uint32_t i = 0; i < count; i++) {
        const struct engine_launch *launch = &launches[i];
        add_up(launches, count, launch->node, &gpus, &memory_mib);
        if (gpus != first_gpus)
            return error_set(err, -ENOTSUP,
                             "engine slurm: a gang needs the same number of GPUs on each node; it "
                             "got %" PRIu32 " on %s and %" PRIu32 " on %s",
                             first_gpus, launches[0].node, gpus, launch->node);
        for (uint32_t k = 0; k < launch->slices_count; k++) {
            if (launch->slices[k].milli != 1000)
                return error_set(err, -ENOTSUP,
                                 "engine slurm: it allocates whole GPUs only, not parts or MIG "
                                 "instances");
            if (strcmp(launch->slices[k].model, launches[0].slices[0].model) != 0)
                return error_set(err, -ENOTSUP,
                                 "engine slurm: a job needs GPUs of one model; it got %s and %s",
                                 launches[0].slices[0].model, launch->slices[k].model);
        }
    }
    return 0;
}

static char *nodes_of(const struct engine_launch *launches, uint32_t count, uint32_t *ret_count)
{
    struct text nodes = { 0 };

    *ret_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_known = false;
        for (uint32_t k = 0; k < i && !is_known; k++)
            is_known = strcmp(launches[k].node, launches[i].node) == 0;
        if (is_known)
            continue;
        text_printf(&nodes, "%s%s", *ret_count > 0 ? "," : "", launches[i].node);
        (*ret_count)++;
    }
    return text_take(&nodes);
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

/* tarn ends the job itself at its limit: Slurm's is a little later. */
static uint32_t limit_of(const struct engine_launch *launch)
{
    if (launch->duration_max <= 0 || launch->duration_max >= 365 * USEC_PER_DAY)
        return 0;
    return (uint32_t)((launch->duration_max + launch->grace) / USEC_PER_MIN) + 2;
}

static char *word_or_null(const char *word)
{
    return word[0] ? mem_string(word) : NULL;
}

int slurm_order_make(const char *instance, const struct watch_rules *rules,
                     const struct engine_launch *launches, uint32_t count, struct slurm_order **ret,
                     struct error *err)
{
    const struct engine_launch *first = &launches[0];
    bool is_gang = count > 1;
    uint32_t gpus;

    int code = check(launches, count, err);
    if (code < 0)
        return code;
    struct slurm_order *order = mem_zero(1, sizeof(*order));
    add_up(launches, count, first->node, &gpus, &order->memory_mib);
    order->name = mem_string(first->title && first->title[0] ? first->title : "tarn");
    order->comment = mark_write(instance, launches, count);
    order->partition = word_or_null(rules->slurm_partition);
    order->account = word_or_null(rules->slurm_account);
    order->nodes = nodes_of(launches, count, &order->node_count);
    order->gres = gres_of(first, gpus);
    order->script = script_of(launches, count);
    order->cwd = mem_string(first->cwd);
    order->output = is_gang ? mem_string("/dev/null") : pattern_of(first->output);
    order->error = is_gang || !first->error ? NULL : pattern_of(first->error);
    order->input = mem_string(is_gang || !first->input ? "/dev/null" : first->input);
    set_env(order, first->envp);
    order->task_count = count;
    order->cpus_per_task = (uint32_t)((first->cpu_milli + 999) / 1000);
    order->limit_min = limit_of(first);
    order->append = first->append;
    order->uid = first->uid;
    order->gid = first->gid;
    *ret = order;
    return 0;
}

void slurm_order_destroy(struct slurm_order *order)
{
    if (!order)
        return;
    char *texts[] = { order->name,   order->comment, order->partition, order->account,
                      order->nodes,  order->gres,    order->script,    order->cwd,
                      order->output, order->error,   order->input };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        free(texts[i]);
    for (uint32_t i = 0; i < order->env_count; i++)
        free(order->env[i]);
    free(order->env);
    free(order);
}
