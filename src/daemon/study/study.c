/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/study/study.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "control/phrases.h"
#include "daemon/forward_control.h"
#include "daemon/hub.h"
#include "daemon/study/forecaster.h"
#include "daemon/study/planned.h"
#include "forecast/outlook.h"
#include "io/copy.h"
#include "io/log.h"
#include "wire/json.h"

enum { LOOK_MS = 200, ANSWER_MAX = 128 << 20, LIMIT_PARTS = 24, REHEARSAL_PARTS = 4 };
#define PROCESSOR_MAX (5 * USEC_PER_SEC)

struct work {
    struct studies *studies;
    struct api_study *study;
    struct work *next;
    struct copy copy;
    struct text answer;
    uv_poll_t poll;
    uv_timer_t timer;
    uint64_t deadline; /* of the loop's clock, in ms */
    unsigned handle_count;
};

struct studies {
    struct studies_options options;
    struct work *first;
    unsigned count;
    LIST(struct api_study *) waiting; /* in the order of their requests */
    bool is_closing;
};

/* ---- in the copy ---- */

static void say_failure(int fd, int code, const char *words)
{
    char text[ERROR_TEXT_SIZE + 32];

    int length = snprintf(text, sizeof(text), "-%d %s", -code, words);
    copy_write(fd, text, (size_t)length);
}

static void say_answer(int fd, json_t *answer)
{
    char *bytes = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9));

    if (bytes && copy_write(fd, "+", 1))
        copy_write(fd, bytes, strlen(bytes));
    free(bytes);
    json_decref(answer);
}

static int change(const struct work *work, struct forward *forward, struct error *err)
{
    const struct studies_options *options = &work->studies->options;
    struct forward_control in;

    forward_control_init(&in, forward, clock_wall_ahead(hub_clock(options->hub)));
    in.control.grace = options->grace;
    in.control.owner = options->owner;
    return forward_control_end(&in, work->study->change(work->study, &in.control, err), err);
}

static int prepare_change(void *user, struct forward *forward, bool is_change, struct error *err)
{
    return is_change ? change(user, forward, err) : 0;
}

static void describe(void *user, uint64_t id, json_t *view)
{
    const struct work *work = user;
    const struct state *state = hub_state(work->studies->options.hub);
    const struct job *job = state_job(state, id);
    AUTO_RELEASE(text) struct text label = { 0 };

    if (job)
        say_job(state, job, &label);
    else
        text_printf(&label, "%" PRIu64, id);
    json_object_set_new(view, "label", json_string(label.bytes));
    if (!job)
        return;
    json_object_set_new(view, "name", json_string(job->name));
    json_object_set_new(view, "user", json_string(state_user(state, job->user)));
    json_object_set_new(
        view, "gpus",
        json_real((double)request_milli(state_request(state, job), 0, 0) / GPU_MILLI));
}

/* Less than all the time that there is: an answer as far as it came is better than none. */
static usec_t processor_time(const struct studies *studies)
{
    usec_t part = studies->options.limit / LIMIT_PARTS;

    return part < PROCESSOR_MAX ? part : PROCESSOR_MAX;
}

/* What is added is there, and costs, until the last of the jobs ends. */
static json_t *view_added(const struct work *work, const struct outlook_ask *outlook)
{
    double per_hour = (double)work->study->rate / 1e6;
    usec_t until = outlook->from;

    if (work->study->rate == 0)
        return json_null();
    LIST_EACH (const struct forward_job, job, &outlook->change->jobs) {
        if (job->was_active || job->start >= 0)
            until = job->end > until && job->work != USEC_NEVER ? job->end : until;
    }
    return json_pack("{s:f, s:f, s:o}", "per_hour", per_hour, "cost",
                     per_hour * (double)(until - outlook->from) / (double)USEC_PER_HOUR, "until",
                     json_time(until + outlook->wall_ahead));
}

static int compare(struct work *work, const struct forward_options *forward, json_t **ret,
                   struct error *err)
{
    struct hub *hub = work->studies->options.hub;
    struct outlook_side now = { 0 }, change = { 0 };
    struct twice_ask ask = { .forward = *forward, .prepare = prepare_change, .user = work };

