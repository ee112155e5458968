/* SPDX-License-Identifier: Apache-2.0 */
/* tarn backup, tarn restore and tarn check: care for a state directory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "daemon/doctor/finding.h"
#include "daemon/upkeep/backup.h"
#include "io/file.h"
#include "store/journal.h"
#include "store/side.h"
#include "wire/json.h"

enum { STATE, ACCEPT };

#define STATE_OPTION "state", 0, "DIR", "state directory (default: as for tarn serve)"

const struct option_entry options_backup[] = { [STATE] = { STATE_OPTION }, { 0 } };
const struct option_entry options_restore[] = { [STATE] = { STATE_OPTION }, { 0 } };
const struct option_entry options_check[] = {
    [STATE] = { STATE_OPTION },
    [ACCEPT] = { "accept-loss", 0, NULL, "continue without records that are missing" },
    { 0 },
};

static void print_json(const char *dir, const struct state_summary *summary, const char *aside)
{
    json_t *said =
        json_pack("{s:s, s:I, s:I, s:s*}", "dir", dir, "records", (json_int_t)summary->records,
                  "jobs_left", (json_int_t)summary->jobs_left, "replaced", aside);

    json_print(said, JSON_INDENT(2));
    json_decref(said);
}

int run_backup(const struct options *options)
{
    AUTO_FREE char *state = NULL;
    struct state_summary summary;
    struct error err;

    if (options->word_count != 1)
        return usage_wrong("backup", "expected one folder that does not exist yet");
    int code = state_dir_find(options->values[STATE], &state, &err);
    if (code == 0)
        code = backup_make(state, options->words[0], &summary, &err);
    if (code < 0)
        return complain(&err);
    if (options->is_json)
        print_json(options->words[0], &summary, NULL);
    else
        printf("backup of %s in %s: %" PRIu64 " records, %" PRIu64 " jobs that have not ended\n"
               "not included: outputs, scripts and data of jobs (the folders in %s)\n",
               state, options->words[0], summary.records, summary.jobs_left, state);
    return 0;
}

int run_restore(const struct options *options)
{
    AUTO_FREE char *state = NULL, *aside = NULL;
    struct state_summary summary;
    struct error err;

    if (options->word_count != 1)
        return usage_wrong("restore", "expected the folder of one backup");
    int code = state_dir_find(options->values[STATE], &state, &err);
    if (code == 0)
        code = backup_restore(options->words[0], state, &summary, &aside, &err);
    if (code < 0)
        return complain(&err);
    if (options->is_json) {
        print_json(state, &summary, aside);
    } else {
        printf("restored in %s: %" PRIu64 " records, %" PRIu64 " jobs that have not ended\n", state,
               summary.records, summary.jobs_left);
        if (aside)
            printf("what was there is in %s\n", aside);
    }
    return 0;
}

/* ---- check ---- */

static void check_journal(const char *dir)
{
    struct state_summary summary;
    struct error err;

    if (state_summarize(dir, &summary, &err) < 0) {
        finding_say(GRADE_BAD, "journal", "%s", err.text);
        return;
    }
    finding_say(GRADE_OK, "journal", "%" PRIu64 " records and %" PRIu64 " blobs are intact",
                summary.records, summary.blobs);
    if (summary.snapshots_damaged > 0)
        finding_say(GRADE_NOTE, "snapshots",
                    "%" PRIu64 " of %" PRIu64
                    " are damaged: the start reads all records, and takes longer",
                    summary.snapshots_damaged, summary.snapshots);
    finding_say(GRADE_OK, "state", "a daemon can start from it: %" PRIu64 " jobs have not ended",
                summary.jobs_left);
}

static void check_database(const char *dir, const char *name, const char *what)
{
    AUTO_FREE char *path = mem_printf("%s/%s.db", dir, name);
    struct error err;

    if (access(path, F_OK) < 0)
        return;
    int code = side_check(path, &err);
    if (code < 0)
        finding_say(GRADE_BAD, name, "%s; move it away while the daemon is down, to begin %s anew",
                    err.text, what);
    else
        finding_say(GRADE_OK, name, "%s.db is intact", name);
}

/* The damaged log is kept: its pages may be needed to find out what is missing. */
static int accept_loss(const char *dir, struct error *err)
{
    __attribute__((cleanup(journal_auto_destroy))) struct journal *journal = NULL;
    AUTO_FREE char *log = mem_printf("%s/journal.db-wal", dir);
    AUTO_FREE char *kept = NULL;
    AUTO_FREE char *aside = mem_printf("%s/run.lost-%" PRId64, dir, (int64_t)time(NULL));
    bool has_log = access(log, F_OK) == 0;

    int code = journal_open(dir, JOURNAL_READ, &journal, err);
    if (code == 0)
        return error_set(err, -EINVAL, "--accept-loss: no record is missing in %s", dir);
    if (code != -EBADMSG)
        return code;
    code = attempts_put_aside(dir, aside, err);
    if (code == 0 && has_log)
        code = file_copy_aside(log, "lost", &kept, err);
    if (code == 0)
        code = journal_open(dir, JOURNAL_WRITE_WITH_LOSS, &journal, err);
    if (code == 0)
        finding_say(GRADE_NOTE, "loss", "the journal continues after record %" PRIu64 "%s%s",
                    journal_last(journal), has_log ? "; the damaged log is kept in " : "",
                    has_log ? kept : "");
    return code;
}

int run_check(const struct options *options)
{
    AUTO_FREE char *dir = NULL;
    struct error err;

    if (options->word_count > 1 || (options->word_count == 1 && options->values[STATE]))
        return usage_wrong("check", "expected one folder");
    int code = state_dir_find(options->word_count == 1 ? options->words[0] : options->values[STATE],
                              &dir, &err);
    if (code < 0)
        return complain(&err);
    findings_begin(options->is_json);
    if (options->values[ACCEPT] && accept_loss(dir, &err) < 0)
        finding_say(GRADE_BAD, "loss", "%s", err.text);
    check_journal(dir);
    for (enum side i = 0; i < SIDES; i++)
        check_database(dir, side_about[i].name, side_about[i].what);
    return findings_end() ? 0 : 1;
}
