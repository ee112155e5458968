/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/simulate.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/table.h"
#include "sim/batch.h"
#include "sim/fuzz.h"
#include "sim/listing.h"
#include "sim/report.h"

static const char usage[] =
    "Usage: tarn simulate FILE.yaml... [--json] [--report FILE.html] [--set KEY=VALUE]...\n"
    "       tarn simulate --fuzz [--seeds A..B | --seed N] [--steps N] [--save DIR] [--json]\n"
    "       tarn simulate --replay WORLD\n"
    "Run experiments: workloads on made-up clusters, with the scheduler that runs live.\n"
    "\n"
    "  --json           print the results as JSON\n"
    "  --report FILE    write a page with plots\n"
    "  --set KEY=VALUE  change a key of the files: --set policy.order=fifo\n"
    "  --skip-bad       count bad lines of a trace, and go on\n"
    "  -j, --jobs N     runs at a time (default: one a CPU)\n"
    "  --fuzz           random worlds instead: is what must always hold so in all of them?\n"
    "  --seeds A..B     one world a seed (default: 1..100)\n"
    "  --seed N         only this one\n"
    "  --steps N        what happens in each (default: 300)\n"
    "  --save DIR       write what does not hold, made small, there\n"
    "  --whole          don't make it small\n"
    "  --strict         also what is known not to hold\n"
    "  --replay WORLD   run a world that was printed or saved\n"
    "  --trace          with --replay: print all that is told and decided\n"
    "  -h, --help       this\n"
    "\n"
    "tarn-simulate(1) describes the files.\n";

struct options {
    char **files;
    int file_count;
    char **changes; /* NULL-terminated */
    size_t change_count;
    const char *report;
    bool is_json;
    struct batch_options batch;
    bool is_fuzzing, has_fuzz_option;
    struct fuzz_options fuzz;
};

static int refuse(const char *words, const char *value)
{
    fprintf(stderr, "tarn: simulate: %s%s\n", words, value);
    fputs("tarn simulate --help tells how it is used\n", stderr);
    return 2;
}

static int read_jobs(const char *text, unsigned *ret)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*end || value < 1 || value > 256)
        return refuse("--jobs: expected 1 to 256, not ", text);
    *ret = (unsigned)value;
    return 0;
}

/* Those of --fuzz; any other is wrong. */
static int read_fuzz_option(int option, const char *value, struct options *options)
{
    struct error err;
    int code = 0;

    options->has_fuzz_option |= option != 'f';
    switch (option) {
    case 'f':
        options->is_fuzzing = true;
        break;
    case 'S':
        code = fuzz_parse_seeds(value, &options->fuzz, &err);
        break;
    case 'n':
        code = fuzz_parse_steps(value, &options->fuzz, &err);
        break;
    case 'd':
        options->fuzz.save = value;
        break;
    case 'w':
        options->fuzz.keeps_all = true;
        break;
    case 'k':
        options->fuzz.is_strict = true;
        break;
    case 't':
        options->fuzz.is_traced = true;
        break;
    case 'R':
        options->fuzz.replay = value;
        options->is_fuzzing = true;
        break;
    default:
        fputs("tarn simulate --help tells how it is used\n", stderr);
        return 2;
    }
    return code < 0 ? refuse("", err.text) : 0;
}

static int check_options(const struct options *options)
{
    if (options->is_fuzzing && options->file_count > 0)
        return refuse("--fuzz makes its own worlds, and takes no file: ", options->files[0]);
    if (options->is_fuzzing && (options->change_count > 0 || options->report))
        return refuse("--fuzz takes neither --set nor --report", "");
    if (!options->is_fuzzing && options->has_fuzz_option)
        return refuse("--seeds, --seed, --steps, --save and --whole go with --fuzz", "");
    if (!options->is_fuzzing && options->file_count < 1)
        return refuse("expected a file that describes an experiment", "");
    return 0;
}

static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        { "json", no_argument, NULL, 'J' },        { "report", required_argument, NULL, 'r' },
        { "set", required_argument, NULL, 's' },   { "skip-bad", no_argument, NULL, 'b' },
        { "jobs", required_argument, NULL, 'j' },  { "fuzz", no_argument, NULL, 'f' },
        { "seeds", required_argument, NULL, 'S' }, { "seed", required_argument, NULL, 'S' },
        { "steps", required_argument, NULL, 'n' }, { "save", required_argument, NULL, 'd' },
        { "whole", no_argument, NULL, 'w' },       { "strict", no_argument, NULL, 'k' },
        { "trace", no_argument, NULL, 't' },       { "replay", required_argument, NULL, 'R' },
        { "help", no_argument, NULL, 'h' },        { 0 },
    };
    int option, status = 0;

    optind = 0;
    while (status == 0 && (option = getopt_long(argc, argv, "hj:", longs, NULL)) >= 0) {
        switch (option) {
        case 'J':
            options->is_json = true;
            break;
        case 'r':
            options->report = optarg;
            break;
        case 's':
            options->changes =
                mem_resize(options->changes, options->change_count + 2, sizeof(char *));
            options->changes[options->change_count++] = optarg;
            options->changes[options->change_count] = NULL;
            break;
        case 'b':
            options->batch.skip_bad = true;
            break;
        case 'j':
            status = read_jobs(optarg, &options->batch.jobs);
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            status = read_fuzz_option(option, optarg, options);
        }
    }
    options->files = argv + optind;
    options->file_count = argc - optind;
    return status == 0 ? check_options(options) : status;
}

