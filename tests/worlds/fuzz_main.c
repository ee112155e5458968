/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of brain-worlds. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "worlds/fuzz.h"

static const char usage[] =
    "Usage: brain-worlds [--seeds A..B | --seed N] [--steps N] [--save DIR] [--json]\n"
    "       brain-worlds --replay WORLD [--trace]\n"
    "Run the scheduler in random worlds and check its invariants after every decision.\n"
    "\n"
    "  --seeds A..B     one world a seed (default: 1..100)\n"
    "  --seed N         only this one\n"
    "  --steps N        actions in each world (default: 300)\n"
    "  --save DIR       write a failing world, made small, to DIR\n"
    "  --whole          do not make a failing world small\n"
    "  --strict         also check what is known to fail\n"
    "  --json           print the result as JSON\n"
    "  --replay WORLD   run a world that was printed or saved\n"
    "  --trace          with --replay: print every event and decision\n"
    "  -h, --help       print this text\n"
    "\n"
    "The exit status is 0 when all invariants hold, 1 when one does not or a file cannot be read "
    "or\n"
    "written, 2 for wrong usage.\n";

static int refuse(const char *words)
{
    if (*words)
        fprintf(stderr, "brain-worlds: %s\n", words);
    fputs("brain-worlds --help lists the options\n", stderr);
    return 2;
}

static int read_options(int argc, char **argv, struct fuzz_options *options)
{
    static const struct option longs[] = {
        { "seeds", required_argument, NULL, 'S' },
        { "seed", required_argument, NULL, 'S' },
        { "steps", required_argument, NULL, 'n' },
        { "save", required_argument, NULL, 'd' },
        { "whole", no_argument, NULL, 'w' },
        { "strict", no_argument, NULL, 'k' },
        { "trace", no_argument, NULL, 't' },
        { "replay", required_argument, NULL, 'R' },
        { "json", no_argument, NULL, 'J' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    struct error err;
    int option, code = 0;

    while (code == 0 && (option = getopt_long(argc, argv, "h", longs, NULL)) >= 0) {
        switch (option) {
        case 'S':
            code = fuzz_parse_seeds(optarg, options, &err);
            break;
        case 'n':
            code = fuzz_parse_steps(optarg, options, &err);
            break;
        case 'd':
            options->save = optarg;
            break;
        case 'w':
            options->keeps_all = true;
            break;
        case 'k':
            options->is_strict = true;
            break;
        case 't':
            options->is_traced = true;
            break;
        case 'R':
            options->replay = optarg;
            break;
        case 'J':
            options->is_json = true;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            return refuse("");
        }
    }
    if (code < 0)
        return refuse(err.text);
    return optind < argc ? refuse("expected options only: worlds are made from seeds") : 0;
}

int main(int argc, char **argv)
{
    struct fuzz_options options = { .from = 1,
                                    .to = 100,
                                    .steps = FUZZ_STEPS_DEFAULT,
                                    .has_progress = isatty(STDERR_FILENO) == 1 };

    int status = read_options(argc, argv, &options);
    return status == 0 ? fuzz(&options) : status;
}
