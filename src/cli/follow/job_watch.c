/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/job_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static int connect_events(struct watch *watch, struct error *err)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/events", watch->id);

    return client_stream_open(watch->session->client, path, &watch->events, err);
}

int watch_open(struct watch *watch, struct session *session, const char *id, struct error *err)
{
    *watch = (struct watch){ .session = session };
    snprintf(watch->id, sizeof(watch->id), "%s", id);
    return connect_events(watch, err);
}

void watch_close(struct watch *watch)
{
    client_stream_close(&watch->events);
}

json_t *watch_take(struct watch *watch, bool *ret_is_group)
{
    struct client_event event;
    json_t *value = NULL;

    while (!value && watch->events.status < 400 && client_event_take(&watch->events, &event)) {
        *ret_is_group = strcmp(event.name, "group") == 0;
        if (json_parse(event.data, strlen(event.data), CLIENT_REPLY_MAX, NULL, &value, NULL) < 0)
            value = NULL;
        client_event_release(&event);
        watch->away_since = 0;
    }
    return value;
}

bool watch_is_over(const struct watch *watch)
{
    return watch->events.is_over;
}

int watch_mend(struct watch *watch, struct error *err)
{
    const struct client_stream *events = &watch->events;

    if (events->status >= 400)
        return refusal_read(events->status, text_string(&events->bytes), events->bytes.length, err);
    if (watch->away_since == 0) {
        watch->away_since = time(NULL);
    } else if (time(NULL) - watch->away_since > WATCH_AWAY_S) {
        return error_set(err, -ENODATA,
                         "the daemon has gone; tarn up starts it, tarn logs -f %s goes on",
                         watch->id);
    }
    client_stream_close(&watch->events);
    int code = client_wait(watch->session->client, WATCH_PAUSE_MS, err);
    if (code < 0 && code != -EINTR)
        return code;
    return connect_events(watch, err);
}
