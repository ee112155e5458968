/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

enum { STAGES_WORDS = SUBMISSION_STAGES_MAX / 64, NO_STAGE = -1 };

/* A set of stages. */
struct stage_set {
    uint64_t words[STAGES_WORDS];
};

static bool set_has(const struct stage_set *set, size_t stage)
{
    return set->words[stage / 64] >> (stage % 64) & 1;
}

static void set_add(struct stage_set *set, size_t stage)
{
    set->words[stage / 64] |= UINT64_C(1) << (stage % 64);
}

static int find_stage(const struct submission *submission, const char *name)
{
    for (size_t i = 0; i < submission->stage_count; i++) {
        if (strcmp(submission->stages[i].name, name) == 0)
            return (int)i;
    }
    return NO_STAGE;
}

static int no_such_stage(const struct submission *submission, const struct pipeline_source *source,
                         const char *name)
{
    const char *names[SUBMISSION_STAGES_MAX + 1] = { 0 };
    char hint[READER_SCALAR_SIZE * 2];

    for (size_t i = 0; i < submission->stage_count; i++)
        names[i] = submission->stages[i].name;
    return reader_fail(&source->reader, -EINVAL, source->object, "needs", "no stage '%s'%s", name,
                       reader_suggest(name, names, hint, sizeof(hint)));
}

static int read_needs(const struct submission *submission, const struct pipeline_source *source,
                      struct stage_draft *stage)
{
    char **names;
    size_t count;

    int code = reader_names(&source->reader, source->object, "needs", SUBMISSION_STAGES_MAX, &names,
                            &count);
    if (code < 0)
        return code;
    stage->needs = mem_zero(count, sizeof(stage->needs[0]));
    for (size_t i = 0; i < count && code == 0; i++) {
        int index = find_stage(submission, names[i]);

        if (index == NO_STAGE)
            code = no_such_stage(submission, source, names[i]);
        else
            stage->needs[stage->need_count++] = (uint32_t)index;
    }
    string_list_destroy(names);
    return code;
}

/* A stage that always runs and names nothing comes after all the others. */
static void need_all_others(struct submission *submission, struct stage_draft *stage)
{
    stage->needs = mem_resize(stage->needs, submission->stage_count, sizeof(stage->needs[0]));
    for (size_t i = 0; i < submission->stage_count; i++) {
        if (!submission->stages[i].always)
            stage->needs[stage->need_count++] = (uint32_t)i;
    }
}

static bool is_ready(const struct stage_draft *stage, const struct stage_set *done)
{
    for (size_t i = 0; i < stage->need_count; i++) {
        if (!set_has(done, stage->needs[i]))
            return false;
    }
    return true;
}

/* Stages of a cycle are those that never get ready: follow needs among them until one comes
 * again, and tell from there. */
static int report_cycle(const struct submission *submission, const struct pipeline_source *sources,
                        const struct stage_set *done)
{
    uint32_t path[SUBMISSION_STAGES_MAX + 1];
    struct stage_set seen = { 0 };
    size_t length = 0, begin = 0;
    uint32_t at = 0;

    while (set_has(done, at))
        at++;
    while (!set_has(&seen, at)) {
        const struct stage_draft *stage = &submission->stages[at];
        size_t i = 0;

        set_add(&seen, at);
        path[length++] = at;
        while (set_has(done, stage->needs[i]))
            i++;
        at = stage->needs[i];
    }
    while (path[begin] != at)
        begin++;
    AUTO_RELEASE(text) struct text words = { 0 };
    for (size_t i = begin; i < length; i++)
        text_printf(&words, "%s -> ", submission->stages[path[i]].name);
    text_add(&words, submission->stages[at].name);
    return reader_fail(&sources[at].reader, -EINVAL, sources[at].object, "needs", "a cycle: %.300s",
                       words.bytes);
}

/* order[k]: which stage comes k-th. Of those that are ready, the first in the file. */
static int find_order(const struct submission *submission, const struct pipeline_source *sources,
                      uint32_t *order)
{
    struct stage_set done = { 0 };

    for (size_t k = 0; k < submission->stage_count; k++) {
        uint32_t i = 0;

        while (i < submission->stage_count &&
               (set_has(&done, i) || !is_ready(&submission->stages[i], &done)))
            i++;
        if (i == submission->stage_count)
            return report_cycle(submission, sources, &done);
        set_add(&done, i);
        order[k] = i;
    }
    return 0;
}

static void put_in_order(struct submission *submission, const uint32_t *order)
{
    uint32_t place[SUBMISSION_STAGES_MAX];
    size_t count = submission->stage_count;
    struct stage_draft *stages = mem_zero(count, sizeof(stages[0]));

    for (uint32_t k = 0; k < count; k++) {
        place[order[k]] = k;
        stages[k] = submission->stages[order[k]];
    }
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < stages[k].need_count; i++)
            stages[k].needs[i] = place[stages[k].needs[i]];
    }
    free(submission->stages);
    submission->stages = stages;
}

