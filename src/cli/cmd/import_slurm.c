/* SPDX-License-Identifier: Apache-2.0 */
/* import slurm: from slurm.conf and what sacctmgr prints, or from the running Slurm. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/import_source.h"
#include "wire/slurm/slurm_import.h"

struct slurm_sources {
    struct importing *importing;
    struct slurm_import from;
};

static int read_source(struct importing *importing, const char *path, struct slurm_source *ret,
                       struct error *err)
{
    return import_read(importing, path, &ret->name, &ret->text, err);
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
        path[0] == '/' ? mem_string(path) : beside(importing->given->values[IMPORT_CONF], path);

    return read_source(importing, whole, ret, err);
}

/* The file that was asked for, or the one beside slurm.conf if it is there. */
static int read_gres(struct slurm_sources *sources, struct error *err)
{
    struct importing *importing = sources->importing;
    const char *path = importing->given->values[IMPORT_GRES],
               *conf = importing->given->values[IMPORT_CONF];
    AUTO_FREE char *own = !path && conf ? beside(conf, "gres.conf") : NULL;

    if (own && access(own, F_OK) == 0)
        path = own;
    return path ? read_source(importing, path, &sources->from.gres, err) : 0;
}

/* ---- the running Slurm ---- */

/* Without slurmdbd there are no accounts: that is no failure. name: of what it prints, in reports.
 */
static void ask_accounts(struct importing *importing, struct slurm_source *ret, const char *name,
                         const char *command)
{
    struct text text = { 0 };
    struct error err;

    if (import_ask(command, &text, &err) == 0)
        *ret = (struct slurm_source){ name, import_keep(importing, text_take(&text)) };
    else
        text_printf(&importing->report, "%s; no queues are made of accounts\n", err.text);
    text_release(&text);
}

static int ask_slurm(struct slurm_sources *sources, struct error *err)
{
    static const char *const commands[] = { "scontrol show config", "scontrol -o show partition",
                                            "scontrol -o show node" };
    struct slurm_import *from = &sources->from;
    struct text text = { 0 };
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(commands) && code == 0; i++)
        code = import_ask(commands[i], &text, err);
    from->is_listing = true;
    from->conf =
        (struct slurm_source){ "scontrol", import_keep(sources->importing, text_take(&text)) };
    return code < 0 ? error_prefix(err, code, "no --conf FILE, and Slurm does not answer") : 0;
}

/* ---- all of it ---- */

static int read_sources(struct slurm_sources *sources, struct error *err)
{
    struct importing *importing = sources->importing;
    const char *const *values = importing->given->values;
    struct slurm_import *from = &sources->from;

    int code = values[IMPORT_CONF] ? read_source(importing, values[IMPORT_CONF], &from->conf, err)
                                   : ask_slurm(sources, err);
    if (code == 0)
        code = read_gres(sources, err);
    if (code == 0 && values[IMPORT_TOPOLOGY])
        code = read_source(importing, values[IMPORT_TOPOLOGY], &from->topology, err);
    if (code == 0 && values[IMPORT_ACCOUNTS])
        code = read_source(importing, values[IMPORT_ACCOUNTS], &from->accounts, err);
    else if (code == 0 && from->is_listing)
        ask_accounts(importing, &from->accounts, "sacctmgr -P show assoc", SLURM_IMPORT_ASSOC);
    if (code == 0 && values[IMPORT_QOS])
        code = read_source(importing, values[IMPORT_QOS], &from->qos, err);
    else if (code == 0 && from->accounts.text && from->is_listing)
        ask_accounts(importing, &from->qos, "sacctmgr -P show qos", "sacctmgr -P show qos");
    return code;
}

int import_slurm(struct importing *importing, struct error *err)
{
    struct slurm_sources sources = { .importing = importing };
    struct slurm_import *from = &sources.from;

    from->partition = importing->given->values[IMPORT_PARTITION];
    from->user = importing;
    from->include = include;
    int code = read_sources(&sources, err);
    return code < 0 ? code : slurm_import(from, &importing->config, &importing->report, err);
}