    int code = twice_go(&ask, &now, &change, err);
    if (code == 0) {
        struct outlook_ask outlook = { .now = &now,
                                       .change = &change,
                                       .user = work,
                                       .describe = describe,
                                       .from = forward->now,
                                       .wall_ahead = clock_wall_ahead(hub_clock(hub)),
                                       .shown = work->study->shown };
        *ret = outlook_view(&outlook);
        json_object_set_new(*ret, "from", json_time(forward->now + outlook.wall_ahead));
        json_object_set_new(*ret, "note", json_pack("s?", work->study->note));
        json_object_set_new(*ret, "added_nodes", view_added(work, &outlook));
    }
    return code;
}

/* This copy is changed for good. */
static int answer(const struct work *work, const struct forward_options *options, json_t **ret,
                  struct error *err)
{
    AUTO(forward) struct forward *forward = forward_create(options);

    int code = change(work, forward, err);
    if (code < 0)
        return code;
    forecaster_renew(work->studies->options.forecaster, options->processor);
    *ret = work->study->answer(work->study);
    return 0;
}

/* ---- several changes ---- */

struct turn {
    const struct work *work;
    const struct forward_options *options;
};

static void live_turn(void *user, int fd)
{
    const struct turn *turn = user;
    struct error err = { "" };
    json_t *said = NULL;

    int code = answer(turn->work, turn->options, &said, &err);
    if (code == 0)
        say_answer(fd, said);
    else
        say_failure(fd, code, err.text);
}

/* What was said in a copy; null: nothing. */
static json_t *take_turn(struct turn *turn, uint32_t number)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct copy copy;
    json_t *said = NULL;
    struct error err;

    turn->work->study->turn = number;
    if (copy_start(live_turn, turn, &copy, &err) < 0)
        return json_null();
    while (copy_read(&copy, &bytes))
        continue;
    copy_end(&copy);
    if (bytes.length > 1 && bytes.bytes[0] == '+')
        said = json_loadb(bytes.bytes + 1, bytes.length - 1, 0, NULL);
    return said ? said : json_null();
}

static json_t *answer_turns(const struct work *work, const struct forward_options *options)
{
    struct api_study *study = work->study;
    struct forward_options part = *options;
    struct turn turn = { work, &part };
    json_t *turns = json_array();

    part.processor = options->processor / study->turns;
    for (uint32_t i = 0; i < study->turns; i++)
        json_array_append_new(turns, take_turn(&turn, i));
    json_t *said = study->conclude(study, turns);
    json_decref(turns);
    return said;
}

static int work_out(struct work *work, json_t **ret, struct error *err)
{
    struct hub *hub = work->studies->options.hub;
    usec_t clock = clock_now(hub_clock(hub)), state = hub_state(hub)->now;
    struct forward_options options = { .state = hub_state(hub),
                                       .brain = hub_brain(hub),
                                       .now = clock > state ? clock : state,
                                       .processor = processor_time(work->studies),
                                       .user = work->studies->options.planned,
                                       .next = planned_next,
                                       .come = planned_come,
                                       .is_ambient = true };

    if (work->study->turns > 0) {
        *ret = answer_turns(work, &options);
        return 0;
    }
    return work->study->answer ? answer(work, &options, ret, err)
                               : compare(work, &options, ret, err);
}

/* The processor time is bounded as well: whatever becomes of the daemon. */
static void bound(const struct studies *studies)
{
    rlim_t seconds = (rlim_t)(studies->options.limit / USEC_PER_SEC) + 2;
    struct rlimit limit = { seconds, seconds };

    setrlimit(RLIMIT_CPU, &limit);
}

static void live_what_if(void *user, int fd)
{
    struct work *work = user;
    struct error err = { "" };
    json_t *answer = NULL;

    bound(work->studies);
    int code = work_out(work, &answer, &err);
    if (code == 0)
        say_answer(fd, answer);
    else
        say_failure(fd, code, err.text);
}

