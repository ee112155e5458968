/* SPDX-License-Identifier: Apache-2.0 */
/* squeue and sacct: lists of jobs */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/fields.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/slurm_jobs.h"
#include "cli/slurm/slurm_options.h"
#include "time/begin.h"

enum { TIME_TEXT_SIZE = 48 };

struct listing {
    struct slurm_choice choice;
    const char *letters, *names;
    const char *delimiter; /* NULL: | */
    bool has_no_titles, has_start;
    bool is_parsable, ends_parsable;
    bool must_exist; /* users, and a job that is named alone */
};

/* As in Slurm: an unknown user is named, and has no jobs. */
static void check_users(const char *list)
{
    AUTO_FREE char *copy = mem_string(list);
    char *rest = copy;

    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        if (!getpwnam(word))
            slurm_fail("Invalid user: %s", word);
    }
}

static int check_ids(const char *list, struct error *err)
{
    AUTO_FREE char *copy = mem_string(list);
    char *rest = copy;

    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        const size_t length = strspn(word, "0123456789_");
        if (!word[0])
            continue;
        if (strtol(word, NULL, 10) <= 0 || (word[length] && word[length] != '.'))
            return error_set(err, -EINVAL, "Invalid job id: %.60s", word);
        if (word[length] == '.')
            return error_set(err, -ENOTSUP,
                             "%.60s: steps are not listed; expected the job, %.*s, whose values "
                             "include its steps",
                             word, (int)length, word);
    }
    return 0;
}

/* As in Slurm: of several jobs those that exist are listed, a single one has to exist. */
static int check_existence(struct session *session, const char *list, struct error *err)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", list);
    AUTO(json) json_t *reply = NULL;

    if (strchr(list, ','))
        return 0;
    int code = session_get(session, path, &reply, err);
    return code == -ENOENT ? error_set(err, code, "slurm_load_jobs error: Invalid job id specified")
                           : code;
}

static int print(const struct listing *listing, bool has_dashes)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct slurm_format format = { .between = !listing->is_parsable ? NULL
                                              : listing->delimiter  ? listing->delimiter
                                                                    : "|",
                                   .ends_so = listing->ends_parsable };
    AUTO(json) json_t *jobs = NULL;
    const json_t *job;
    struct error err;
    size_t i;

    int code = listing->names
                   ? slurm_format_names(&format, listing->names, slurm_job_fields, &err)
                   : slurm_format_letters(&format, listing->letters, slurm_job_fields, &err);
    if (code == 0 && listing->choice.states)
        code = slurm_states_check(listing->choice.states, &err);
    if (code == 0 && listing->choice.ids)
        code = check_ids(listing->choice.ids, &err);
    if (code == 0)
        code = session_open(&session, &err);
    if (code == 0 && listing->must_exist && listing->choice.ids)
        code = check_existence(&session, listing->choice.ids, &err);
    if (code == 0 && listing->must_exist && listing->choice.users)
        check_users(listing->choice.users);
    if (code == 0)
        code = slurm_jobs_find(&session, &listing->choice, format.needs_details, &jobs, &err);
    if (code == 0 && !listing->has_no_titles)
        slurm_put_titles(&format);
    if (code == 0 && !listing->has_no_titles && has_dashes)
        slurm_put_dashes(&format);
    json_array_foreach(jobs, i, job)
    {
        bool is_left_out = listing->has_start && strcmp(slurm_state(job, true), "PD") != 0;
        if (!is_left_out)
            slurm_put_row(&format, job);
    }
    slurm_format_release(&format);
    return code < 0 ? slurm_fail("%s", err.text) : 0;
}

