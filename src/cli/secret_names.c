/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/secret_names.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/screen.h"

static bool has_end(const char *name, const char *end)
{
    size_t length = strlen(name), wanted = strlen(end);

    return length >= wanted && strcasecmp(name + length - wanted, end) == 0;
}

/* HF_TOKEN, WANDB_API_KEY, AWS_SECRET_ACCESS_KEY, PGPASSWORD; not TOKENIZERS_PARALLELISM. */
static bool is_secret(const char *name)
{
    static const char *const ends[] = { "TOKEN", "_KEY", "APIKEY" };
    static const char *const parts[] = { "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL" };
    bool is_found = false;

    for (size_t i = 0; i < COUNT_OF(ends); i++)
        is_found |= has_end(name, ends[i]);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        is_found |= strcasestr(name, parts[i]) != NULL;
    return is_found;
}

void secret_names_say(const json_t *env)
{
    AUTO_RELEASE(text) struct text names = { 0 };
    AUTO_RELEASE(text) struct text options = { 0 };
    json_t *value;
    const char *name;

    json_object_foreach((json_t *)env, name, value)
    {
        if (!is_secret(name) || json_string_length(value) == 0)
            continue;
        text_printf(&names, "%s%s", names.length > 0 ? ", " : "", name);
        text_printf(&options, " -u %s", name);
    }
    if (names.length > 0)
        say("the journal keeps the environment of the job, with %s; without: env%s tarn ..., or "
            "--export=NONE",
            names.bytes, options.bytes);
}
