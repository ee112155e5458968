/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "sim/run/meter.h"
#include "worlds/fuzz_run.h"
#include "worlds/fuzz_shrink.h"

enum { SHRINK_RUNS_MAX = 4000, WORLD_BYTES_MAX = 64 << 20 };

static int parse_number(const char *text, const char **ret_end, uint64_t *ret, struct error *err)
{
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 10);
    *ret_end = end;
    if (end == text || text[0] == '-' || errno != 0)
        return error_set(err, -EINVAL, "'%s': expected a number", text);
    return 0;
}

int fuzz_parse_seeds(const char *text, struct fuzz_options *options, struct error *err)
{
    const char *end;

    int code = parse_number(text, &end, &options->from, err);
    options->to = options->from;
    if (code == 0 && string_starts(end, ".."))
        code = parse_number(end + 2, &end, &options->to, err);
    if (code == 0 && (*end || options->to < options->from))
        code =
            error_set(err, -EINVAL, "'%s': expected a seed, or a range of them like 1..1000", text);
    return code;
}

int fuzz_parse_steps(const char *text, struct fuzz_options *options, struct error *err)
{
    const char *end;
    uint64_t steps;

    int code = parse_number(text, &end, &steps, err);
    if (code == 0 && (*end || steps < 1 || steps > FUZZ_STEPS_MAX))
        code = error_set(err, -EINVAL, "'%s': expected 1 to %d", text, FUZZ_STEPS_MAX);
    if (code == 0)
        options->steps = (uint32_t)steps;
    return code;
}

/* ---- a failure ---- */

static void command_of(const struct fuzz_options *options, uint64_t seed, struct text *out)
{
    if (options->replay)
        text_printf(out, "brain-worlds --replay %s", options->replay);
    else
        text_printf(out, "brain-worlds --seed %" PRIu64 " --steps %u", seed, options->steps);
}

static void describe(const struct fuzz_failure *failure, struct text *out)
{
    text_printf(out, "step %zu, time %" PRId64 ": %s\n# %s\n", failure->step, failure->at,
                failure->invariant, failure->found.text);
}

static int save(const struct fuzz_options *options, uint64_t seed, const char *invariant,
                const struct text *world, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/%" PRIu64 "-%s.world", options->save, seed, invariant);

    FILE *file = fopen(path, "we");
    if (!file)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    bool is_written = fwrite(world->bytes, 1, world->length, file) == world->length;
    if (fclose(file) != 0 || !is_written)
        return error_set(err, -EIO, "%s: can't be written: %s", path, strerror(errno));
    return 0;
}

static void print_failure(const struct fuzz_options *options, const struct fuzz_world *world,
                          uint64_t seed, const struct fuzz_failure *failure)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(fuzz_world) struct fuzz_world *small = NULL;
    struct fuzz_failure last = *failure;
    struct fuzz_look look = { .sample = FUZZ_SAMPLE, .is_strict = options->is_strict };
    struct error err;

    text_printf(&out, "# seed %" PRIu64 ", ", seed);
    describe(failure, &out);
    text_add(&out, "# ");
    command_of(options, seed, &out);
    text_add_char(&out, '\n');
    if (!options->is_json) {
        printf("%s", text_string(&out));
        fflush(stdout);
    }
    if (!options->keeps_all)
        small = fuzz_shrink(world, &look, failure, SHRINK_RUNS_MAX, &last);
    text_printf(&bytes, "# %s: %s\n", last.invariant, last.found.text);
    fuzz_world_format(small ? small : world, &bytes);
    if (options->is_json) {
        json_t *said = json_pack("{s:I, s:I, s:I, s:s, s:s, s:s}", "seed", (json_int_t)seed, "step",
                                 (json_int_t)failure->step, "time", (json_int_t)failure->at,
                                 "invariant", failure->invariant, "found", failure->found.text,
                                 "world", text_string(&bytes));
        json_dumpf(said, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(said);
    } else if (!options->keeps_all)
        printf("%s", text_string(&bytes));
    if (options->save && save(options, seed, failure->invariant, &bytes, &err) < 0)
        fprintf(stderr, "brain-worlds: %s\n", err.text);
}

/* ---- worlds ---- */

static int replay(const struct fuzz_options *options)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO_RELEASE(text) struct text trace = { 0 };
    struct fuzz_look look = { .sample = 1,
                              .is_strict = options->is_strict,
                              .trace = options->is_traced ? &trace : NULL };
    AUTO(fuzz_world) struct fuzz_world *world = NULL;
    struct fuzz_result result;
    struct error err;

    int code = file_read(options->replay, WORLD_BYTES_MAX, &bytes, &err);
    if (code == 0)
        code = fuzz_world_parse(text_string(&bytes), bytes.length, options->replay, &world, &err);
    if (code < 0) {
        fprintf(stderr, "brain-worlds: %s\n", err.text);
        return 1;
    }
    fuzz_run(world, &look, &result);
    printf("%s", text_string(&trace));
    if (!result.failure.invariant) {
        printf("%" PRIu64 " events, every invariant held\n", result.events);
        return 0;
    }
    print_failure(options, world, world->temper.seed, &result.failure);
    return 1;
}

static void show_progress(const struct fuzz_options *options, uint64_t seed, uint64_t events)
{
    if (options->has_progress)
        fprintf(stderr, "\rseed %" PRIu64 " of %" PRIu64 "..%" PRIu64 ", %" PRIu64 " events ", seed,
                options->from, options->to, events);
}

static void print_held(const struct fuzz_options *options, uint64_t events, double seconds)
{
    uint64_t worlds = options->to - options->from + 1;
    double rate = seconds > 0 ? (double)events / seconds : 0;

    if (options->is_json)
        printf("{\"worlds\": %" PRIu64 ", \"events\": %" PRIu64
               ", \"seconds\": %.3f, \"events_per_second\": %.0f}\n",
               worlds, events, seconds, rate);
    else
        printf("%" PRIu64 " worlds, %" PRIu64
               " events in %.1f s (%.0f a second): every invariant held\n",
               worlds, events, seconds, rate);
}

int fuzz(const struct fuzz_options *options)
{
    struct fuzz_look look = { .sample = FUZZ_SAMPLE, .is_strict = options->is_strict };
    uint64_t before = latency_now(), events = 0, shown = 0;

    if (options->replay)
        return replay(options);
    for (uint64_t i = 0; i <= options->to - options->from; i++) {
        uint64_t seed = options->from + i;
        AUTO(fuzz_world) struct fuzz_world *world = fuzz_world_make(seed, options->steps);
        struct fuzz_result result;
        fuzz_run(world, &look, &result);
        events += result.events;
        if (latency_now() - shown > UINT64_C(200000000)) {
            shown = latency_now();
            show_progress(options, seed, events);
        }
        if (!result.failure.invariant)
            continue;
        if (options->has_progress)
            fputc('\n', stderr);
        print_failure(options, world, seed, &result.failure);
        return 1;
    }
    if (options->has_progress)
        fputs("\r\033[K", stderr);
    print_held(options, events, (double)(latency_now() - before) / 1e9);
    return 0;
}