int slurm_squeue(int argc, char **argv)
{
    static const struct option options[] = {
        { "user", required_argument, NULL, 'u' },
        { "jobs", required_argument, NULL, 'j' },
        { "states", required_argument, NULL, 't' },
        { "format", required_argument, NULL, 'o' },
        { "Format", required_argument, NULL, 'O' },
        { "noheader", no_argument, NULL, 'h' },
        { "me", no_argument, NULL, 'm' },
        { "start", no_argument, NULL, 'T' },
        { "name", required_argument, NULL, 'n' },
        { "account", required_argument, NULL, 'A' },
        { "partition", required_argument, NULL, 'p' },
        { "long", no_argument, NULL, 'l' },
        { "all", no_argument, NULL, 'a' },
        { "array", no_argument, NULL, 'r' },
        { "clusters", required_argument, NULL, 'M' },
        { 0 },
    };
    const char *letters = getenv("SQUEUE_FORMAT");
    struct listing listing = {
        .letters = letters ? letters : "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R",
        .names = getenv("SQUEUE_FORMAT2"),
        .choice = { .queues = getenv("SQUEUE_ACCOUNT"),
                    .names = getenv("SQUEUE_NAMES"),
                    .pools = getenv("SQUEUE_PARTITION"),
                    .states = getenv("SQUEUE_STATES"),
                    .users = getenv("SQUEUE_USERS") },
        .must_exist = true,
    };
    int option;

    if (!slurm_is_own_cluster(getenv("SLURM_CLUSTERS")))
        return 1;

    while ((option = slurm_option(argc, argv, "u:j:t:o:O:hn:A:p:larM:", options)) != -1) {
        switch (option) {
        case 'u':
            listing.choice.users = optarg;
            break;
        case 'j':
            listing.choice.ids = optarg;
            break;
        case 't':
            listing.choice.states = optarg;
            break;
        case 'o':
            listing.letters = optarg;
            listing.names = NULL;
            break;
        case 'O':
            listing.names = optarg;
            break;
        case 'h':
            listing.has_no_titles = true;
            break;
        case 'm':
            listing.choice.users = slurm_own_name();
            break;
        case 'M':
            if (!slurm_is_own_cluster(optarg))
                return 1;
            break;
        case 'T':
            listing.has_start = true;
            listing.names = NULL;
            listing.letters = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20N %R";
            break;
        case 'n':
            listing.choice.names = optarg;
            break;
        case 'A':
            listing.choice.queues = optarg;
            break;
        case 'p':
            listing.choice.pools = optarg;
            break;
        case 'l':
            listing.names = NULL;
            listing.letters = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
            break;
        case 'a':
        case 'r':
            break; /* always so */
        default:
            return 1;
        }
    }
    if (optind < argc)
        return slurm_fail("'%s': expected options only", argv[optind]);
    listing.choice.has_ended = listing.choice.states != NULL;
    return print(&listing, false);
}

/* "now-2hours": how far before now, in seconds; -1: it is none. */
static time_t seconds_before(const char *text)
{
    static const struct {
        const char *word;
        long seconds;
    } units[] = {
        { "second", 1 }, { "minute", 60 }, { "hour", 3600 }, { "day", 86400 }, { "week", 604800 }
    };
    char *end;

    if (strcmp(text, "now") == 0)
        return 0;
    if (strncmp(text, "now-", 4) != 0)
        return -1;
    long number = strtol(text + 4, &end, 10);
    if (end == text + 4 || number < 0 || number > 1000000)
        return -1;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        const size_t length = strlen(units[i].word);
        if (strncmp(end, units[i].word, length) == 0 &&
            (end[length] == '\0' || strcmp(end + length, "s") == 0))
            return number * units[i].seconds;
    }
    return *end == '\0' ? number : -1;
}

/* "0131", "013130" as "01/31", "01/31/30". */
static void spell_date(const char *text, char ret[TIME_TEXT_SIZE])
{
    const size_t digits = strspn(text, "0123456789");
    bool is_date = (digits == 4 || digits == 6) && (!text[digits] || text[digits] == '-') &&
                   strlen(text) < TIME_TEXT_SIZE - 2 && strchr(text + digits, '-') != text + 4;

    snprintf(ret, TIME_TEXT_SIZE, "%s", text);
    if (is_date)
        snprintf(ret, TIME_TEXT_SIZE, "%.2s/%.2s%s%s", text, text + 2, digits == 6 ? "/" : "",
                 text + 4);
}

/* A time as sacct takes it, of the past; false: it is none. */
static bool read_time(const char *text, time_t *ret)
{
    const time_t now = time(NULL), before = seconds_before(text);
    struct begin_fields fields;
    char spelt[TIME_TEXT_SIZE];
    struct tm parts;

    if (before >= 0) {
        *ret = now - before;
        return true;
    }
    spell_date(text, spelt);
    if (!begin_split(spelt, &fields))
        return false;
    localtime_r(&now, &parts);
    if (fields.has_date) {
        parts.tm_year = fields.lacks_year ? parts.tm_year : fields.year - 1900;
        parts.tm_mon = fields.month - 1;
        parts.tm_mday = fields.day;
    }
    parts.tm_mday += fields.is_relative ? fields.day : 0;
    parts.tm_hour = fields.hour;
    parts.tm_min = fields.minute;
    parts.tm_sec = fields.second;
    parts.tm_isdst = -1;
    *ret = mktime(&parts);
    return !fields.has_date || parts.tm_mday == fields.day;
}

