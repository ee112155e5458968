/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of GPUs, and the words for accelerators and of Slurm that lead to it. */
#include "core/job/request.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

enum { GPUS_TEXT_MAX = 512 };

/* What the items of one alternative have said so far. */
struct draft {
    struct gpu_ask ask;
    bool has_count, has_fraction, has_size, has_memory, has_mig, has_mps, has_kind;
};

/* A part of the text that is being read. */
struct span {
    const char *bytes;
    size_t length;
};

static struct span span_trim(struct span span)
{
    while (span.length > 0 && isspace((unsigned char)span.bytes[0])) {
        span.bytes++;
        span.length--;
    }
    while (span.length > 0 && isspace((unsigned char)span.bytes[span.length - 1]))
        span.length--;
    return span;
}

/* The part of *rest before the separator, which is taken off; all of it when there is none. */
static struct span span_cut(struct span *rest, char separator)
{
    const char *end = rest->length > 0 ? memchr(rest->bytes, separator, rest->length) : NULL;
    struct span part = { rest->bytes, end ? (size_t)(end - rest->bytes) : rest->length };

    rest->bytes += part.length + (end ? 1 : 0);
    rest->length -= part.length + (end ? 1 : 0);
    return span_trim(part);
}

/* A copy with a NUL, for the parsers of base/units. Spans are at most GPUS_TEXT_MAX long. */
static const char *span_string(struct span span, char buffer[GPUS_TEXT_MAX + 1])
{
    assert(span.length <= GPUS_TEXT_MAX);
    memcpy(buffer, span.bytes, span.length);
    buffer[span.length] = '\0';
    return buffer;
}

static void copy_lower(char *to, struct span span)
{
    for (size_t i = 0; i < span.length; i++)
        to[i] = (char)tolower((unsigned char)span.bytes[i]);
}

/* Digits, perhaps with a point: a number of GPUs, or a part of one. */
static int read_amount(struct draft *draft, const char *string, struct error *err)
{
    int64_t milli;

    if (string[0] == '\0')
        return error_set(err, -EINVAL, "nothing after ':'; expected a number, as in h100:2");
    if (draft->has_count || draft->has_fraction)
        return error_set(err, -EINVAL, "'%s': the number of gpus is given twice", string);
    if (string[0] == '-')
        return error_set(err, -EINVAL, "'%s': expected 1 to %d gpus, or a part like 0.5", string,
                         REQUEST_GPUS_MAX);
    if (strspn(string, "0123456789.") != strlen(string))
        return error_set(err, -EINVAL, "'%s': not a number of gpus", string);
    int code = units_parse_milli(string, INT64_C(1000000000000), &milli, err);
    if (code < 0)
        return code;
    if (milli == 0)
        return error_set(err, -EINVAL, "'%s': no gpus; expected 1 to %d, or a part like 0.5",
                         string, REQUEST_GPUS_MAX);
    if (milli > (int64_t)REQUEST_GPUS_MAX * GPU_MILLI)
        return error_set(err, -ERANGE, "'%s': at most %d gpus per member", string,
                         REQUEST_GPUS_MAX);
    if (milli > GPU_MILLI && milli % GPU_MILLI != 0)
        return error_set(err, -EINVAL,
                         "'%s': expected a whole number of gpus, or a part of one (less than 1)",
                         string);
    if (milli < GPU_MILLI) {
        draft->has_fraction = true;
        draft->ask.milli = (uint32_t)milli;
        return 0;
    }
    draft->has_count = true;
    draft->ask.count = (uint16_t)(milli / GPU_MILLI);
    return 0;
}

static int read_size(struct span span, int64_t *ret_mib, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];

    int code = units_parse_mib(span_string(span, buffer), ret_mib, err);
    if (code == 0 && *ret_mib == 0)
        return error_set(err, -EINVAL, "'%s': expected a size above 0", buffer);
    return code;
}

