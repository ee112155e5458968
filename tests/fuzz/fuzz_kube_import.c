/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "fuzz_config.h"
#include "wire/kube/kueue_import.h"
#include "wire/kube/volcano_import.h"

static void import(const char *text, void (*make)(struct kube_queues *queues, struct text *config))
{
    AUTO_RELEASE(text) struct text config = { 0 }, report = { 0 };
    struct error err;
    struct kube_queues queues = { .report = &report, .err = &err };

    if (kube_objects_read(&queues.objects, "t", text, &err) == 0) {
        make(&queues, &config);
        if (queues.code == 0)
            fuzz_check_config(&config);
    }
    kube_queues_release(&queues);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_string_of((const char *)data, size);

    if (!string_is_utf8(text, strlen(text))) /* the caller refuses that */
        return 0;
    import(text, kueue_import);
    import(text, volcano_import);
    return 0;
}
