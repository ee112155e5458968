/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "fuzz.h"
#include "wire/job/sbatch/sbatch.h"
#include "wire/job/submission.h"

enum { WORDS_MAX = 32 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void finish(struct sbatch *sbatch)
{
    AUTO(submission) struct submission *submission = NULL;
    struct error err = { 0 };

    if (sbatch_finish(sbatch, &err) < 0) {
        must(err.text[0] != '\0');
        return;
    }
    if (!json_object_get(sbatch->job, "run"))
        json_object_set_new(sbatch->job, "script", json_string("#!/bin/sh\n"));
    if (submission_parse(sbatch->job, NULL, NULL, &submission, &err) < 0)
        must(err.text[0] != '\0');
}

/* The first line as a command line, the rest as a script. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *all = mem_string_of((const char *)data, size);
    char *words[WORDS_MAX];
    int count = 0, rest = 0;
    struct error err = { 0 };
    struct sbatch sbatch;

    char *script = all;
    char *line = strsep(&script, "\n");
    while (line && count < WORDS_MAX)
        words[count++] = strsep(&line, " ");
    sbatch_init(&sbatch);
    int code = sbatch_parse_args(&sbatch, count, words, 0, &rest, &err);
    if (code == 0 && script)
        code = sbatch_parse_script(&sbatch, script, strlen(script), "job.sh", &err);
    if (code == 0)
        finish(&sbatch);
    else
        must(err.text[0] != '\0');
    sbatch_release(&sbatch);
    return 0;
}
