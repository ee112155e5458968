/* SPDX-License-Identifier: Apache-2.0 */
/* import: a configuration from that of another system; what has no equal is reported. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "io/file.h"
#include "wire/slurm/slurm_import.h"

enum { IMPORT_CONF, IMPORT_ACCOUNTS, IMPORT_QOS, IMPORT_PARTITION, IMPORT_REPORT };
enum { FILE_MAX = 64 << 20 };

const struct option_entry options_import[] = {
    [IMPORT_CONF] = { "conf", 'c', "FILE", "slurm.conf (default /etc/slurm/slurm.conf)" },
    [IMPORT_ACCOUNTS] = { "accounts", 0, "FILE",
                          "output of `sacctmgr dump CLUSTER`, or of `sacctmgr -p show assoc`" },
    [IMPORT_QOS] = { "qos", 0, "FILE", "output of `sacctmgr -p show qos`" },
    [IMPORT_PARTITION] = { "partition", 0, "NAME",
                           "the partition that tarn is to serve (default: Slurm's)" },
    [IMPORT_REPORT] = { "report", 0, "FILE",
                        "write what has no equal to FILE, not to standard error" },
    { 0 },
};

static int read_file(const char *path, struct text *text, struct error *err)
{
    return path ? file_read(path, FILE_MAX, text, err) : 0;
}

static int write_report(const char *path, const struct text *report, struct error *err)
{
    if (path)
        return file_replace(path, text_string(report), report->length, err);
    fputs(text_string(report), stderr);
    return 0;
}

int run_import(const struct options *given)
{
    const char *const *values = given->values;
    AUTO_RELEASE(text) struct text conf = { 0 }, accounts = { 0 }, qos = { 0 };
    AUTO_RELEASE(text) struct text config = { 0 }, report = { 0 };
    struct error err = { "" };

    if (given->word_count != 1 || strcmp(given->words[0], "slurm") != 0)
        return usage_wrong("import", "expected: tarn import slurm");
    int code =
        read_file(values[IMPORT_CONF] ? values[IMPORT_CONF] : "/etc/slurm/slurm.conf", &conf, &err);
    if (code == 0)
        code = read_file(values[IMPORT_ACCOUNTS], &accounts, &err);
    if (code == 0)
        code = read_file(values[IMPORT_QOS], &qos, &err);
    struct slurm_import from = { .conf = text_string(&conf),
                                 .accounts = text_string(&accounts),
                                 .qos = text_string(&qos),
                                 .partition = values[IMPORT_PARTITION] };
    if (code == 0)
        code = slurm_import(&from, &config, &report, &err);
    if (code == 0)
        code = write_report(values[IMPORT_REPORT], &report, &err);
    if (code < 0) {
        fprintf(stderr, "tarn: %s\n", err.text);
        return 1;
    }
    fputs(text_string(&config), stdout);
    return 0;
}
