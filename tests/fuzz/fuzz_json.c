/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/text.h"
#include "fuzz.h"
#include "wire/job/submission.h"
#include "wire/json.h"
#include "wire/whatif_request.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_job(const struct job_draft *draft)
{
    must(string_is_name(draft->name, SUBMISSION_NAME_MAX));
    must(draft->argv && draft->argv[0] && draft->env && draft->inputs && draft->outputs);
    must(request_check(&draft->request, NULL) == 0);
    must(!draft->cwd || draft->cwd[0] == '/');
    for (uint32_t i = 1; i < draft->array_count; i++)
        must(draft->array_indices[i - 1] < draft->array_indices[i]);
    if (!draft->script)
        return;
    for (size_t i = 0; i <= draft->script_at; i++)
        must(draft->argv[i] != NULL);
}

static void check_submission(const struct submission *submission)
{
    must(submission->stage_count >= 1 && submission->job_count >= 1);
    must(submission->job_count <= SUBMISSION_JOBS_MAX);
    for (size_t i = 0; i < submission->stage_count; i++) {
        const struct stage_draft *stage = &submission->stages[i];

        must(stage->job_count >= 1);
        for (size_t k = 0; k < stage->need_count; k++)
            must(stage->needs[k] < i);
        for (size_t k = 0; k < stage->job_count; k++)
            check_job(&stage->jobs[k]);
    }
}

static void check_whatif(json_t *body)
{
    AUTO(whatif) struct whatif *whatif = NULL;
    struct error err = { 0 };

    if (whatif_parse(body, &whatif, &err) < 0) {
        must(err.text[0] != '\0');
        return;
    }
    must(whatif->node_count <= WHATIF_LIST_MAX && whatif->shown <= WHATIF_SHOWN_MAX);
    for (size_t i = 0; i < whatif->node_count; i++)
        must(whatif->nodes[i].count > 0 && whatif->nodes[i].gpus > 0 && whatif->nodes[i].model[0]);
    must(json_array_size(whatif->submit) <= WHATIF_SUBMIT_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(submission) struct submission *submission = NULL;
    AUTO(json) json_t *body = NULL;
    struct error err = { 0 };

    if (json_parse((const char *)data, size, JSON_SIZE_MAX, NULL, &body, &err) < 0)
        must(err.text[0] != '\0');
    else if (submission_parse(body, NULL, NULL, &submission, &err) < 0)
        must(err.text[0] != '\0');
    else
        check_submission(submission);
    if (body)
        check_whatif(body);
    return 0;
}
