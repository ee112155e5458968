/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include "cli/command.h"
#include "daemon/daemon.h"

int main(int argc, char **argv)
{
    static const struct command more[] = {
        { .name = "doctor",
          .usage = "",
          .summary = "look for what would keep tarn from working",
          .run = run_doctor },
        { .name = "replay",
          .usage = "[--verify | --print]",
          .summary = "read the journal again, and decide again",
          .run = run_replay },
        { .name = "serve",
          .usage = "[OPTIONS]",
          .summary = "run the daemon in the foreground",
          .run = run_serve },
        { .name = "simulate",
          .usage = "FILE.yaml... [OPTIONS]",
          .summary = "try a policy on a workload, on a virtual clock",
          .run = run_simulate },
        { .name = NULL },
    };

    return cli_main(argc, argv, more);
}
