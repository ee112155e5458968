/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/report/html_report.h"
#include "sim/report/listing.h"
#include "sim/run/batch.h"
#include "wire/json.h"

static const char usage[] =
    "Usage: tarn simulate FILE.yaml... [--json] [--report FILE.html] [--set KEY=VALUE]...\n"
    "Run experiments: the scheduler of the daemon, on a workload, in virtual time.\n"
    "\n"
    "  --json           print the results as JSON\n"
    "  --report FILE    write a page with plots\n"
    "  --set KEY=VALUE  change a key of the files: --set policy.order=fifo\n"
    "  --skip-bad       count bad lines of a trace and continue\n"
    "  -j, --jobs N     processes at a time (default: one per CPU)\n"
    "  -h, --help       print this text\n"
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
};

static int refuse(const char *words, const char *value)
{
    fprintf(stderr, "tarn: simulate: %s%s\n", words, value);
    fputs("tarn simulate --help prints the usage\n", stderr);
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

static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {
        { "json", no_argument, NULL, 'J' },
        { "report", required_argument, NULL, 'r' },
        { "set", required_argument, NULL, 's' },
        { "skip-bad", no_argument, NULL, 'b' },
        { "jobs", required_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
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
            fputs("tarn simulate --help prints the usage\n", stderr);
            status = 2;
        }
    }
    options->files = argv + optind;
    options->file_count = argc - optind;
    if (status == 0 && options->file_count < 1)
        status = refuse("expected a file that describes an experiment", "");
    return status;
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
    AUTO(json) json_t *all = json_object();
    size_t at = 0;

    for (int i = 0; i < options->file_count; i++) {
        json_object_set_new(all, options->files[i], of_file(reports, at, at + counts[i]));
        at += counts[i];
    }
    json_t *shown = options->file_count == 1 ? json_object_get(all, options->files[0]) : all;
    json_print(shown, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
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
        return error_set(err, -EIO, "%s: cannot be written: %s", path, strerror(errno));
    return 0;
}

/* Before the runs, which may take hours: whether the report can be written. */
static int check_report(const char *path, struct error *err)
{
    bool is_there = access(path, F_OK) == 0;

    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set(err, -errno, "--report %s: %s", path, strerror(errno));
    close(fd);
    if (!is_there)
        unlink(path);
    return 0;
}

int simulate(int argc, char **argv, const struct sim_ports *ports)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct options options = { .batch = { .jobs = cpus > 0 && cpus <= 256 ? (unsigned)cpus : 1 } };
    struct error err = { "" };

    int status = read_options(argc, argv, &options);
    if (status == 0) {
        AUTO(json) json_t *reports = json_array();
        AUTO_FREE size_t *counts = mem_zero((size_t)options.file_count, sizeof(counts[0]));
        options.batch.has_series = options.report != NULL;
        options.batch.has_progress = isatty(STDERR_FILENO) == 1;
        int code = options.report ? check_report(options.report, &err) : 0;
        if (code == 0)
            code = run_all(&options, ports, reports, counts, &err);
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
    }
    free(options.changes);
    return status;
}