/* SIZE '..' [SIZE] [':' COUNT] */
static int read_range(struct draft *draft, struct span item, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];
    int64_t from, to = 0;

    if (draft->has_size)
        return error_set(err, -EINVAL, "the range of memory sizes is given twice");
    struct span rest = item;
    struct span range = span_cut(&rest, ':');
    bool has_amount = memchr(item.bytes, ':', item.length) != NULL;
    const char *dots = memmem(range.bytes, range.length, "..", 2);
    if (!dots)
        return error_set(err, -EINVAL, "'%s': '..' after ':'; expected one like 24GB..80GB:2",
                         span_string(item, buffer));

    size_t before = (size_t)(dots - range.bytes);
    int code = read_size(span_trim((struct span){ range.bytes, before }), &from, err);
    if (code < 0)
        return code;
    struct span upper = span_trim((struct span){ dots + 2, range.length - before - 2 });
    if (upper.length > 0) {
        code = read_size(upper, &to, err);
        if (code < 0)
            return code;
        if (to < from)
            return error_set(err, -EINVAL, "'%s': the smaller size comes first",
                             span_string(range, buffer));
    }
    draft->has_size = true;
    draft->ask.size_mib_min = from;
    draft->ask.size_mib_max = to;
    return has_amount ? read_amount(draft, span_string(span_trim(rest), buffer), err) : 0;
}

/* Whether it looks like one: "3g.40gb", "1g.10gb+me", "1c.3g.40gb", for short "3g", "1g+me". */
static bool is_profile(const char *s)
{
    if (isdigit((unsigned char)s[0]) && s[1] == 'c' && s[2] == '.')
        s += 3;
    if (s[0] < '1' || s[0] > '0' + REQUEST_MIG_SLICES || s[1] != 'g')
        return false;
    s += 2;
    if (s[0] == '.') {
        size_t digits = strspn(++s, "0123456789");
        if (digits == 0 || strncmp(s + digits, "gb", 2) != 0)
            return false;
        s += digits + 2;
    }
    return s[0] == '\0' || ((s[0] == '+' || s[0] == '-') && s[1] &&
                            strspn(s + 1, "abcdefghijklmnopqrstuvwxyz.") == strlen(s + 1));
}

static int read_mig(struct draft *draft, struct span value, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];

    bool has_amount = memchr(value.bytes, ':', value.length) != NULL;
    struct span profile = span_cut(&value, ':');
    memset(draft->ask.profile, 0, sizeof(draft->ask.profile));
    if (profile.length < sizeof(draft->ask.profile))
        copy_lower(draft->ask.profile, profile);
    if (!is_profile(draft->ask.profile))
        return error_set(err, -EINVAL, "mig profile '%.40s': expected one like 1g.10gb or 3g.40gb",
                         span_string(profile, buffer));
    draft->has_mig = true;
    if (!has_amount)
        return 0;
    int code = read_amount(draft, span_string(span_trim(value), buffer), err);
    if (code == 0 && draft->has_fraction)
        return error_set(err, -EINVAL, "'%s': a mig instance cannot be divided further", buffer);
    return code;
}

static int read_mps(struct draft *draft, struct span value, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];
    struct error detail;
    int64_t percent_milli;

    if (value.bytes[value.length - 1] == '%')
        value.length--;
    const char *string = span_string(span_trim(value), buffer);
    if (units_parse_milli(string, INT64_C(1000000000000), &percent_milli, &detail) < 0 ||
        percent_milli % 100 != 0)
        return error_set(
            err, -EINVAL,
            "mps=%.40s: expected a percentage with at most one decimal, as in mps=50%%", string);
    if (percent_milli == 0 || percent_milli > 100 * 1000)
        return error_set(err, -ERANGE, "mps=%.40s%%: expected more than 0%% and at most 100%%",
                         string);
    draft->has_mps = true;
    draft->ask.milli = (uint32_t)(percent_milli / 100);
    return 0;
}