static int print_fields(void)
{
    for (const struct slurm_field *field = slurm_job_fields; field->name; field++)
        printf("%s\n", field->name);
    return 0;
}

/* An option that is given again adds to its list, as in Slurm. */
static const char *join(struct text *list, const char *more)
{
    text_printf(list, "%s%s", list->length > 0 ? "," : "", more);
    return list->bytes;
}

/* lists: by the letter of their option. */
static int list_accounts(int argc, char **argv, struct text *lists)
{
    static const struct option options[] = {
        { "jobs", required_argument, NULL, 'j' },
        { "starttime", required_argument, NULL, 'S' },
        { "endtime", required_argument, NULL, 'E' },
        { "format", required_argument, NULL, 'o' },
        { "allocations", no_argument, NULL, 'X' },
        { "parsable2", no_argument, NULL, 'P' },
        { "parsable", no_argument, NULL, 'p' },
        { "noheader", no_argument, NULL, 'n' },
        { "user", required_argument, NULL, 'u' },
        { "allusers", no_argument, NULL, 'a' },
        { "state", required_argument, NULL, 's' },
        { "name", required_argument, NULL, 'N' },
        { "partition", required_argument, NULL, 'r' },
        { "accounts", required_argument, NULL, 'A' },
        { "brief", no_argument, NULL, 'b' },
        { "delimiter", required_argument, NULL, 'd' },
        { "helpformat", no_argument, NULL, 'e' },
        { "clusters", required_argument, NULL, 'M' },
        { "allclusters", no_argument, NULL, 'L' },
        { "local", no_argument, NULL, 'L' },
        { "federation", no_argument, NULL, 'L' },
        { 0 },
    };
    const char *names = getenv("SACCT_FORMAT");
    struct listing listing = {
        .names = names ? names : "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode",
        .choice = { .users = slurm_own_name(), .has_ended = true },
    };
    bool has_user = false;
    int option;

    while ((option = slurm_option(argc, argv, "j:S:E:o:XPpnu:as:r:A:beM:L", options)) != -1) {
        switch (option) {
        case 'j':
            listing.choice.ids = join(&lists[option], optarg);
            break;
        case 'S':
        case 'E':
            if (!read_time(optarg, option == 'S' ? &listing.choice.since : &listing.choice.until))
                return slurm_fail("time '%s': expected one like 2030-01-31T08:00, 08:00 or "
                                  "now-2days",
                                  optarg);
            break;
        case 'o':
            listing.names = join(&lists[option], optarg);
            break;
        case 'M':
            if (!slurm_is_own_cluster(optarg))
                return 1;
            break;
        case 'X': /* there are no lines of steps, */
        case 'L': /* and there is one cluster */
            break;
        case 'P':
        case 'p':
            listing.is_parsable = true;
            listing.ends_parsable = option == 'p';
            break;
        case 'n':
            listing.has_no_titles = true;
            break;
        case 'u':
        case 'a':
            has_user = true;
            listing.choice.users = option == 'u' ? join(&lists['u'], optarg) : NULL;
            break;
        case 's':
            listing.choice.states = join(&lists[option], optarg);
            break;
        case 'N':
            listing.choice.names = join(&lists[option], optarg);
            break;
        case 'r':
            listing.choice.pools = join(&lists[option], optarg);
            break;
        case 'A':
            listing.choice.queues = join(&lists[option], optarg);
            break;
        case 'd':
            listing.delimiter = optarg;
            break;
        case 'e':
            return print_fields();
        case 'b':
            listing.names = "JobID,State,ExitCode";
            break;
        default:
            return 1;
        }
    }
    if (optind < argc)
        return slurm_fail("'%s': expected options only", argv[optind]);
    if (listing.choice.ids && !has_user)
        listing.choice.users = NULL;
    if (!listing.choice.ids && listing.choice.since == 0)
        read_time("midnight", &listing.choice.since);
    return print(&listing, !listing.is_parsable);
}

int slurm_sacct(int argc, char **argv)
{
    struct text lists['z'] = { 0 };
    int status = list_accounts(argc, argv, lists);

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        text_release(&lists[i]);
    return status;
}
