/* SPDX-License-Identifier: Apache-2.0 */
/* exec, attach: inside a running job */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/follow/ctrl_c.h"
#include "cli/follow/follow_job.h"
#include "cli/follow/visit.h"
#include "cli/job_view.h"
#include "cli/screen.h"
#include "cli/select.h"

enum { RANK, PTY };
enum { STATUS_SIGNAL = 128, LINES_BEFORE = 10 };

const struct option_entry options_exec[] = {
    [RANK] = { "rank", 'r', "N", "rank of the member; default 0" },
    [PTY] = { "pty", 't', NULL, "on a terminal of its own" },
    { 0 },
};

static int visit_job(const struct options *options, struct visit *visit, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };

    int code = session_open(&session, err);
    return code < 0 ? code
                    : visit_run(visit, &session, options->words[0], options->values[RANK],
                                options->words + 1, options->values[PTY] != NULL, err);
}

/* The status for the shell. */
static int visit_status(const char *id, const struct door_answer *answer)
{
    if (answer->failure != 0) {
        say("job %s: %.*s", id, (int)sizeof(answer->text), answer->text);
        return answer->failure == ENOENT ? 127 : 126;
    }
    return WIFSIGNALED(answer->wait_status) ? STATUS_SIGNAL + WTERMSIG(answer->wait_status)
                                            : WEXITSTATUS(answer->wait_status);
}

int run_exec(const struct options *options)
{
    static struct visit visit;
    struct error err;
    int signal_fd = -1, status = 0;

    if (options->word_count < 2)
        return usage_wrong("exec", "expected the number of a job and a command: tarn exec 7 -- "
                                   "nvidia-smi");
    if (selection_check(options->words[0], &err) < 0) {
        complain(&err);
        return 2;
    }
    if (options->values[PTY] && !isatty(STDIN_FILENO))
        return usage_wrong("exec", "pty: standard input is not a terminal");
    signal(SIGPIPE, SIG_IGN);
    /* A signal that ends us must not leave the terminal in raw mode. */
    int code = options->values[PTY] ? interrupt_open(&signal_fd, &err) : 0;
    if (code == 0)
        code = visit_job(options, &visit, &err);
    if (code < 0)
        status = complain(&err);
    else if (visit_copy(&visit, signal_fd) == VISIT_SIGNALLED)
        status = STATUS_SIGNAL + interrupt_take(signal_fd);
    else
        status = visit_status(options->words[0], &visit.answer);
    interrupt_close(signal_fd);
    return status;
}

/* ---- attach ---- */

static enum engine_attach attach_of(const json_t *job)
{
    const char *word = field_text(json_object_get(job, "launch"), "attach");

    return strcmp(word, "terminal") == 0                         ? ENGINE_ATTACH_TERMINAL
           : strcmp(word, "stdin") == 0 && !isatty(STDIN_FILENO) ? ENGINE_ATTACH_STDIN
                                                                 : ENGINE_ATTACH_NONE;
}

static int attach_to(const char *id, struct session *session, int signal_fd, int *ret_status,
                     struct error *err)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", id);
    AUTO(json) json_t *job = NULL;

    int code = session_get(session, path, &job, err);
    if (code < 0)
        return code;
    if (!json_object_get(job, "label"))
        return error_set(err, -EINVAL, "%s is several jobs; expected one", id);
    if (field_is_null(job, "launch"))
        return error_set(err, -EPERM, "job %s: belongs to another user", id);
    if (job_is_ended(job))
        return error_set(err, -ESRCH, "job %s has ended; tarn logs %s prints its output", id, id);
    const struct follow_plan plan = {
        .session = session,
        .submitted = job,
        .signal_fd = signal_fd,
        .input = attach_of(job),
        .tail = LINES_BEFORE,
    };
    if (plan.input == ENGINE_ATTACH_TERMINAL && !isatty(STDIN_FILENO))
        return error_set(
            err, -ENOTTY,
            "job %s has a terminal, but standard input is not a terminal; tarn logs -f %s "
            "follows its output",
            id, id);
    return follow_job(&plan, ret_status, err);
}

int run_attach(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    int signal_fd = -1, status = 0;
    struct error err;

    if (options->word_count != 1)
        return usage_wrong("attach", "expected the number of one job: tarn attach 7");
    if (selection_check(options->words[0], &err) < 0) {
        complain(&err);
        return 2;
    }
    int code = interrupt_open(&signal_fd, &err);
    if (code == 0)
        code = session_open(&session, &err);
    if (code == 0) {
        client_watch(session.client, signal_fd);
        code = attach_to(options->words[0], &session, signal_fd, &status, &err);
    }
    interrupt_close(signal_fd);
    return code < 0 ? complain(&err) : status;
}
