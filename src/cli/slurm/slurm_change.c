/* SPDX-License-Identifier: Apache-2.0 */
/* scancel: jobs are ended, or get a signal */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/fields.h"
#include "cli/select.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/slurm_change.h"
#include "cli/slurm/slurm_jobs.h"
#include "cli/slurm/slurm_options.h"
#include "wire/job/signal_name.h"

/* In Slurm's names a range is one of tasks only. */
static int add_id(struct selection *selection, const char *word, struct error *err)
{
    char *plain[] = { (char *)(uintptr_t)word, NULL };

    if (strchr(word, '-') && !strchr(word, '['))
        return error_set(err, -EINVAL, "job '%.40s': expected 7, 7_3 or 7_[1-3]", word);
    return selection_read(selection, plain, err);
}

int slurm_ids_read(struct selection *selection, char *const *words, struct error *err)
{
    int code = 0;

    for (; *words && code == 0; words++) {
        AUTO_FREE char *copy = mem_string(*words);
        char *rest = copy;
        /* A comma within brackets does not separate. */
        while (rest && code == 0) {
            char *word = rest;
            char *bracket = strchr(rest, '['), *comma = strchr(rest, ',');
            if (bracket && comma && bracket < comma)
                comma = strchr(bracket, ']') ? strchr(strchr(bracket, ']'), ',') : NULL;
            if (comma)
                *comma = '\0';
            rest = comma ? comma + 1 : NULL;
            code = add_id(selection, word, err);
        }
    }
    return code;
}

int slurm_change(struct session *session, const struct selection *selection, bool is_found,
                 const char *action)
{
    int status = 0;

    for (size_t i = 0; i < selection->count; i++) {
        AUTO_FREE char *path = mem_printf("/v1/jobs/%s/%s", selection->ids[i], action);
        struct error err;
        int code = session_send(session, "POST", path, NULL, NULL, &err);
        if (code < 0 && !(is_found && (code == -EALREADY || code == -ENOENT)))
            status = slurm_fail("%s", err.text);
    }
    return status;
}

struct cancel {
    struct slurm_choice choice;
    const char *signal; /* NULL: end them */
    bool is_filtered, is_full;
};

/* Those that wait first: they are not to start with what the others leave. */
static void select_found(const json_t *jobs, struct selection *selection)
{
    const json_t *job;
    size_t i;

    for (int waits = 1; waits >= 0; waits--) {
        json_array_foreach(jobs, i, job)
        {
            if ((strcmp(slurm_state(job, true), "PD") == 0) == waits)
                selection_add(selection, field_text(job, "label"));
        }
    }
}

/* Named ones that pass the filters, or all that do. */
static int select_filtered(struct session *session, const struct cancel *cancel,
                           struct selection *selection, struct error *err)
{
    AUTO_RELEASE(text) struct text ids = { 0 };
    struct slurm_choice choice = cancel->choice;
    AUTO(json) json_t *jobs = NULL;

    for (size_t i = 0; i < selection->count; i++)
        text_printf(&ids, "%s%s", i > 0 ? "," : "", selection->ids[i]);
    choice.ids = selection->count > 0 ? ids.bytes : NULL;
    int code = slurm_jobs_find(session, &choice, false, &jobs, err);
    selection->count = 0;
    if (code == 0)
        select_found(jobs, selection);
    return code;
}

/* The path behind the number of the job. New; NULL: it can't be done. */
static char *action_of(const struct cancel *cancel, struct error *err)
{
    const char *name = cancel->signal;

    if (!name)
        return mem_string("cancel");
    name += strncasecmp(name, "SIG", 3) == 0 ? 3 : 0;
    if (strcasecmp(name, "KILL") == 0 || strcmp(name, "9") == 0)
        return mem_string("cancel?signal_now=1");
    int number = signal_parse(name, err);
    if (number >= 0 && !cancel->is_full)
        number = error_set(err, -EINVAL,
                           "--signal %s: the script of a job gets the signal as well; expected "
                           "--full beside it",
                           name);
    return number < 0 ? NULL : mem_printf("signal?name=%s", signal_name(number));
}

static int cancel_all(const struct cancel *cancel, char *const *words, int *ret_status,
                      struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(selection) struct selection selection = { 0 };
    AUTO_FREE char *action = action_of(cancel, err);

    int code = action ? slurm_ids_read(&selection, words, err) : -EINVAL;
    if (code == 0 && cancel->choice.states)
        code = slurm_states_check(cancel->choice.states, err);
    if (code == 0)
        code = session_open(&session, err);
    if (code == 0)
        code = selection_confirm(&selection, &session, err);
    if (code == 0 && cancel->is_filtered)
        code = select_filtered(&session, cancel, &selection, err);
    if (code == 0)
        *ret_status = slurm_change(&session, &selection, cancel->is_filtered, action);
    return code;
}

int slurm_scancel(int argc, char **argv)
{
    static const struct option options[] = {
        { "user", required_argument, NULL, 'u' },
        { "name", required_argument, NULL, 'n' },
        { "jobname", required_argument, NULL, 'n' },
        { "state", required_argument, NULL, 't' },
        { "account", required_argument, NULL, 'A' },
        { "partition", required_argument, NULL, 'p' },
        { "signal", required_argument, NULL, 's' },
        { "full", no_argument, NULL, 'f' },
        { "me", no_argument, NULL, 'm' },
        { "quiet", no_argument, NULL, 'Q' },
        { "verbose", no_argument, NULL, 'v' },
        { "clusters", required_argument, NULL, 'M' },
        { 0 },
    };
    struct cancel cancel = { .choice = { .users = slurm_own_name() } };
    struct error err;
    int option, status = 0;

    while ((option = slurm_option(argc, argv, "u:n:t:A:p:s:fQvM:", options)) != -1) {
        cancel.is_filtered |= strchr("untApm", option) != NULL;
        switch (option) {
        case 'u':
            cancel.choice.users = optarg;
            break;
        case 'n':
            cancel.choice.names = optarg;
            break;
        case 't':
            cancel.choice.states = optarg;
            break;
        case 'A':
            cancel.choice.queues = optarg;
            break;
        case 'p':
            cancel.choice.pools = optarg;
            break;
        case 's':
            cancel.signal = optarg;
            break;
        case 'f':
            cancel.is_full = true;
            break;
        case 'M':
            if (!slurm_is_own_cluster(optarg))
                return 1;
            break;
        case 'm':
        case 'Q':
        case 'v':
            break;
        default:
            return 1;
        }
    }
    if (optind == argc && !cancel.is_filtered)
        return slurm_fail("no job identification provided");
    int code = cancel_all(&cancel, argv + optind, &status, &err);
    return code < 0 ? slurm_fail("%s", err.text) : status;
}
