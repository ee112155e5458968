/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/job_view.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { ALL, STATE, QUEUE, USER, NAME, GROUP, COUNT, AFTER };

const struct option_entry options_ls[] = {
    [ALL] = { "all", 'a', NULL, "include ended jobs" },
    [STATE] = { "state", 's', "STATES",
                "held, waiting, queued, granted, running, stopping, ended" },
    [QUEUE] = { "queue", 0, "NAME", "only jobs of this queue" },
    [USER] = { "user", 'u', "NAME", "only jobs of this user" },
    [NAME] = { "name", 0, "NAME", "only jobs with this name" },
    [GROUP] = { "group", 'g', "ID", "only jobs of this array, stage or pipeline" },
    [COUNT] = { "count", 'n', "N", "at most N jobs, default 1000" },
    [AFTER] = { "after", 0, "ID", "only jobs after this one" },
    { 0 },
};

static void build_path(const struct options *options, struct text *path)
{
    static const char *const keys[] = {
        [STATE] = "state", [QUEUE] = "queue", [USER] = "user",  [NAME] = "name",
        [GROUP] = "group", [COUNT] = "limit", [AFTER] = "after"
    };

    text_add(path, "/v1/jobs");
    if (options->values[ALL])
        client_query_add(path, "all", "1");
    if (options->values[ALL] && !options->values[AFTER] && !options->values[GROUP])
        client_query_add(path, "newest", "1");
    for (size_t i = STATE; i < COUNT_OF(keys); i++) {
        if (options->values[i])
            client_query_add(path, keys[i], options->values[i]);
    }
}

static bool any_is_synthetic(const json_t *jobs)
{
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job)
    {
        if (field_is_true(job, "synthetic"))
            return true;
    }
    return false;
}

static void print_footer(const json_t *reply, const struct options *options)
{
    const json_t *jobs = json_object_get(reply, "jobs");
    const json_t *gpus = json_object_get(reply, "gpus");
    char given[UNITS_TEXT_SIZE], total[UNITS_TEXT_SIZE];
    size_t count = json_array_size(jobs);

    talk("%zu job%s · %s of %s gpus given%s · tarn why ID explains", count, count == 1 ? "" : "s",
         units_format_milli(given, field_milli(gpus, "given")),
         units_format_milli(total, field_milli(gpus, "total")),
         any_is_synthetic(jobs) ? " · synthetic: no real device is behind them" : "");
    if (field_is_true(reply, "older"))
        talk("there are older ones: tarn ls -a -n N shows more");
    if (!field_is_null(reply, "next"))
        talk("there are more: tarn ls%s --after %" PRId64 " goes on, -n N shows more at once",
             options->values[ALL] ? " -a" : "", field_number(reply, "next"));
}

static void print_ids(const json_t *jobs)
{
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job) printf("%s\n", field_text(job, "label"));
}

static void print(const json_t *reply, const struct options *options)
{
    const json_t *jobs = json_object_get(reply, "jobs");

    if (options->is_json) {
        reply_print(reply);
    } else if (options->is_quiet) {
        print_ids(jobs);
    } else if (json_array_size(jobs) == 0) {
        talk(options->values[ALL] ? "no jobs"
                                  : "no jobs; tarn ls -a also shows those that have ended");
    } else {
        AUTO(table) struct table *table = jobs_table(jobs);
        screen_table(table);
        print_footer(reply, options);
    }
}

int run_ls(int argc, char **argv)
{
    AUTO_RELEASE(text) struct text path = { 0 };
    struct options options;
    AUTO(json) json_t *reply = NULL;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count > 0)
        return usage_wrong("ls", "'%s': expected no word; tarn show ID shows one job",
                           options.words[0]);
    build_path(&options, &path);
    if (session_ask("GET", path.bytes, NULL, &reply) != 0)
        return 1;
    print(reply, &options);
    return 0;
}
