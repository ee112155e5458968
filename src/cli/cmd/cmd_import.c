/* SPDX-License-Identifier: Apache-2.0 */
/* import: a configuration from that of another system; what has no equal is reported. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "io/file.h"
#include "wire/config/config.h"
#include "wire/json.h"
#include "wire/slurm/slurm_import.h"

enum {
    IMPORT_CONF,
    IMPORT_GRES,
    IMPORT_TOPOLOGY,
    IMPORT_ACCOUNTS,
    IMPORT_QOS,
    IMPORT_PARTITION,
    IMPORT_OUT,
    IMPORT_REPORT,
};
enum { FILE_MAX = 64 << 20 };

const struct option_entry options_import[] = {
    [IMPORT_CONF] = { "conf", 'c', "FILE", "slurm.conf (default: what scontrol shows)" },
    [IMPORT_GRES] = { "gres", 0, "FILE", "gres.conf (default: the file beside slurm.conf)" },
    [IMPORT_TOPOLOGY] = { "topology", 0, "FILE",
                          "topology.conf: write racks and blocks, too (default: the engine reads "
                          "them)" },
    [IMPORT_ACCOUNTS] = { "accounts", 0, "FILE",
                          "output of sacctmgr dump CLUSTER, or of sacctmgr -P show assoc" },
    [IMPORT_QOS] = { "qos", 0, "FILE", "output of sacctmgr -P show qos" },
    [IMPORT_PARTITION] = { "partition", 0, "NAME",
                           "the partition that tarn is to serve (default: Slurm's)" },
    [IMPORT_OUT] = { "out", 'o', "FILE",
                     "write the configuration to FILE, not to standard output" },
    [IMPORT_REPORT] = { "report", 0, "FILE",
                        "write what has no equal to FILE, not to standard error" },
    { 0 },
};

/* Texts and names that stay until the end. */
struct importing {
    const char *const *values;
    LIST(char *) texts;
    struct slurm_import from;
    struct text config, report;
};

static const char *keep(struct importing *importing, char *text)
{
    list_add(&importing->texts, text);
    return text;
}

static int read_source(struct importing *importing, const char *path, struct slurm_source *ret,
                       struct error *err)
{
    struct text text = { 0 };

    int code = file_read(path, FILE_MAX, &text, err);
    ret->name = keep(importing, mem_string(path));
    ret->text = keep(importing, text_take(&text));
    if (code == 0 && !string_is_utf8(ret->text, strlen(ret->text)))
        code = error_set(err, -EBADMSG, "%s: not text, expected UTF-8", path);
    return code;
}

/* ---- files ---- */

static char *beside(const char *conf, const char *name)
{
    const char *slash = strrchr(conf, '/');

    return mem_printf("%.*s%s", slash ? (int)(slash + 1 - conf) : 0, conf, name);
}

static int include(void *user, const char *path, struct slurm_source *ret, struct error *err)
{
    struct importing *importing = user;
    AUTO_FREE char *whole =
        path[0] == '/' ? mem_string(path) : beside(importing->values[IMPORT_CONF], path);

    return read_source(importing, whole, ret, err);
}

/* The file that was asked for, or the one beside slurm.conf if it is there. */
static int read_gres(struct importing *importing, struct error *err)
{
    const char *path = importing->values[IMPORT_GRES], *conf = importing->values[IMPORT_CONF];
    AUTO_FREE char *own = !path && conf ? beside(conf, "gres.conf") : NULL;

    if (own && access(own, F_OK) == 0)
        path = own;
    return path ? read_source(importing, path, &importing->from.gres, err) : 0;
}

/* ---- the running Slurm ---- */

/* The output of a command; if it fails, its last line is in err. */
static int ask(const char *command, struct text *text, struct error *err)
{
    AUTO_FREE char *all = mem_printf("%s 2>&1", command);
    char *line = NULL, last[160] = "it printed nothing";
    size_t size = 0, before = text->length;

    FILE *pipe = popen(all, "re");
    if (!pipe)
        return error_set(err, -errno, "%s: %s", command, strerror(errno));
    while (getline(&line, &size, pipe) > 0) {
        string_clean(last, sizeof(last), line, strcspn(line, "\n"));
        if (text->length - before < FILE_MAX)
            text_add(text, line);
    }
    free(line);
    if (pclose(pipe) == 0)
        return 0;
    text->length = before;
    if (text->bytes)
        text->bytes[before] = '\0';
    return error_set(err, -ENOENT, "%s: %s", command, last);
}

/* Without slurmdbd there are no accounts: that is no failure. */
static void ask_accounts(struct importing *importing, struct slurm_source *ret, const char *command)
{
    struct text text = { 0 };
    struct error err;

    if (ask(command, &text, &err) == 0)
        *ret = (struct slurm_source){ command, keep(importing, text_take(&text)) };
    else
        text_printf(&importing->report, "%s; no queues are made of accounts\n", err.text);
    text_release(&text);
}

static int ask_slurm(struct importing *importing, struct error *err)
{
    static const char *const commands[] = { "scontrol show config", "scontrol -o show partition",
                                            "scontrol -o show node" };
    struct slurm_import *from = &importing->from;
    struct text text = { 0 };
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(commands) && code == 0; i++)
        code = ask(commands[i], &text, err);
    from->is_listing = true;
    from->conf = (struct slurm_source){ "scontrol", keep(importing, text_take(&text)) };
    return code < 0 ? error_prefix(err, code, "no --conf FILE, and Slurm does not answer") : 0;
}

/* ---- all of it ---- */

static int read_sources(struct importing *importing, struct error *err)
{
    const char *const *values = importing->values;
    struct slurm_import *from = &importing->from;

    int code = values[IMPORT_CONF] ? read_source(importing, values[IMPORT_CONF], &from->conf, err)
                                   : ask_slurm(importing, err);
    if (code == 0)
        code = read_gres(importing, err);
    if (code == 0 && values[IMPORT_TOPOLOGY])
        code = read_source(importing, values[IMPORT_TOPOLOGY], &from->topology, err);
    if (code == 0 && values[IMPORT_ACCOUNTS])
        code = read_source(importing, values[IMPORT_ACCOUNTS], &from->accounts, err);
    else if (code == 0 && from->is_listing)
        ask_accounts(importing, &from->accounts, "sacctmgr -P show assoc");
    if (code == 0 && values[IMPORT_QOS])
        code = read_source(importing, values[IMPORT_QOS], &from->qos, err);
    else if (code == 0 && from->accounts.text && from->is_listing)
        ask_accounts(importing, &from->qos, "sacctmgr -P show qos");
    return code;
}

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

static int import(struct importing *importing, struct error *err)
{
    const char *const *values = importing->values;

    importing->from.partition = values[IMPORT_PARTITION];
    importing->from.user = importing;
    importing->from.include = include;
    int code = read_sources(importing, err);
    if (code == 0)
        code = slurm_import(&importing->from, &importing->config, &importing->report, err);
    if (code == 0)
        code = check(&importing->config, err);
    if (code == 0)
        code = write_text(values[IMPORT_REPORT], &importing->report, stderr, err);
    if (code == 0)
        code = write_text(values[IMPORT_OUT], &importing->config, stdout, err);
    return code;
}

int run_import(const struct options *given)
{
    struct importing importing = { .values = given->values };
    struct error err = { "" };

    if (given->word_count != 1 || strcmp(given->words[0], "slurm") != 0)
        return usage_wrong("import", "expected: tarn import slurm");
    int code = import(&importing, &err);
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
