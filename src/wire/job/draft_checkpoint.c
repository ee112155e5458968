/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a draft about interruptions: how it saves its work, and whether it risks them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/job/draft.h"
#include "wire/job/signal_name.h"

static int read_every(const struct scope_layer *inner, struct job_draft *draft)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code =
        reader_scalar(&inner->reader, inner->object, "every", "a duration, or auto", buffer, &text);
    if (code < 0 || !text)
        return code;
    if (strcmp(text, "auto") == 0) {
        draft->checkpoint_auto = true;
        return 0;
    }
    code = reader_duration(&inner->reader, inner->object, "every", &draft->checkpoint_every);
    if (code == 0 && draft->checkpoint_every < USEC_PER_SEC)
        return reader_fail(&inner->reader, -EINVAL, inner->object, "every",
                           "'%.40s': expected 1s or more, or auto", text);
    if (code == 0 && draft->checkpoint_every > 365 * USEC_PER_DAY)
        return reader_fail(&inner->reader, -ERANGE, inner->object, "every", "longer than a year");
    return code;
}

static int read_takes(const struct scope_layer *inner, struct job_draft *draft)
{
    int code = reader_duration(&inner->reader, inner->object, "takes", &draft->checkpoint_takes);

    if (code == 0 && draft->checkpoint_takes > DRAFT_GRACE_MAX)
        return reader_fail(&inner->reader, -ERANGE, inner->object, "takes", "longer than a day");
    return code;
}

static int read_signal(const struct scope_layer *inner, struct job_draft *draft)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code = reader_scalar(&inner->reader, inner->object, "signal", "a signal", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = signal_parse(text, inner->reader.err);
    if (code < 0)
        return reader_place(&inner->reader, code, inner->object, "signal");
    draft->stop_signal = (uint8_t)code;
    return 0;
}

static int read_grace(const struct draft_source *source, const struct scope_layer *inner,
                      struct job_draft *draft)
{
    const struct scope_layer *outer = scope_find(source->scope, "grace");
    usec_t grace = -1;

    int code = reader_duration(&inner->reader, inner->object, "grace", &grace);
    if (code < 0 || grace < 0)
        return code;
    if (grace > DRAFT_GRACE_MAX)
        return reader_fail(&inner->reader, -ERANGE, inner->object, "grace", "longer than a day");
    if (reader_get(outer->object, "grace") && draft->grace != grace)
        return reader_fail(&inner->reader, -EINVAL, inner->object, "grace",
                           "not the same as the job's own grace; expected one of them");
    draft->grace = grace;
    return 0;
}

int draft_read_checkpoint(const struct draft_source *source, struct job_draft *draft)
{
    static const char *const keys[] = { "every", "takes", "signal", "grace", NULL };
    const struct scope_layer *layer = scope_find(source->scope, "checkpoint");
    const json_t *checkpoint = reader_get(layer->object, "checkpoint");
    struct scope_layer inner = { .reader = layer->reader, .object = checkpoint };

    if (!checkpoint)
        return 0;
    if (!json_is_object(checkpoint))
        return reader_fail(&layer->reader, -EINVAL, layer->object, "checkpoint",
                           "expected a map like {every: 10m, signal: USR1}, not %s",
                           reader_kind(checkpoint));
    snprintf(inner.reader.where, sizeof(inner.reader.where), "%.*s%scheckpoint",
             READER_WHERE_SIZE - 16, layer->reader.where, layer->reader.where[0] ? ": " : "");
    int code = reader_check_keys(&inner.reader, checkpoint, keys);
    if (code == 0)
        code = read_every(&inner, draft);
    if (code == 0)
        code = read_takes(&inner, draft);
    if (code == 0)
        code = read_signal(&inner, draft);
    return code < 0 ? code : read_grace(source, &inner, draft);
}

/* A preemptible job may also run on spot machines. */
int draft_read_spot(const struct draft_source *source, struct job_draft *draft)
{
    static const char *const words[] = { "never", "allow", "prefer", "only", NULL };
    const struct scope_layer *layer = scope_find(source->scope, "spot");
    size_t word = draft->preemptible ? SPOT_ALLOW : SPOT_NEVER;

    int code = reader_word(&layer->reader, layer->object, "spot", words, &word);
    draft->request.spot = (uint8_t)word;
    return code;
}
