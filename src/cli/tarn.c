/* SPDX-License-Identifier: Apache-2.0 */
/* The client: it loads no library but the C library's, because it is started for each command. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "io/parts.h"

int run_in_tarnd(const struct options *options)
{
    AUTO_FREE char *path = NULL;
    struct error err;
    AUTO_FREE char **argv = mem_zero((size_t)options->argc + 2, sizeof(argv[0]));

    argv[0] = (char[]){ "tarn" };
    memcpy(argv + 1, options->argv, (size_t)options->argc * sizeof(argv[0]));
    if (part_find("tarnd", ".", &path, &err) < 0)
        return complain(&err);
    execv(path, argv);
    say("%s: %s", path, strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    static const struct command commands[] = {
#define COMMAND(group, name, table, words, usage, summary, first, second)                          \
    { GROUP_##group,     #name,      usage,           summary,                                     \
      { first, second }, run_##name, options_##table, WORDS_##words },
#define DAEMON_COMMAND(group, name, table, words, usage, summary, first, second)                   \
    {                                                                                              \
        GROUP_##group,     #name,        usage,       summary,                                     \
        { first, second }, run_in_tarnd, options_own, WORDS_OWN                                    \
    },
#include "cli/commands.def"
        { .name = NULL },
    };

    return cli_main(argc, argv, commands);
}