static json_t *question_of(const struct work *work)
{
    const struct studies_options *options = &work->studies->options;
    const struct clock *clock = hub_clock(options->hub);
    const struct api_study *study = work->study;

    json_t *question =
        json_pack("{s:s, s:I, s:I, s:I, s:s?}", "dir", options->state_dir, "now",
                  (json_int_t)clock_now(clock), "last", (json_int_t)study->last, "wall_ahead",
                  (json_int_t)clock_wall_ahead(clock), "hides_from", study->hides_from);
    if (study->report) {
        json_object_update(question, study->report);
        return question;
    }
    json_object_set_new(question, "processor",
                        json_integer((json_int_t)(options->limit / REHEARSAL_PARTS)));
    json_object_set_new(question, "shown", json_integer((json_int_t)study->shown));
    json_object_set(question, "old", study->old_config);
    json_object_set(question, "new", study->new_config);
    return question;
}

/* A new program: what SQLite keeps of our journal must not be used by two processes. */
static void live_program(void *user, int fd)
{
    bool is_report = ((struct work *)user)->study->report != NULL;
    char *const words[] = { (char[]){ "tarn" },
                            is_report ? (char[]){ "--report" } : (char[]){ "--rehearse" }, NULL };
    json_t *question = question_of(user);
    char *bytes = json_dumps(question, JSON_COMPACT);
    int input = memfd_create("question", 0);

    bound(((struct work *)user)->studies);
    if (!bytes || input < 0 || !copy_write(input, bytes, strlen(bytes)) ||
        lseek(input, 0, SEEK_SET) < 0 || dup2(input, STDIN_FILENO) < 0 ||
        dup2(fd, STDOUT_FILENO) < 0) {
        say_failure(fd, -EIO, "the study cannot be started");
        return;
    }
    execv("/proc/self/exe", words);
    say_failure(fd, -EIO, "the study cannot be started: /proc/self/exe");
}

/* ---- in the daemon ---- */

static void on_closed(uv_handle_t *handle)
{
    struct work *work = handle->data;

    if (--work->handle_count > 0)
        return;
    text_release(&work->answer);
    free(work);
}

static void leave(struct work *work)
{
    struct work **at = &work->studies->first;

    while (*at != work)
        at = &(*at)->next;
    *at = work->next;
    work->studies->count--;
}

static void start_waiting(struct studies *studies);

static void end_work(struct work *work, int code, const struct error *err)
{
    struct studies *studies = work->studies;
    struct api_study *study = work->study;

    uv_poll_stop(&work->poll);
    copy_end(&work->copy);
    leave(work);
    uv_close((uv_handle_t *)&work->poll, on_closed);
    uv_close((uv_handle_t *)&work->timer, on_closed);
    study->done(study, code, code == 0 ? &work->answer : NULL, err);
    start_waiting(studies);
}

/* All was said: "+" and the answer, or "-" with a code and words. */
static void finish(struct work *work)
{
    char *bytes = work->answer.bytes, *end = NULL;
    struct error err = { "" };

    if (work->answer.length > 0 && bytes[0] == '+') {
        memmove(bytes, bytes + 1, work->answer.length); /* with the NUL */
        work->answer.length--;
        end_work(work, 0, NULL);
        return;
    }
    long code = work->answer.length > 1 && bytes[0] == '-' ? strtol(bytes + 1, &end, 10) : 0;
    if (code > 0)
        error_set(&err, -(int)code, "%s", *end == ' ' ? end + 1 : end);
    else
        error_set(&err, -EIO, "the study ended without an answer");
    end_work(work, code > 0 ? -(int)code : -EIO, &err);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct work *work = poll->data;
    struct error err;

    (void)status;
    (void)events;
    if (!copy_read(&work->copy, &work->answer))
        finish(work);
    else if (work->answer.length > ANSWER_MAX)
        end_work(work, error_set(&err, -E2BIG, "the answer is longer than %d bytes", ANSWER_MAX),
                 &err);
}

