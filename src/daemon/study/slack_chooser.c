/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/study/slack_chooser.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "daemon/hub.h"
#include "daemon/study/processor_allowance.h"
#include "forecast/lookahead.h"
#include "io/copy_reader.h"
#include "io/log.h"

enum {
    COPY_SECONDS = 2, /* of processor time; more is a bug */
    COPY_MS = 10000,  /* of any time: something stopped it */
};

struct slack_chooser {
    uv_loop_t *loop;
    struct hub *hub;
    struct copy_reader reader;
    struct processor_allowance allowance;
    uint64_t looked_at; /* the number of the next job at the last look, */
    uint64_t began;     /* and the loop's time, in ms */
};

/* What the copy says. */
struct said {
    int64_t code;
    usec_t processor;
    struct lookahead look;
};

static void look(void *user, int fd)
{
    struct slack_chooser *chooser = user;
    struct rlimit limit = { COPY_SECONDS, COPY_SECONDS };
    struct state *state = hub_state(chooser->hub);
    usec_t now = clock_now(hub_clock(chooser->hub));
    struct lookahead_ask ask = { .state = state,
                                 .brain = hub_brain(chooser->hub),
                                 .now = now > state->now ? now : state->now,
                                 .processor = CHOOSER_PROCESSOR };
    struct said said = { 0 };
    struct error err;

    setrlimit(RLIMIT_CPU, &limit);
    said.code = lookahead_make(&ask, &said.look, &err);
    said.processor = copy_processor_time();
    copy_write(fd, &said, sizeof(said));
}

static void on_said(void *user, struct text bytes)
{
    struct slack_chooser *chooser = user;
    struct said said = { .code = -1, .processor = CHOOSER_PROCESSOR };

    if (bytes.length == sizeof(said))
        memcpy(&said, bytes.bytes, sizeof(said));
    text_release(&bytes);
    chooser->allowance.left -= said.processor;
    if (said.code < 0 || !said.look.is_other)
        return;
    hub_report(chooser->hub, &(struct event){ .kind = EVENT_SLACK, .slack = said.look.choice });
}

void slack_chooser_changed(struct slack_chooser *chooser)
{
    const struct state *state = hub_state(chooser->hub);
    struct error err;

    if (chooser->reader.is_running && uv_now(chooser->loop) - chooser->began > COPY_MS)
        copy_reader_finish(&chooser->reader);
    if (chooser->reader.is_running || !lookahead_is_due(state, chooser->looked_at))
        return;
    processor_allowance_count(&chooser->allowance, chooser->loop);
    if (chooser->allowance.left < CHOOSER_PROCESSOR)
        return;
    uint64_t began = uv_hrtime();
    chooser->looked_at = state->next_id;
    chooser->began = uv_now(chooser->loop);
    if (copy_reader_start(&chooser->reader, chooser->loop, look, on_said, chooser, &err) < 0) {
        log_line(LOG_WARNING, "looking ahead could not be started reason='%s'", err.text);
        chooser->allowance.left = 0;
        return;
    }
    chooser->allowance.left -= (usec_t)((uv_hrtime() - began) / 1000);
}

struct slack_chooser *slack_chooser_create(uv_loop_t *loop, struct hub *hub)
{
    struct slack_chooser *chooser = mem_zero(1, sizeof(*chooser));

    *chooser = (struct slack_chooser){ .loop = loop,
                                       .hub = hub,
                                       .allowance = processor_allowance_full(loop) };
    return chooser;
}

void slack_chooser_destroy(struct slack_chooser *chooser)
{
    if (!chooser)
        return;
    copy_reader_stop(&chooser->reader);
    free(chooser);
}
