/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/text.h"
#include "fuzz.h"
#include "wire/config/config.h"
#include "wire/job/submission.h"
#include "wire/json.h"
#include "wire/yaml.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* What is a configuration is the same one after a round through JSON. */
static void check_config(const struct config *config)
{
    AUTO_RELEASE(text) struct text lines = { 0 };
    AUTO(json) json_t *document = config_to_json(config);
    AUTO(config) struct config *again = NULL;
    AUTO(config) struct config *empty = config_create();
    struct error err;

    must(config_parse(document, NULL, NULL, &again, &err) == 0);
    must(config_diff(config, again, &lines) == 0 && lines.length == 0);
    config_diff(empty, config, &lines);
    config_diff(config, empty, &lines);
}

static void check_documents(const json_t *document, const struct yaml_lines *lines)
{
    AUTO(submission) struct submission *submission = NULL;
    AUTO(config) struct config *config = NULL;
    struct error err = { 0 };

    if (submission_parse(document, lines, "job.yaml", &submission, &err) < 0)
        must(string_starts(err.text, "job.yaml:"));
    if (config_parse(document, lines, "teams.yaml", &config, &err) == 0)
        check_config(config);
    else
        must(string_starts(err.text, "teams.yaml:"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(json) json_t *document = NULL;
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    struct error err = { 0 };

    if (yaml_parse((const char *)data, size, "in.yaml", &document, &lines, &err) == 0)
        check_documents(document, lines);
    else
        must(string_starts(err.text, "in.yaml:"));
    return 0;
}