static void on_look(uv_timer_t *timer)
{
    struct work *work = timer->data;
    char limit[UNITS_TEXT_SIZE];
    struct error err;

    if (work->study->is_left(work->study)) {
        end_work(work, error_set(&err, -ECANCELED, "the client has left"), &err);
        return;
    }
    if (uv_now(work->studies->options.loop) < work->deadline)
        return;
    log_line(LOG_WARNING, "a study took too long and was ended user=%s", work->study->who->name);
    units_format_duration(limit, work->studies->options.limit);
    end_work(work, error_set(&err, -ETIMEDOUT, "it took longer than %s, and was ended", limit),
             &err);
}

/* Those of several turns are a part of an answer that is wanted now, and short. */
static int check_count(const struct studies *studies, const struct api_study *study,
                       struct error *err)
{
    const struct identity *who = study->who;
    unsigned most = study->turns > 0 ? STUDIES_MAX + STUDIES_OF_TURNS_MAX : STUDIES_MAX;

    if (studies->count >= most)
        return error_set(err, -EDQUOT, "%d studies are running already; try again", STUDIES_MAX);
    for (const struct work *at = studies->first; at; at = at->next) {
        if (!who->is_admin && study->turns == 0 && at->study->turns == 0 &&
            identity_owns(at->study->who, who->uid))
            return error_set(err, -EDQUOT, "a study of yours is running already; try again");
    }
    return 0;
}

static void watch(struct work *work)
{
    uv_loop_t *loop = work->studies->options.loop;

    fcntl(work->copy.fd, F_SETFL, O_NONBLOCK);
    uv_poll_init(loop, &work->poll, work->copy.fd);
    uv_timer_init(loop, &work->timer);
    work->poll.data = work->timer.data = work;
    work->handle_count = 2;
    work->deadline = uv_now(loop) + (uint64_t)(work->studies->options.limit / USEC_PER_MS);
    uv_poll_start(&work->poll, UV_READABLE | UV_DISCONNECT, on_readable);
    uv_timer_start(&work->timer, on_look, LOOK_MS, LOOK_MS);
}

static int begin(struct studies *studies, struct api_study *study, struct error *err)
{
    if (study->complete)
        study->complete(study);
    struct work *work = mem_zero(1, sizeof(*work));
    *work = (struct work){ .studies = studies, .study = study };
    planned_read(studies->options.planned);
    int code = copy_start(study->change ? live_what_if : live_program, work, &work->copy, err);
    if (code < 0) {
        free(work);
        return error_prefix(err, code, "study");
    }
    work->next = studies->first;
    studies->first = work;
    studies->count++;
    watch(work);
    return 0;
}

/* Those whose turn it is. */
static void start_waiting(struct studies *studies)
{
    for (size_t i = 0; !studies->is_closing && i < studies->waiting.count;) {
        struct api_study *study = studies->waiting.items[i];
        struct error err;
        if (check_count(studies, study, &err) < 0) {
            i++;
            continue;
        }
        list_remove(&studies->waiting, i);
        int code = study->is_left(study) ? error_set(&err, -ECANCELED, "the client has left")
                                         : begin(studies, study, &err);
        if (code < 0)
            study->done(study, code, NULL, &err);
    }
}

int studies_start(void *user, struct api_study *study, struct error *err)
{
    struct studies *studies = user;

    int code = check_count(studies, study, err);
    if (code < 0 && study->answer && studies->waiting.count < STUDIES_WAITING_MAX) {
        list_add(&studies->waiting, study);
        return 0;
    }
    return code < 0 ? code : begin(studies, study, err);
}

struct studies *studies_create(const struct studies_options *options)
{
    struct studies *studies = mem_zero(1, sizeof(*studies));

    studies->options = *options;
    return studies;
}

void studies_destroy(struct studies *studies)
{
    struct error err = { "" };

    if (!studies)
        return;
    error_set(&err, -ESHUTDOWN, "the daemon is stopping");
    studies->is_closing = true;
    while (studies->first)
        end_work(studies->first, -ESHUTDOWN, &err);
    for (size_t i = 0; i < studies->waiting.count; i++)
        studies->waiting.items[i]->done(studies->waiting.items[i], -ESHUTDOWN, NULL, &err);
    list_release(&studies->waiting);
    free(studies);
}
