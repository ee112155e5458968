/* SPDX-License-Identifier: Apache-2.0 */
/* import: a configuration from that of another system; what has no equal is reported. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/import_source.h"
#include "cli/command.h"
#include "io/file.h"
#include "wire/config/config.h"
#include "wire/json.h"

const struct option_entry options_import[] = {
    [IMPORT_CONF] = { "conf", 'c', "FILE", "slurm.conf (default: what scontrol shows)" },
    [IMPORT_GRES] = { "gres", 0, "FILE", "gres.conf (default: the file beside slurm.conf)" },
    [IMPORT_TOPOLOGY] = { "topology", 0, "FILE",
                          "topology.conf: write racks and blocks, too (default: the engine reads "
                          "them)" },
    [IMPORT_ACCOUNTS] = { "accounts", 0, "FILE",
                          "output of sacctmgr dump CLUSTER, or of sacctmgr -P show assoc with "
                          "format= and ParentName" },
    [IMPORT_QOS] = { "qos", 0, "FILE", "output of sacctmgr -P show qos" },
    [IMPORT_PARTITION] = { "partition", 0, "NAME",
                           "the partition that tarn is to serve (default: Slurm's)" },
    [IMPORT_OUT] = { "out", 'o', "FILE",
                     "write the configuration to FILE, not to standard output" },
    [IMPORT_REPORT] = { "report", 0, "FILE",
                        "write what has no equal to FILE, not to standard error" },
    { 0 },
};

static const struct system {
    const char *name;
    int (*import)(struct importing *importing, struct error *err);
    bool has_files; /* as words, not as options */
} systems[] = {
    { "slurm", import_slurm, false },
    { "kueue", import_kueue, true },
    { "volcano", import_volcano, true },
};

/* ---- what is written ---- */

/* What is printed is what `tarn apply` takes. */
static int check(const struct text *text, struct error *err)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    AUTO(config) struct config *config = NULL;

    int code = yaml_parse(text->bytes, text->length, "configuration", &document, &lines, err);
    if (code == 0)
        code = config_parse(document, lines, "configuration", &config, err);
    return code < 0 ? error_prefix(err, code, "tarn has no such configuration") : 0;
}

static int write_text(const char *path, const struct text *text, FILE *file, struct error *err)
{
    if (path)
        return file_replace(path, text_string(text), text->length, err);
    fputs(text_string(text), file);
    return fflush(file) == 0 ? 0 : error_set(err, -errno, "output: %s", strerror(errno));
}

static int import(const struct system *system, struct importing *importing, struct error *err)
{
    const char *const *values = importing->given->values;

    int code = system->import(importing, err);
    if (code == 0)
        code = check(&importing->config, err);
    if (code == 0)
        code = write_text(values[IMPORT_REPORT], &importing->report, stderr, err);
    if (code == 0)
        code = write_text(values[IMPORT_OUT], &importing->config, stdout, err);
    return code;
}

/* ---- the command ---- */

static const struct system *find_system(const struct options *given)
{
    for (size_t i = 0; i < COUNT_OF(systems) && given->word_count > 0; i++) {
        if (strcmp(given->words[0], systems[i].name) == 0)
            return &systems[i];
    }
    return NULL;
}

/* An option of Slurm's files beside another system, or NULL. */
static const char *strange_option(const struct options *given)
{
    for (int i = IMPORT_CONF; i <= IMPORT_PARTITION; i++) {
        if (given->values[i])
            return options_import[i].name;
    }
    return NULL;
}

int run_import(const struct options *given)
{
    struct importing importing = { .given = given };
    const struct system *system = find_system(given);
    struct error err = { "" };

    if (!system || (!system->has_files && given->word_count > 1))
        return usage_wrong("import", "expected: tarn import slurm, tarn import kueue [FILE...] or "
                                     "tarn import volcano [FILE...]");
    if (system->has_files && strange_option(given))
        return usage_wrong("import", "--%s is for slurm; expected: tarn import %s [FILE...]",
                           strange_option(given), system->name);
    int code = import(system, &importing, &err);
    LIST_EACH (char *, text, &importing.texts)
        free(*text);
    list_release(&importing.texts);
    text_release(&importing.config);
    text_release(&importing.report);
    if (code == 0)
        return 0;
    fprintf(stderr, "tarn: %s\n", err.text);
    return 1;
}
