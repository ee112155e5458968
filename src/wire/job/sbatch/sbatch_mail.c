/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_mail.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/job/sbatch/sbatch_given.h"

/* A time at which Slurm sends mail and tarn does not. */
static bool note_mail(struct sbatch *sbatch, const struct sbatch_given *option, const char *word)
{
    static const char *const times[] = { "TIME_LIMIT",     "TIME_LIMIT_90",
                                         "TIME_LIMIT_80",  "TIME_LIMIT_50",
                                         "INVALID_DEPEND", "STAGE_OUT",
                                         "ARRAY_TASKS",    NULL };
    AUTO_FREE char *words = mem_printf("--mail-type=%s: not supported, ignored", word);
    bool is_time = false;

    for (size_t i = 0; times[i]; i++)
        is_time |= strcasecmp(times[i], word) == 0;
    if (is_time)
        sbatch_note(sbatch, option->place, words);
    return is_time;
}

/* NONE alone, or as one of several --mail-type. */
static bool is_none(const char *words)
{
    AUTO_FREE char *copy = mem_string(words);
    char *rest = copy;
    bool is = false;

    while (rest && !is)
        is = strcasecmp(strsep(&rest, ","), "none") == 0;
    return is;
}

/* Slurm sends mail only for --mail-type, and --mail-user alone means nothing. */
int sbatch_read_mail(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_MAIL_TYPE);
    AUTO_RELEASE(text) struct text words = { 0 };

    if (!option || is_none(option->value)) {
        if (given_find(sbatch, SBATCH_MAIL_USER))
            json_object_del(sbatch->job, "mail");
        return 0;
    }
    AUTO_FREE char *copy = mem_string(option->value);
    char *rest = copy;
    while (rest) {
        const char *word = strsep(&rest, ",");
        static const char *const known[] = { "begin", "end", "fail", "requeue" };
        bool is_known = strcasecmp(word, "all") == 0;

        for (size_t i = 0; i < COUNT_OF(known); i++) {
            if (strcasecmp(word, "all") != 0 && strcasecmp(word, known[i]) != 0)
                continue;
            is_known = true;
            text_printf(&words, "%s%s", words.length > 0 ? "," : "", known[i]);
        }
        if (!is_known && !note_mail(sbatch, option, word))
            return given_fail(option, err,
                              "'%.40s': expected NONE, BEGIN, END, FAIL, REQUEUE or ALL", word);
    }
    if (words.length > 0)
        json_object_set_new(sbatch->job, "notify", json_string(text_string(&words)));
    else
        json_object_del(sbatch->job, "mail");
    return 0;
}
