/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/follow/ctrl_c.h"
#include "cli/follow/follow_job.h"
#include "cli/screen.h"
#include "cli/send.h"

static int follow(const struct follow_plan *plan, int *ret_status, struct error *err)
{
    if (strcmp(field_text(plan->submitted, "kind"), "job") != 0)
        return follow_group(plan, ret_status, err);
    return follow_job(plan, ret_status, err);
}

static void tell_dry(const json_t *submitted)
{
    const char *waits = field_text(submitted, "waits");

    if (!submitted)
        talk("it can run here; nothing was submitted");
    else
        talk("%s %s · %s%s", field_text(submitted, "kind"), field_text(submitted, "name"),
             waits[0] ? "would wait: " : "would start at once", waits);
}

static int submit_and_follow(struct sending *sending, int signal_fd, int *ret_status,
                             struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    json_t *reply = NULL;

    int code = session_open(&session, err);
    if (code < 0)
        return code;
    code = session_start(&session, sending->devices, err);
    client_watch(session.client, signal_fd);
    if (code == 0)
        code = sending_post(sending, &session, &reply, err);
    if (code == -EINTR) {
        *ret_status = INTERRUPT_STATUS + SIGINT;
        return error_set(err, code,
                         "interrupted before the daemon answered; tarn ls says whether "
                         "it has the job");
    }
    if (code < 0)
        return code;
    const struct follow_plan plan = {
        .session = &session,
        .submitted = json_array_get(json_object_get(reply, "submitted"), 0),
        .signal_fd = signal_fd,
        .is_quiet = sending->sbatch.is_quiet,
        .is_json = sending->sbatch.is_json,
    };
    if (sending->is_dry)
        tell_dry(plan.submitted);
    else
        code = follow(&plan, ret_status, err);
    json_decref(reply);
    return code;
}

int run_run(int argc, char **argv)
{
    AUTO_RELEASE(sending) struct sending sending;
    int signal_fd = -1, status = 0;
    struct error err;

    int code = sending_read(&sending, argc, argv, &err);
    if (code == 0 && sending.sbatch.is_help) {
        command_help(command_find("run"));
        return 0;
    }
    if (code == 0)
        code = interrupt_open(&signal_fd, &err);
    if (code == 0)
        code = submit_and_follow(&sending, signal_fd, &status, &err);
    interrupt_close(signal_fd);
    if (code == 0)
        return status;
    complain(&err);
    return status != 0 ? status : sending.is_usage ? 2 : 1;
}
