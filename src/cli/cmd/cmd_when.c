/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/each.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "wire/job/sbatch.h"

/* With options instead of a number: those of submit, read by wire/job/sbatch.h. */
const struct option_entry options_when[] = { { 0 } };

static void print_when(const json_t *when, const struct options *options)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const json_t *advice;
    size_t i;

    if (options->is_json) {
        reply_print(when);
        return;
    }
    if (options->is_quiet) {
        printf("%s\n", field_text(json_object_get(when, "start"), "expected"));
        return;
    }
    text_printf(&text, "%s\n", field_text(when, "text"));
    json_array_foreach(json_object_get(when, "sooner"), i, advice)
        text_printf(&text, "  %-8s%s\n", i == 0 ? "sooner" : "", field_text(advice, "text"));
    screen_put(stdout, text.bytes);
}

static int when_each(const struct each *each)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/when", each->id);
    json_t *when = NULL;
    struct error err;

    if (session_get(each->session, path, &when, &err) < 0)
        return complain(&err);
    print_when(when, each->options);
    json_decref(when);
    return 0;
}

/* Options that ask for something, and no job: about one that might be submitted. */
static int when_like(struct sbatch *sbatch)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    const struct options options = { .is_json = sbatch->is_json, .is_quiet = sbatch->is_quiet };
    json_t *when = NULL;
    struct error err;

    int code = sbatch_finish(sbatch, &err);
    if (code == 0) {
        json_object_set_new(sbatch->job, "command", json_pack("[s]", "job"));
        json_object_set_new(sbatch->job, "sender_cwd", json_string("/"));
        code = session_open(&session, &err);
    }
    if (code == 0)
        code = session_post(&session, "/v1/when", sbatch->job, &when, &err);
    if (code < 0)
        return complain(&err);
    print_when(when, &options);
    json_decref(when);
    return 0;
}

/* Options of a job come before anything that is no option, and there is no number. */
static bool is_about_no_job(int argc, char **argv)
{
    static const char *const plain[] = { "--json", "-q", "--help", "-h" };
    bool has_more = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--socket") == 0) {
            i++;
            continue;
        }
        bool is_plain = string_starts(argv[i], "--socket=");
        for (size_t k = 0; k < COUNT_OF(plain); k++)
            is_plain |= strcmp(argv[i], plain[k]) == 0;
        if (!is_plain && argv[i][0] != '-')
            return has_more;
        has_more |= !is_plain;
    }
    return has_more;
}

int run_when(int argc, char **argv)
{
    struct sbatch sbatch;
    struct error err;
    int rest = argc;

    if (!is_about_no_job(argc, argv))
        return each_id(argc, argv, when_each);
    sbatch_init(&sbatch);
    int status = 2;
    if (sbatch_parse_args(&sbatch, argc, argv, 1, &rest, &err) < 0)
        complain(&err);
    else if (rest < argc)
        usage_wrong("when", "'%s': expected the number of a job, or options of one", argv[rest]);
    else {
        if (sbatch.socket)
            setenv("TARN_SOCKET", sbatch.socket, 1);
        status = when_like(&sbatch);
    }
    sbatch_release(&sbatch);
    return status;
}
