/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/slurm/slurm_import.h"

#include <string.h>

#include "wire/slurm/import_cluster.h"
#include "wire/slurm/import_queues.h"

static void read_all(struct import *import)
{
    const struct slurm_import *from = import->from;

    if (from->gres.text)
        import->code = slurm_lines_of_conf(&from->gres, &import->gres, import->err);
    if (import->code == 0 && from->topology.text)
        import->code = slurm_lines_of_conf(&from->topology, &import->topology, import->err);
    if (import->code == 0 && from->qos.text)
        import->code = slurm_lines_of_table(&from->qos, "Name", &import->qos, import->err);
    if (import->code == 0 && from->accounts.text) {
        const char *text = from->accounts.text;
        import->code =
            text[strcspn(text, "|\n")] == '|'
                ? slurm_lines_of_table(&from->accounts, "Account", &import->accounts, import->err)
                : slurm_lines_of_dump(&from->accounts, &import->accounts, import->err);
    }
    if (import->code == 0)
        import_read_conf(import);
}

int slurm_import(const struct slurm_import *from, struct text *config, struct text *report,
                 struct error *err)
{
    struct import import = { .from = from, .config = config, .report = report, .err = err };

    read_all(&import);
    text_add(config, "# made by tarn import slurm\n");
    if (import.code == 0)
        import_add_cluster(&import);
    if (import.code == 0)
        import_add_queues(&import);
    LIST_EACH (struct partition, partition, &import.partitions)
        list_release(&partition->line.pairs);
    list_release(&import.partitions);
    list_release(&import.defaults.pairs);
    LIST_EACH (struct slurm_lines, lines, &import.included)
        slurm_lines_release(lines);
    list_release(&import.included);
    slurm_lines_release(&import.conf);
    slurm_lines_release(&import.gres);
    slurm_lines_release(&import.topology);
    slurm_lines_release(&import.accounts);
    slurm_lines_release(&import.qos);
    return import.code;
}
