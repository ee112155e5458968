/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "wire/config/config.h"
#include "wire/json.h"
#include "wire/slurm/slurm_import.h"

/* What is taken must be a configuration, but for the bounds on its size. */
static void check(const struct text *text)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;
    AUTO(config) struct config *config = NULL;
    struct error err;

    if (text->length > YAML_SIZE_MAX / 16)
        return;
    int code = yaml_parse(text->bytes, text->length, "made", &document, &lines, &err);
    if (code == 0)
        code = config_parse(document, lines, "made", &config, &err);
    if (code < 0 && code != -E2BIG)
        abort();
}

/* slurm.conf, accounts, QOS, topology.conf and gres.conf, separated by lines of "----"; as listings
 * if the first begins with a space. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *all = mem_string_of((const char *)data, size);
    AUTO_RELEASE(text) struct text config = { 0 }, report = { 0 };
    char *parts[5] = { all, NULL, NULL, NULL, NULL };
    struct error err;

    if (!string_is_utf8(all, strlen(all))) /* the caller refuses that */
        return 0;
    for (size_t i = 1; i < COUNT_OF(parts); i++) {
        parts[i] = parts[i - 1] ? strstr(parts[i - 1], "\n----\n") : NULL;
        if (!parts[i])
            break;
        *parts[i] = '\0';
        parts[i] += strlen("\n----\n");
    }
    struct slurm_import from = { .conf = { "conf", parts[0] },
                                 .accounts = { "accounts", parts[1] },
                                 .qos = { "qos", parts[2] },
                                 .topology = { "topology", parts[3] },
                                 .gres = { "gres", parts[4] },
                                 .is_listing = parts[0][0] == ' ' };
    if (slurm_import(&from, &config, &report, &err) == 0)
        check(&config);
    return 0;
}
