/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/job/request.h"
#include "fuzz.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* What was understood reads back from its own words as the very same request. */
static void check_understood(const struct request *request)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    AUTO_RELEASE(text) struct text people = { 0 };
    struct request again;
    struct error err;

    must(request_check(request, &err) == 0);
    request_format_gpus(request, &words);
    request_describe(request, &people);
    must(string_is_utf8(text_string(&people), people.length));
    request_default(&again);
    must(request_parse_gpus(&again, text_string(&words), &err) == 0);
    must(memcmp(&again, request, sizeof(again)) == 0);
    for (uint32_t i = 0; i < request->gpu_alternatives; i++)
        must(request_milli(request, i, 81920) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *string = mem_string_of((const char *)data, size);
    struct request request, before;
    struct error err = { 0 };

    request_default(&request);
    before = request;
    if (request_parse_gpus(&request, string, &err) == 0)
        check_understood(&request);
    else
        must(err.text[0] && memcmp(&request, &before, sizeof(before)) == 0);
    request = before;
    if (request_parse_gres(&request, string, &err) == 0)
        check_understood(&request);
    return 0;
}
