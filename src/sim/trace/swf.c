/* SPDX-License-Identifier: Apache-2.0 */
/* The Standard Workload Format: fields by their places, blanks between, comments with ';'. */
#include <math.h>
#include <stdio.h>

#include "sim/trace/format.h"
#include "sim/trace/lines.h"
#include "sim/trace/trace_cells.h"

/* Fields that we read, from 0. Unknown is -1, or in some logs anything below 0. */
enum {
    SWF_ID = 0,
    SWF_SUBMIT = 1,
    SWF_WAIT = 2,
    SWF_RUN = 3,
    SWF_PROCS = 4,
    SWF_ASKED = 7,
    SWF_REQUEST = 8,
    SWF_STATUS = 10,
    SWF_USER = 11,
    SWF_GROUP = 12,
    SWF_PROGRAM = 13,
    SWF_QUEUE = 14,
    SWF_PARTITION = 15,
    SWF_FIELDS_MIN = 11,
};

static int number(const struct cells *cells, uint32_t field, double min, double max, double *ret,
                  struct error *err)
{
    *ret = -1;
    return field < cells->count ? cells_number(cells, field, min, max, ret, err) : 0;
}

static const char *label(struct workload *workload, const struct cells *cells, uint32_t field,
                         char letter)
{
    char text[48];

    if (field >= cells->count || cells->items[field].text[0] == '-')
        return "";
    snprintf(text, sizeof(text), "%c%.40s", letter, cells->items[field].text);
    return workload_string(workload, text);
}

/* Status 2, 3 and 4: a part of a job, which has a line of status 0 or 1 for all of it. */
static bool is_part(const struct cells *cells)
{
    const char *status = cells->count > SWF_STATUS ? cells->items[SWF_STATUS].text : "";

    return status[0] >= '2' && status[0] <= '4' && status[1] == '\0';
}

/* The user's program: what a history can go by. */
static int read_job(const struct cells *cells, struct workload *workload, struct sim_job *job,
                    struct error *err)
{
    static const double seconds_max = (double)(WORKLOAD_TIME_MAX / USEC_PER_SEC);
    double submit, wait, run, procs, asked, request;

    if (cells->count < SWF_FIELDS_MIN)
        return cells_fail(cells, CELLS_MAX, err, "18 fields of numbers");
    int code = number(cells, SWF_SUBMIT, 0, seconds_max, &submit, err);
    if (code == 0)
        code = number(cells, SWF_WAIT, -seconds_max, seconds_max, &wait, err);
    if (code == 0)
        code = number(cells, SWF_RUN, -seconds_max, seconds_max, &run, err);
    if (code == 0)
        code = number(cells, SWF_PROCS, -seconds_max, WORKLOAD_GPUS_MAX, &procs, err);
    if (code == 0)
        code = number(cells, SWF_ASKED, -seconds_max, WORKLOAD_GPUS_MAX, &asked, err);
    if (code == 0)
        code = number(cells, SWF_REQUEST, -seconds_max, seconds_max, &request, err);
    if (code < 0)
        return code;
    double size = procs > asked ? procs : asked;
    *job = sim_job_default();
    job->gpus = size >= 1 ? (uint32_t)size : 0;
    job->submit = llrint(submit * 1e6);
    job->waited = wait >= 0 ? llrint(wait * 1e6) : -1;
    job->run = run >= 0 ? llrint(run * 1e6) : -1;
    job->limit = request > 0 ? llrint(request * 1e6) : 0;
    job->name = label(workload, cells, SWF_PROGRAM, 'p');
    job->user = label(workload, cells, SWF_USER, 'u');
    job->group = label(workload, cells, SWF_GROUP, 'g');
    job->queue = label(workload, cells, SWF_QUEUE, 'q');
    job->partition = label(workload, cells, SWF_PARTITION, 'p');
    return 0;
}

enum swf_rules { RULES_SWF, RULES_RLSCHEDULER };

enum { RLSCHEDULER_RUN_US = 10000000 };

/* False: the job never ran, or on unknown processors. */
static bool settle(struct sim_job *job, enum swf_rules rules)
{
    if (rules == RULES_RLSCHEDULER && job->run < 0)
        job->run = RLSCHEDULER_RUN_US;
    return job->run >= (rules == RULES_RLSCHEDULER) && job->gpus > 0;
}

static int read_lines(const struct format_ask *ask, enum swf_rules rules, struct workload *workload,
                      struct error *err)
{
    struct cells cells = { .path = ask->path };
    struct sim_job job;
    struct lines lines;
    char *line;
    int got = 0;

    int code = lines_open(&lines, ask->path, err);
    while (code == 0) {
        got = lines_next(&lines, &line, err);
        if (got <= 0)
            break;
        size_t blanks = 0;
        while (line[blanks] == ' ' || line[blanks] == '\t')
            blanks++;
        if (!line[blanks] || line[blanks] == ';')
            continue;
        cells.line = lines.number;
        code = cells_split(&cells, line, CELLS_BLANKS, err);
        if (code == 0 && rules == RULES_SWF && is_part(&cells)) {
            workload->left_out++;
            continue;
        }
        if (code == 0)
            code = read_job(&cells, workload, &job, err);
        if (code < 0) {
            code = workload_pass_over(workload, ask->skip_bad, code);
            continue;
        }
        if (settle(&job, rules))
            code = workload_add(workload, &job, err);
        else
            workload->left_out++;
    }
    lines_close(&lines);
    return code < 0 ? code : got;
}

int read_swf(const struct format_ask *ask, struct workload *workload, struct error *err)
{
    return read_lines(ask, RULES_SWF, workload, err);
}

int read_rlscheduler(const struct format_ask *ask, struct workload *workload, struct error *err)
{
    return read_lines(ask, RULES_RLSCHEDULER, workload, err);
}
