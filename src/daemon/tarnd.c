/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/bridge/bridge_far.h"
#include "cli/command.h"
#include "daemon/output_checks.h"
#include "daemon/read_output.h"
#include "daemon/study/study.h"
#include "daemon/study/study_report.h"

int main(int argc, char **argv)
{
    static const struct command commands[] = {
#define COMMAND(group, name, table, words, usage, summary, first, second)                          \
    { GROUP_##group,     #name,      usage,           summary,                                     \
      { first, second }, run_##name, options_##table, WORDS_##words },
#define DAEMON_COMMAND COMMAND
#include "cli/commands.def"
        { .name = NULL },
    };

    if (argc == 2 && strcmp(argv[1], "--rehearse") == 0) /* the daemon calls it */
        return run_rehearsal();
    if (argc == 2 && strcmp(argv[1], "--report") == 0) /* and this */
        return run_report_study();
    if (argc == 4 && strcmp(argv[1], "--bridge") == 0)
        return run_bridge(argv + 2);
    if (argc == READ_OUTPUT_ARGS + 2 && strcmp(argv[1], "--read-output") == 0)
        return run_read_output(argv + 2);
    if (argc == OUTPUT_CHECK_ARGS + 2 && strcmp(argv[1], "--check-outputs") == 0)
        return run_check_outputs(argv + 2);
    return cli_main(argc, argv, commands);
}
