/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/sbatch/sbatch_signal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/job/sbatch/sbatch_given.h"
#include "wire/job/signal_name.h"

enum { WARN_MOST_S = 65535 };

/* Slurm's [B:]SIGNAL[@SECONDS], some time before the limit: to the shell, or to the steps. */
static int read_warning(struct sbatch *sbatch, const struct sbatch_given *option, struct error *err)
{
    const bool is_shell = string_starts(option->value, "B:");
    const char *value = option->value + (is_shell ? strlen("B:") : 0);
    AUTO_FREE char *name = mem_string_of(value, strcspn(value, "@"));
    const char *time = value[strlen(name)] == '@' ? value + strlen(name) + 1 : "60";
    const size_t digits = strspn(time, "0123456789");

    if (string_starts(value, "R:") || string_starts(value, "RB:"))
        return given_fail(option, err, "'%.40s': R is not supported; expected [B:]SIGNAL[@SECONDS]",
                          option->value);
    int number = signal_parse(name, err);
    if (number < 0)
        return given_prefix(option, number, err);
    if (digits < 1 || digits > 5 || time[digits] || atol(time) > WARN_MOST_S)
        return given_fail(option, err, "'%.40s': expected seconds behind @, 0 to %d", option->value,
                          WARN_MOST_S);
    json_object_set_new(sbatch->job, "warn",
                        json_pack("{s:s, s:i, s:s}", "signal", signal_name(number), "before",
                                  (int)atol(time), "to", is_shell ? "shell" : "steps"));
    return 0;
}

/* [{R|B}:]SIGNAL[@SECONDS]. B and R (the batch shell or its steps) make no difference
 * here: all processes of the job get the signal when it is stopped. */
static int read_signal(struct sbatch *sbatch, json_t *checkpoint, struct error *err)
{
    const struct sbatch_given *option = given_find(sbatch, SBATCH_SIGNAL);

    if (!option)
        return 0;
    if (given_is_slurms(sbatch, option))
        return read_warning(sbatch, option, err);
    const char *value = option->value;
    size_t whom = strspn(value, "BR");
    value += value[whom] == ':' ? whom + 1 : 0;
    AUTO_FREE char *name = mem_string_of(value, strcspn(value, "@"));
    const char *time = value[strlen(name)] == '@' ? value + strlen(name) + 1 : NULL;
    usec_t grace;
    int code = signal_parse(name, err);
    if (code >= 0 && time)
        code = units_parse_duration(time, &grace, err);
    if (code < 0)
        return given_prefix(option, code, err);
    json_object_set_new(checkpoint, "signal", json_string(signal_name(signal_parse(name, err))));
    if (time && given_find(sbatch, SBATCH_GRACE))
        return given_fail(option, err,
                          "'%.40s': sets a grace period, like --grace; expected one of them",
                          option->value);
    if (time)
        json_object_set_new(checkpoint, "grace", json_string(time));
    return 0;
}

int sbatch_read_checkpoint(struct sbatch *sbatch, struct error *err)
{
    const struct sbatch_given *every = given_find(sbatch, SBATCH_CHECKPOINT_EVERY);
    json_t *checkpoint = json_object();

    if (every)
        json_object_set_new(checkpoint, "every", json_string(every->value));
    int code = read_signal(sbatch, checkpoint, err);
    if (code == 0 && json_object_size(checkpoint) > 0)
        json_object_set(sbatch->job, "checkpoint", checkpoint);
    json_decref(checkpoint);
    return code;
}