/* The runs' drawings are for the report alone. */
static void drop_series(json_t *reports)
{
    for (size_t i = 0; i < json_array_size(reports); i++) {
        const json_t *runs = json_object_get(json_array_get(reports, i), "runs");
        for (size_t k = 0; k < json_array_size(runs); k++)
            json_object_del(json_array_get(runs, k), "series");
    }
}

/* Those of one file: one object; with variants, the first one's with all in `variants`. */
static json_t *of_file(const json_t *reports, size_t from, size_t to)
{
    const json_t *first = json_array_get(reports, from);

    json_t *object = json_copy((json_t *)(uintptr_t)first);
    if (!json_object_get(first, "variant"))
        return object;
    json_t *variants = json_object();
    for (size_t i = from; i < to; i++) {
        const json_t *report = json_array_get(reports, i);
        json_object_set_new(variants, json_string_value(json_object_get(report, "variant")),
                            json_pack("{s:O, s:O}", "runs", json_object_get(report, "runs"), "mean",
                                      json_object_get(report, "mean")));
    }
    json_object_set_new(object, "variants", variants);
    return object;
}

static void print_json(const json_t *reports, const size_t *counts, const struct options *options)
{
    json_t *all = json_object();
    size_t at = 0;

    for (int i = 0; i < options->file_count; i++) {
        json_object_set_new(all, options->files[i], of_file(reports, at, at + counts[i]));
        at += counts[i];
    }
    json_t *shown = options->file_count == 1 ? json_object_get(all, options->files[0]) : all;
    char *text = json_dumps(shown, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    puts(text);
    free(text);
    json_decref(all);
}

static void print_table(const json_t *reports)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct winsize size = { 0 };
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    struct table_view view = { .has_title = true };

    if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        view.width = size.ws_col;
    view.has_colours =
        is_terminal && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
    listing_format(reports, &view, &text);
    fputs(text_string(&text), stdout);
}

static int run_all(const struct options *options, const struct sim_ports *ports, json_t *reports,
                   size_t *counts, struct error *err)
{
    int code = 0;

    for (int i = 0; i < options->file_count && code == 0; i++) {
        struct experiment_list list = { 0 };
        code = experiment_read(options->files[i], options->changes, &list, err);
        for (size_t k = 0; k < list.items.count && code == 0; k++) {
            json_t *report = NULL;
            code = batch_run(list.items.items[k], ports, &options->batch, &report, err);
            if (code == 0)
                json_array_append_new(reports, report);
        }
        counts[i] = list.items.count;
        experiment_list_release(&list);
    }
    return code;
}

static int write_report(const char *path, const json_t *reports, struct error *err)
{
    AUTO_RELEASE(text) struct text page = { 0 };

    report_format(reports, &page);
    FILE *file = fopen(path, "we");
    if (!file)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    bool is_written = fwrite(page.bytes, 1, page.length, file) == page.length;
    if (fclose(file) != 0 || !is_written)
        return error_set(err, -EIO, "%s: can't be written: %s", path, strerror(errno));
    return 0;
}

int simulate(int argc, char **argv, const struct sim_ports *ports)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct options options = { .batch = { .jobs = cpus > 0 && cpus <= 256 ? (unsigned)cpus : 1 },
                               .fuzz = { .from = 1, .to = 100, .steps = FUZZ_STEPS_DEFAULT } };
    struct error err = { "" };

    int status = read_options(argc, argv, &options);
    if (status == 0 && options.is_fuzzing) {
        options.fuzz.is_json = options.is_json;
        options.fuzz.has_progress = isatty(STDERR_FILENO) == 1;
        status = fuzz(&options.fuzz);
    } else if (status == 0) {
        json_t *reports = json_array();
        size_t *counts = mem_zero((size_t)options.file_count, sizeof(counts[0]));
        options.batch.has_series = options.report != NULL;
        options.batch.has_progress = isatty(STDERR_FILENO) == 1;
        int code = run_all(&options, ports, reports, counts, &err);
        if (code == 0 && options.report)
            code = write_report(options.report, reports, &err);
        drop_series(reports);
        if (code == 0 && options.is_json)
            print_json(reports, counts, &options);
        else if (code == 0)
            print_table(reports);
        if (code < 0)
            fprintf(stderr, "tarn: %s\n", err.text);
        status = code < 0 ? 1 : 0;
        json_decref(reports);
        free(counts);
    }
    free(options.changes);
    return status;
}
