/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells, made from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "wire/job/sbatch/sbatch.h"

/* Whether its words are numbers of jobs. */
static bool takes_jobs(const struct command *command)
{
    return string_starts(command->usage, "ID");
}

/* "--all --state ..." of a command. */
static void add_options(struct text *text, const struct command *command)
{
    for (const struct option_entry *option = command->options; option && option->name; option++)
        text_printf(text, "--%s ", option->name);
    for (size_t i = 0; command_takes_a_job(command) && sbatch_option_names()[i]; i++)
        text_printf(text, "--%s ", sbatch_option_names()[i]);
    for (const struct option_entry *option = options_common; option->name; option++) {
        if (option_meaning(command, option))
            text_printf(text, "--%s ", option->name);
    }
}

static void print_verbs(struct text *text)
{
    for (const struct command *command = commands_all; command->name; command++)
        text_printf(text, "%s ", command->name);
}

static void bash(struct text *text)
{
    text_add(text, "_tarn()\n{\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                   "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                   "        COMPREPLY=($(compgen -W \"");
    print_verbs(text);
    text_add(text, "\" -- \"$word\"))\n"
                   "        return\n"
                   "    fi\n"
                   "    case ${COMP_WORDS[1]} in\n");
    for (const struct command *command = commands_all; command->name; command++) {
        text_printf(text, "    %s) words=\"", command->name);
        add_options(text, command);
        text_add(text, "\"");
        if (takes_jobs(command))
            text_add(text, "\n        [[ $word == -* ]] || words=$(tarn ls -q 2>/dev/null)");
        if (strcmp(command->name, "help") == 0)
            text_add(text, "\n        words=$(tarn completion verbs)");
        text_add(text, " ;;\n");
    }
    text_add(text, "    esac\n"
                   "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                   "}\n"
                   "complete -o default -F _tarn tarn\n");
}

static void zsh(struct text *text)
{
    text_add(text, "#compdef tarn\n_tarn()\n{\n    local -a verbs\n    verbs=(\n");
    for (const struct command *command = commands_all; command->name; command++)
        text_printf(text, "        '%s:%s'\n", command->name, command->summary);
    text_add(text, "    )\n"
                   "    if (( CURRENT == 2 )); then\n"
                   "        _describe command verbs\n"
                   "        return\n"
                   "    fi\n"
                   "    case $words[2] in\n");
    for (const struct command *command = commands_all; command->name; command++) {
        text_printf(text, "    %s)\n        compadd -- ", command->name);
        add_options(text, command);
        if (takes_jobs(command))
            text_add(text, "\n        compadd -- ${(f)\"$(tarn ls -q 2>/dev/null)\"}");
        text_add(text, "\n        ;;\n");
    }
    text_add(text, "    esac\n    _files\n}\n"
                   "if [ \"$funcstack[1]\" = _tarn ]; then\n    _tarn \"$@\"\n"
                   "else\n    compdef _tarn tarn\nfi\n");
}

/* In single quotes, as fish reads it. */
static void add_quoted(struct text *text, const char *words)
{
    text_add_char(text, '\'');
    for (; *words; words++) {
        if (*words == '\'' || *words == '\\')
            text_add_char(text, '\\');
        text_add_char(text, *words);
    }
    text_add_char(text, '\'');
}

static void fish(struct text *text)
{
    for (const struct command *command = commands_all; command->name; command++) {
        const char *name = command->name;

        text_printf(text, "complete -c tarn -n __fish_use_subcommand -f -a %s -d '%s'\n", name,
                    command->summary);
        for (const struct option_entry *option = command->options; option && option->name;
             option++) {
            text_printf(text, "complete -c tarn -n '__fish_seen_subcommand_from %s' -l %s", name,
                        option->name);
            if (option->letter)
                text_printf(text, " -s %c", option->letter);
            text_printf(text, "%s -d ", option->argument ? " -r" : "");
            add_quoted(text, option_meaning(command, option));
            text_add_char(text, '\n');
        }
        for (size_t k = 0; command_takes_a_job(command) && sbatch_option_names()[k]; k++)
            text_printf(text, "complete -c tarn -n '__fish_seen_subcommand_from %s' -l %s\n", name,
                        sbatch_option_names()[k]);
        if (takes_jobs(command))
            text_printf(text,
                        "complete -c tarn -n '__fish_seen_subcommand_from %s' -f -a "
                        "'(tarn ls -q 2>/dev/null)'\n",
                        name);
    }
}

int run_completion(const struct options *options)
{
    static const struct {
        const char *name;
        void (*print)(struct text *text);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish }, { "verbs", print_verbs } };
    AUTO_RELEASE(text) struct text text = { 0 };

    for (size_t i = 0; options->word_count == 1 && i < COUNT_OF(shells); i++) {
        if (strcmp(shells[i].name, options->words[0]) == 0) {
            shells[i].print(&text);
            fputs(text.bytes, stdout);
            return 0;
        }
    }
    return usage_wrong("completion", "expected bash, zsh or fish");
}