static bool has_output(const struct stage_draft *stage, const char *name)
{
    return string_is_in(name, (const char *const *)stage->jobs[0].outputs);
}

/* The only stage of the set with that output; NO_STAGE when there is none, *ret_other is set when
 * there are two. */
static int find_output(const struct submission *submission, const struct stage_set *set,
                       const char *name, int *ret_other)
{
    int found = NO_STAGE;

    *ret_other = NO_STAGE;
    for (size_t i = 0; i < submission->stage_count; i++) {
        if (!set_has(set, i) || !has_output(&submission->stages[i], name))
            continue;
        if (found != NO_STAGE)
            *ret_other = (int)i;
        else
            found = (int)i;
    }
    return found;
}

static int suggest_output(const struct submission *submission, const struct pipeline_source *source,
                          const struct stage_set *needed, const char *name)
{
    LIST(const char *) names = { 0 };
    char hint[READER_SCALAR_SIZE * 2];

    for (size_t i = 0; i < submission->stage_count; i++) {
        char **output = submission->stages[i].jobs[0].outputs;

        for (; set_has(needed, i) && *output; output++)
            list_add(&names, *output);
    }
    list_add(&names, NULL);
    int code = reader_fail(&source->reader, -EINVAL, source->object, "inputs",
                           "no needed stage has an output '%s'%s", name,
                           reader_suggest(name, names.items, hint, sizeof(hint)));
    list_release(&names);
    return code;
}

/* Fail for an input that no needed stage has: name the stage that has it, or suggest a name. */
static int no_such_output(const struct submission *submission, const struct pipeline_source *source,
                          const struct stage_set *needed, const char *name)
{
    for (size_t i = 0; i < submission->stage_count; i++) {
        if (has_output(&submission->stages[i], name))
            return reader_fail(&source->reader, -EINVAL, source->object, "inputs",
                               "'%s' is an output of stage %s, which is not in needs", name,
                               submission->stages[i].name);
    }
    return suggest_output(submission, source, needed, name);
}

/* A needed stage itself comes before those that it needs in turn. */
static int link_input(const struct submission *submission, const struct pipeline_source *source,
                      const struct stage_set *needed, const struct stage_draft *stage,
                      const char *name, uint32_t *ret)
{
    struct stage_set direct = { 0 };
    int other;

    for (size_t i = 0; i < stage->need_count; i++)
        set_add(&direct, stage->needs[i]);
    int found = find_output(submission, &direct, name, &other);
    if (found == NO_STAGE)
        found = find_output(submission, needed, name, &other);
    if (found == NO_STAGE)
        return no_such_output(submission, source, needed, name);
    if (other != NO_STAGE)
        return reader_fail(&source->reader, -EINVAL, source->object, "inputs",
                           "'%s' is an output of both %s and %s; expected different names", name,
                           submission->stages[found].name, submission->stages[other].name);
    *ret = (uint32_t)found;
    return 0;
}

static int link_inputs(struct submission *submission, const struct pipeline_source *sources,
                       const uint32_t *order)
{
    struct stage_set *needed = mem_zero(submission->stage_count, sizeof(needed[0]));
    int code = 0;

    for (size_t k = 0; k < submission->stage_count && code == 0; k++) {
        struct stage_draft *stage = &submission->stages[k];
        char **inputs = stage->jobs[0].inputs;
        size_t count = 0;

        for (size_t i = 0; i < stage->need_count; i++) {
            set_add(&needed[k], stage->needs[i]);
            for (size_t w = 0; w < STAGES_WORDS; w++)
                needed[k].words[w] |= needed[stage->needs[i]].words[w];
        }
        while (inputs[count])
            count++;
        stage->input_stages = mem_zero(count, sizeof(stage->input_stages[0]));
        for (size_t i = 0; i < count && code == 0; i++)
            code = link_input(submission, &sources[order[k]], &needed[k], stage, inputs[i],
                              &stage->input_stages[i]);
    }
    free(needed);
    return code;
}

int pipeline_link(struct submission *submission, const struct pipeline_source *sources)
{
    uint32_t order[SUBMISSION_STAGES_MAX];

    for (size_t i = 0; i < submission->stage_count; i++) {
        struct stage_draft *stage = &submission->stages[i];

        int code = read_needs(submission, &sources[i], stage);
        if (code < 0)
            return code;
        if (stage->always && stage->need_count == 0)
            need_all_others(submission, stage);
    }
    int code = find_order(submission, sources, order);
    if (code < 0)
        return code;
    put_in_order(submission, order);
    return link_inputs(submission, sources, order);
}