static int read_kind(struct draft *draft, struct span value, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];

    bool has_amount = memchr(value.bytes, ':', value.length) != NULL;
    struct span kind = span_cut(&value, ':');
    if (draft->has_kind)
        return error_set(err, -EINVAL, "'kind=' is given twice");
    if (kind.length == 0 || kind.length >= sizeof(draft->ask.accelerator) ||
        !isalpha((unsigned char)kind.bytes[0]))
        return error_set(err, -EINVAL,
                         "kind '%.40s': expected a name of at most %d letters, like tpu or fpga",
                         span_string(kind, buffer), REQUEST_KIND_SIZE - 1);
    copy_lower(draft->ask.accelerator, kind);
    if (strspn(draft->ask.accelerator, "abcdefghijklmnopqrstuvwxyz0123456789._-") != kind.length)
        return error_set(err, -EINVAL,
                         "kind '%.40s': expected letters, digits and '._-', as in tpu",
                         span_string(kind, buffer));
    if (strcmp(draft->ask.accelerator, "gpu") == 0)
        memset(draft->ask.accelerator, 0, sizeof(draft->ask.accelerator));
    draft->has_kind = true;
    return has_amount ? read_amount(draft, span_string(span_trim(value), buffer), err) : 0;
}

/* mem= mig= mps= kind= */
static int read_setting(struct draft *draft, struct span item, struct error *err)
{
    static const char *const keys[] = { "mem", "mig", "mps", "kind", NULL };
    char key[GPUS_TEXT_MAX + 1], buffer[GPUS_TEXT_MAX + 1];

    struct span value = item;
    span_string(span_cut(&value, '='), key);
    value = span_trim(value);
    bool is_memory = strcmp(key, "mem") == 0, is_mig = strcmp(key, "mig") == 0;
    bool is_kind = strcmp(key, "kind") == 0;
    if (!is_memory && !is_mig && !is_kind && strcmp(key, "mps") != 0) {
        const char *nearest = string_nearest(key, keys);
        return error_set(err, -EINVAL, "unknown '%.40s='; %s%s%s", key,
                         nearest ? "did you mean " : "expected mem=, mig=, mps= or kind",
                         nearest ? nearest : "=", nearest ? "=?" : "");
    }
    if (value.length == 0)
        return error_set(err, -EINVAL, "nothing after '%s='; expected one like %s", key,
                         is_memory ? "mem=20G"
                         : is_mig  ? "mig=3g.40gb"
                         : is_kind ? "kind=tpu:4"
                                   : "mps=50%");
    if (is_kind)
        return read_kind(draft, value, err);
    if (is_memory ? draft->has_memory : is_mig ? draft->has_mig : draft->has_mps)
        return error_set(err, -EINVAL, "'%s=' is given twice", key);
    if (is_mig)
        return read_mig(draft, value, err);
    if (!is_memory)
        return read_mps(draft, value, err);
    if (memchr(value.bytes, ':', value.length))
        return error_set(err, -EINVAL,
                         "'%.80s': a share by memory is a part of one gpu; expected no ':'",
                         span_string(item, buffer));
    draft->has_memory = true;
    return read_size(value, &draft->ask.memory_mib, err);
}

/* MODEL [':' COUNT | FRACTION] */
static int read_model(struct draft *draft, struct span item, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];

    bool has_amount = memchr(item.bytes, ':', item.length) != NULL;
    struct span rest = item;
    struct span model = span_cut(&rest, ':');
    if (draft->ask.model[0] != '\0')
        return error_set(err, -EINVAL,
                         "'%.40s': a model is given already (%s); alternatives are divided by '|'",
                         span_string(model, buffer), draft->ask.model);
    if (model.length >= sizeof(draft->ask.model))
        return error_set(err, -EINVAL, "model '%.40s': longer than %d bytes",
                         span_string(model, buffer), REQUEST_MODEL_SIZE - 1);
    copy_lower(draft->ask.model, model);
    if (strspn(draft->ask.model, "abcdefghijklmnopqrstuvwxyz0123456789._-") != model.length)
        return error_set(err, -EINVAL,
                         "model '%.40s': expected letters, digits and '._-', as in h100",
                         span_string(model, buffer));
    return has_amount ? read_amount(draft, span_string(span_trim(rest), buffer), err) : 0;
}

