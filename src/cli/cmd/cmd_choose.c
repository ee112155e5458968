/* SPDX-License-Identifier: Apache-2.0 */
/* choose: what each model of GPU would mean for a job */

#include "cli/choice_view.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "cli/send.h"
#include "cli/session.h"

/* A file or a command as of submit; only options: a job with them. */
static int read_job(struct sending *sending, const struct options *options, struct error *err)
{
    struct sbatch sbatch;
    int rest = options->argc;

    sbatch_init(&sbatch);
    int code = sbatch_parse_args(&sbatch, options->argc, options->argv, 1, &rest, err);
    bool is_plain = code == 0 && rest == options->argc && !sbatch.file && !sbatch.is_help;
    if (is_plain)
        code = sbatch_finish(&sbatch, err);
    if (is_plain && code == 0) {
        json_object_set_new(sbatch.job, "command", json_pack("[s]", "job"));
        json_object_set_new(sbatch.job, "sender_cwd", json_string("/"));
        if (sbatch.socket)
            setenv("TARN_SOCKET", sbatch.socket, 1);
        sending->document = json_incref(sbatch.job);
        sending->sbatch.is_json = sbatch.is_json;
    }
    sending->is_usage = is_plain && code < 0;
    sbatch_release(&sbatch);
    return is_plain ? code : sending_read(sending, options->argc, options->argv, err);
}

int run_choose(const struct options *options)
{
    AUTO_RELEASE(sending) struct sending sending = { 0 };
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *reply = NULL;
    struct error err;

    int code = read_job(&sending, options, &err);
    if (code == 0 && sending.sbatch.is_help) {
        command_help(command_find("choose"));
        return 0;
    }
    if (code == 0)
        code = session_open(&session, &err);
    if (code == 0)
        code = session_send(&session, "POST", "/v1/choose", sending.document, &reply, &err);
    if (code < 0) {
        complain(&err);
        return sending.is_usage ? 2 : 1;
    }
    if (sending.sbatch.is_json)
        reply_print(reply);
    else
        choice_print(reply);
    return 0;
}
