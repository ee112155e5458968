/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "daemon/study/study.h"
#include "daemon/study/study_report.h"
#include "daemon/verbs.h"

/* Nothing that is opened later gets the number of a standard stream that is closed: what is printed
 * would go into it. Only for reading, so that printing fails as it does without this. */
static void occupy_standard_streams(void)
{
    int fd = open("/dev/null", O_RDONLY);

    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDONLY);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    static const struct command more[] = {
        { .name = "doctor",
          .usage = "",
          .summary = "check for problems that prevent tarn from working",
          .run = run_doctor,
          .options = options_none,
          .words = WORDS_NONE },
        { .name = "exporter",
          .usage = "[--listen [HOST:]PORT] [--probe DEVICES]",
          .summary = "serve this machine's GPU metrics to Prometheus",
          .run = run_exporter,
          .options = options_exporter,
          .words = WORDS_NONE },
        { .name = "replay",
          .usage = "[--verify | --print]",
          .summary = "replay the journal, and compare the decisions",
          .run = run_replay,
          .options = options_replay,
          .words = WORDS_NONE },
        { .name = "serve",
          .usage = "[OPTIONS]",
          .summary = "run the daemon in the foreground",
          .run = run_serve,
          .options = options_serve,
          .words = WORDS_NONE },
        { .name = "simulate",
          .usage = "FILE.yaml... [OPTIONS]",
          .summary = "try a policy on a workload, on a virtual clock",
          .main = run_simulate },
        { .name = NULL },
    };

    occupy_standard_streams();
    if (argc == 2 && strcmp(argv[1], "--rehearse") == 0) /* the daemon calls it */
        return run_rehearsal();
    if (argc == 2 && strcmp(argv[1], "--report") == 0) /* and this */
        return run_report_study();
    return cli_main(argc, argv, more);
}