static int read_item(struct draft *draft, struct span item, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];
    const char *string = span_string(item, buffer);

    if (item.length == 0)
        return error_set(err, -EINVAL, "an empty item; expected a number or model between ','");
    if (strstr(string, ".."))
        return read_range(draft, item, err);
    if (strchr(string, '='))
        return read_setting(draft, item, err);
    if (strcasecmp(string, "nvlink") == 0) {
        if (draft->ask.nvlink)
            return error_set(err, -EINVAL, "nvlink is given twice");
        draft->ask.nvlink = true;
        return 0;
    }
    if (isalpha((unsigned char)string[0]))
        return read_model(draft, item, err);
    if (strspn(string, "0123456789.") == item.length || string[0] == '-')
        return read_amount(draft, string, err);
    if (strchr(string, ':') && strspn(string, "0123456789.:") == item.length)
        return error_set(err, -EINVAL,
                         "'%.40s': a share is a part of one gpu; for more, request more members "
                         "(ranks)",
                         string);
    return error_set(err, -EINVAL,
                     "'%.40s': neither a number of gpus nor a model; for memory use mem=20G "
                     "(a share) or 24GB.. (gpus of that size)",
                     string);
}

/* Which items go together, and what kind of share they make. */
static int draft_finish(struct draft *draft, struct error *err)
{
    struct gpu_ask *ask = &draft->ask;
    bool is_share = draft->has_fraction || draft->has_memory || draft->has_mps;

    if (draft->has_mig && is_share)
        return error_set(err, -EINVAL, "mig= cannot be divided further by a part, mem= or mps=");
    if (draft->has_mps && draft->has_fraction)
        return error_set(err, -EINVAL, "a part and mps= at once; mps=50%% is half a gpu already");
    if (is_share && draft->has_count && ask->count > 1)
        return error_set(err, -EINVAL,
                         "a share is a part of one gpu, not of %u; for more, request more members "
                         "(ranks)",
                         ask->count);
    if (is_share && ask->nvlink)
        return error_set(err, -EINVAL,
                         "nvlink connects whole gpus; it cannot be combined with a share");
    if (draft->has_mig && ask->nvlink)
        return error_set(err, -EINVAL,
                         "nvlink connects whole gpus; it cannot be combined with mig=");
    if (ask->accelerator[0] && (draft->has_mig || draft->has_mps))
        return error_set(err, -EINVAL, "mig= and mps= are for gpus, not for kind %s",
                         ask->accelerator);
    if (ask->size_mib_max > 0 && ask->memory_mib > ask->size_mib_max)
        return error_set(err, -EINVAL, "mem= is more than the largest gpu of the range has");

    ask->kind = draft->has_mig   ? SHARE_MIG
                : draft->has_mps ? SHARE_MPS
                : is_share       ? SHARE_FRACTION
                                 : SHARE_WHOLE;
    if (ask->count == 0)
        ask->count = 1;
    if (ask->kind == SHARE_WHOLE)
        ask->milli = GPU_MILLI;
    return 0;
}

static int read_alternative(struct span text, struct gpu_ask *ret, struct error *err)
{
    struct draft draft;

    memset(&draft, 0, sizeof(draft));
    if (span_trim(text).length == 0)
        return error_set(err, -EINVAL, "an empty alternative; expected one on each side of '|'");
    bool more = true;
    while (more) {
        more = memchr(text.bytes, ',', text.length) != NULL;
        int code = read_item(&draft, span_cut(&text, ','), err);
        if (code < 0)
            return code;
    }
    int code = draft_finish(&draft, err);
    if (code == 0)
        *ret = draft.ask;
    return code;
}

static int parse_gpus(struct request *request, const char *gpus, struct error *err)
{
    struct gpu_ask asks[REQUEST_ALTERNATIVES_MAX];
    uint32_t count = 0;
    struct span text = span_trim((struct span){ gpus, strlen(gpus) });
    bool more = text.length > 1 || (text.length == 1 && text.bytes[0] != '0');

    memset(asks, 0, sizeof(asks));
    while (more) {
        if (count == REQUEST_ALTERNATIVES_MAX)
            return error_set(err, -ERANGE, "more than %d alternatives", REQUEST_ALTERNATIVES_MAX);
        more = text.length > 0 && memchr(text.bytes, '|', text.length) != NULL;
        int code = read_alternative(span_cut(&text, '|'), &asks[count++], err);
        if (code < 0)
            return code;
    }
    memcpy(request->gpus, asks, sizeof(asks));
    request->gpu_alternatives = count;
    return 0;
}

