/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/remote.h"
#include "cli/screen.h"
#include "cli/slurm/slurm.h"

enum { NAME_WIDTH = 12, COMMANDS_MAX = 64 };

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

static void help_all(void)
{
    static const struct {
        enum command_group group;
        const char *title;
    } groups[] = {
        { GROUP_JOBS, "Submit and control jobs" },
        { GROUP_WATCH, "Show the state, and explain it" },
        { GROUP_ADMIN, "Configure and maintain nodes, pools and queues" },
        { GROUP_DAEMON, "The daemon, and tools" },
    };
    AUTO_RELEASE(text) struct text text = { 0 };

    text_add(&text,
             "tarn COMMAND [ARG...]\n"
             "  turns the GPUs of a machine or cluster (Slurm, Kubernetes) into managed pools\n");
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        text_printf(&text, "\n%s\n", groups[i].title);
        for (const struct command *command = commands_all; command->name; command++) {
            if (command->group == groups[i].group)
                text_printf(&text, "  %-*s %s\n", NAME_WIDTH, command->name, command->summary);
        }
    }
    text_add(&text, "\ntarn help COMMAND lists the options of a command; man tarn describes all\n");
    screen_put(stdout, text.bytes);
}

/* Commands of other programs that users may type by habit. */
static const struct {
    const char *word, *verb;
} foreign[] = {
    { "status", "ls" },       { "list", "ls" },        { "jobs", "ls" },
    { "ps", "ls" },           { "queue", "ls" },       { "stat", "ls" },
    { "squeue", "ls" },       { "history", "ls" },     { "kill", "cancel" },
    { "delete", "cancel" },   { "del", "cancel" },     { "rm", "cancel" },
    { "remove", "cancel" },   { "stop", "cancel" },    { "abort", "cancel" },
    { "scancel", "cancel" },  { "start", "run" },      { "exec", "run" },
    { "srun", "run" },        { "sbatch", "submit" },  { "add", "submit" },
    { "create", "submit" },   { "info", "show" },      { "describe", "show" },
    { "get", "show" },        { "log", "logs" },       { "output", "logs" },
    { "tail", "logs" },       { "cat", "logs" },       { "explain", "why" },
    { "eta", "when" },        { "retry", "requeue" },  { "rerun", "requeue" },
    { "restart", "requeue" }, { "pause", "hold" },     { "suspend", "hold" },
    { "resume", "release" },  { "unhold", "release" }, { "modify", "update" },
    { "edit", "update" },     { "set", "update" },     { "sinfo", "nodes" },
    { "hosts", "nodes" },     { "devices", "gpus" },   { "nvidia-smi", "gpus" },
    { "shutdown", "down" },   { "daemon", "serve" },   { "sacct", "report" },
    { "usage", "report" },    { "quota", "queues" },   { "plan", "diff" },
};

static int unknown_command(const char *name)
{
    const char *names[COMMANDS_MAX + 1] = { 0 };

    for (size_t i = 0; commands_all[i].name; i++) {
        assert(i < COMMANDS_MAX);
        names[i] = commands_all[i].name;
    }
    const char *nearest = NULL;
    for (size_t i = 0; i < COUNT_OF(foreign) && !nearest; i++)
        nearest = strcmp(foreign[i].word, name) == 0 ? foreign[i].verb : NULL;
    if (!nearest)
        nearest = string_nearest(name, names);
    if (nearest)
        say("unknown command '%s'; did you mean '%s'?", name, nearest);
    else
        say("unknown command '%s'; tarn help lists them", name);
    return 2;
}

int run_help(const struct options *options)
{
    if (options->word_count == 0) {
        help_all();
        return 0;
    }
    const struct command *command = command_find(options->words[0]);
    if (!command)
        return unknown_command(options->words[0]);
    char *args[] = { options->words[0], (char[]){ "--help" }, NULL };
    if (command->options == options_own)
        return command->run(&(struct options){ .argc = 2, .argv = args });
    command_help(command);
    return 0;
}

int run_version(const struct options *options)
{
    printf(options->is_json ? "{\"version\":\"%s\"}\n" : "tarn %s\n", TARN_VERSION);
    return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = { .argc = argc, .argv = argv };
    int status;

    if (command->words != WORDS_OWN && !options_read(argc, argv, &options, &status))
        return status;
    return command->run(&options);
}

/* Output that cannot be written is a failure; a reader that has closed the pipe is not. */
static int flush(int status)
{
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE || status != 0)
        return status;
    say("standard output: %s", strerror(errno));
    return 1;
}

int cli_main(int argc, char **argv, const struct command *commands)
{
    static const struct {
        const char *word, *verb;
    } spellings[] = {
        { "--help", "help" }, { "-h", "help" }, { "--version", "version" }, { "-V", "version" }
    };

    occupy_standard_streams();
    commands_all = commands;
    const struct slurm_front *front = argc > 0 ? slurm_find(argv[0]) : NULL;
    if (front)
        return flush(slurm_run(front, argc, argv));
    if (argc < 2) {
        help_all();
        return 0;
    }
    const char *verb = argv[1];
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        if (strcmp(argv[1], spellings[i].word) == 0)
            verb = spellings[i].verb;
    }
    if (verb[0] == '-')
        return usage_wrong("", "unknown option '%s' before a command", verb);
    const struct command *command = command_find(verb);
    if (!command)
        return unknown_command(verb);
    argv[1] = (char *)(uintptr_t)command->name;
    if (remote_takes(argv + 1))
        return remote_exec(argv + 1);
    return flush(run(command, argc - 1, argv + 1));
}
