/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch: a script is submitted, and runs once */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/fields.h"
#include "cli/follow/follow_job.h"
#include "cli/send.h"
#include "cli/slurm/slurm.h"

/* Where Slurm writes what a job prints, unless it is told. */
static void set_defaults(struct sending *sending)
{
    json_t *job = sending->document;

    if (sending->sbatch.file || json_object_get(job, "output"))
        return;
    json_object_set_new(
        job, "output",
        json_string(json_object_get(job, "array") ? "slurm-%A_%a.out" : "slurm-%j.out"));
}

static void tell_test(const struct sending *sending, struct session *session, const json_t *item)
{
    AUTO(json) json_t *when = sending_when(sending, session);

    fprintf(stderr, "sbatch: %s %s can run here%s%s\n", field_text(item, "kind"),
            field_text(item, "name"), when ? "; " : "", field_text(when, "text"));
}

static int wait_for(struct session *session, const json_t *item, struct error *err)
{
    AUTO_FREE char *id = mem_printf("%" PRId64, field_number(item, "id"));
    int status = 1;

    int code = follow_quietly(session, id, false, &status, err);
    return code < 0 ? code : status;
}

int slurm_sbatch(int argc, char **argv)
{
    AUTO_RELEASE(sending) struct sending sending;
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *reply = NULL;
    struct error err;

    int code = sending_read_slurm(&sending, argc, argv, false, false, &err);
    if (code == 0) {
        set_defaults(&sending);
        sending_set_name(&sending, sending.sbatch.wrap ? "wrap" : "sbatch");
        code = session_open(&session, &err);
    }
    if (code == 0)
        code = sending_post(&sending, &session, &reply, &err);
    const json_t *item = json_array_get(json_object_get(reply, "submitted"), 0);
    if (code == 0 && sending.is_dry)
        tell_test(&sending, &session, item);
    else if (code == 0 && sending.sbatch.is_parsable)
        printf("%" PRId64 "\n", field_number(item, "id"));
    else if (code == 0 && !sending.sbatch.is_quiet)
        printf("Submitted batch job %" PRId64 "\n", field_number(item, "id"));
    fflush(stdout);
    if (code == 0 && sending.sbatch.is_waiting && !sending.is_dry)
        code = wait_for(&session, item, &err);
    return code < 0 ? slurm_fail("%s", err.text) : code;
}