int request_parse_gpus(struct request *request, const char *gpus, struct error *err)
{
    if (strlen(gpus) > GPUS_TEXT_MAX)
        return error_set(err, -ERANGE, "gpus '%.40s...': longer than %d bytes", gpus,
                         GPUS_TEXT_MAX);
    int code = parse_gpus(request, gpus, err);
    if (code == 0)
        return 0;
    size_t length = strlen(gpus); /* if all of it is wrong, it is named once */
    bool is_named = err->text[0] == '\'' && strncmp(err->text + 1, gpus, length) == 0 &&
                    strncmp(err->text + 1 + length, "':", 2) == 0;
    return is_named ? error_prefix(err, code, "gpus")
                    : error_prefix(err, code, "gpus '%.80s'", gpus);
}

int request_parse_accelerator(struct request *request, const char *value, struct error *err)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    struct span text = span_trim((struct span){ value, strlen(value) });
    char buffer[GPUS_TEXT_MAX + 1];
    bool more = true;

    if (text.length > GPUS_TEXT_MAX / 2)
        return error_set(err, -ERANGE, "accelerator '%.40s...': longer than %d bytes", value,
                         GPUS_TEXT_MAX / 2);
    while (more) {
        more = text.length > 0 && memchr(text.bytes, '|', text.length) != NULL;
        text_printf(&words, "%skind=%s", words.length > 0 ? "|" : "",
                    span_string(span_cut(&text, '|'), buffer));
    }
    int code = words.length > GPUS_TEXT_MAX
                   ? error_set(err, -ERANGE, "longer than %d bytes", GPUS_TEXT_MAX)
                   : parse_gpus(request, text_string(&words), err);
    return code < 0 ? error_prefix(err, code, "accelerator '%.80s'", value) : 0;
}

/* "gpu[:MODEL][:COUNT]" or "mps:PERCENT" in the words of the grammar. */
static int gres_words(struct span item, struct text *words, struct error *err)
{
    char buffer[GPUS_TEXT_MAX + 1];
    const char *string = span_string(item, buffer);

    if (string_starts(string, "gres/") || string_starts(string, "gres:"))
        string += strlen("gres/");
    if (strcmp(string, "gpu") == 0) {
        text_add(words, "1");
        return 0;
    }
    if (string_starts(string, "gpu:")) {
        text_add(words, string + strlen("gpu:"));
        return 0;
    }
    if (string_starts(string, "mps:")) {
        text_printf(words, "mps=%s", string + strlen("mps:"));
        return 0;
    }
    return error_set(err, -EINVAL,
                     "'%.40s': expected gpu, gpu:COUNT, gpu:MODEL:COUNT or mps:PERCENT", string);
}

static int parse_gres(struct request *request, const char *gres, struct error *err)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    struct span text = span_trim((struct span){ gres, strlen(gres) });

    if (memchr(gres, '|', strlen(gres)))
        return error_set(err, -EINVAL, "alternatives with '|' are for --gpus");
    bool more = text.length > 0;
    while (more) {
        more = memchr(text.bytes, ',', text.length) != NULL;
        if (words.length > 0)
            return error_set(err, -EINVAL,
                             "several kinds at once; for alternatives use --gpus 'h100:2|a100:2'");
        int code = gres_words(span_cut(&text, ','), &words, err);
        if (code < 0)
            return code;
    }
    return parse_gpus(request, text_string(&words), err);
}

int request_parse_gres(struct request *request, const char *gres, struct error *err)
{
    if (strlen(gres) > GPUS_TEXT_MAX)
        return error_set(err, -ERANGE, "gres '%.40s...': longer than %d bytes", gres,
                         GPUS_TEXT_MAX);
    int code = parse_gres(request, gres, err);
    return code < 0 ? error_prefix(err, code, "gres '%.80s'", gres) : 0;
}
