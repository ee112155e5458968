/* SPDX-License-Identifier: Apache-2.0 */
/* One watched device: the owners of its processes, and what the journal has to be told. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/log.h"
#include "node/prepare.h"
#include "node/watcher_inside.h"

enum { KNOWN_S = 30 }; /* the owner of a process is looked up again after that */

const struct state *watcher_state(const struct watcher *watcher)
{
    return node_port_state(&watcher->options.port);
}

bool watcher_member(const struct watcher *watcher, uint32_t pid, struct member_id *ret)
{
    struct engine *engine = watcher->options.engine;
    uint32_t uid = UINT32_MAX, own = geteuid();

    if (!engine->ops->owner || !engine->ops->owner(engine, pid, ret, &uid))
        return false;
    const struct job *job = state_job(watcher_state(watcher), ret->job);
    return uid == UINT32_MAX || (job && uid == (own == 0 ? job->uid : own));
}

const struct known_process *watcher_owner(struct watcher *watcher, struct watched *watched,
                                          uint32_t pid)
{
    struct known_process now = { .pid = pid, .asked = sampler_now() };
    size_t place = watched->known.count;

    for (size_t i = 0; i < watched->known.count; i++) {
        struct known_process *known = &watched->known.items[i];
        if (known->pid != pid)
            continue;
        if (now.asked - known->asked < KNOWN_S * USEC_PER_SEC)
            return known;
        place = i;
    }
    now.is_ours = watcher_member(watcher, pid, &now.id);
    now.is_server =
        !now.is_ours && !watched->is_remote &&
        preparer_is_server(watcher->options.preparer, (uint32_t)(watched - watcher->devices), pid);
    if (place == watched->known.count)
        list_add(&watched->known, now);
    else
        watched->known.items[place] = now;
    return &watched->known.items[place];
}

int64_t watcher_unowned(const struct watched *watched)
{
    return watched->has_processes
               ? watch_unowned(&watched->reading, watched->processes, watched->process_count)
               : -1;
}

void watcher_ask(struct watcher *watcher, const struct watched *watched)
{
    if (!watched->is_remote)
        sampler_ask_one(watcher->sampler, (uint32_t)(watched - watcher->devices));
}

struct watched *watcher_find(const struct watcher *watcher, uint32_t device)
{
    uint64_t place;

    if (!map_get(&watcher->by_device, device, &place))
        return NULL;
    return watcher->devices[place].device == device ? &watcher->devices[place] : NULL;
}

/* With what the driver said where that was a failure. */
static void say_fault(const struct watched *watched, enum health_fault fault, char *ret,
                      size_t size)
{
    bool has_words = fault != FAULT_LOST && fault != FAULT_SILENT && watched->code != 0;

    if (fault == FAULT_LEFT)
        snprintf(ret, size, "%s", watched->handover.words);
    else if (fault == FAULT_CHECK)
        snprintf(ret, size, "%s", watched->checked);
    else if (has_words && !health_is_of_xid(&watched->health, fault))
        snprintf(ret, size, "%s: %.60s", fault_words(fault), watched->err.text);
    else
        health_say(&watched->health, fault, ret, size);
}

static uint32_t lasting(const struct health *health)
{
    return health->faults & fault_mask_stays();
}

/* Once per change, also while the state cannot follow because the disk is full. What an engine says
 * of an occupied device is no change here. */
static void log_change(struct watched *watched, const char *sick, bool is_occupied)
{
    if (is_occupied || strcmp(watched->said, sick) == 0)
        return;
    snprintf(watched->said, sizeof(watched->said), "%s", sick);
    log_line(sick[0] ? LOG_WARNING : LOG_NOTICE, "%s device=%s reason='%s'",
             sick[0] ? "a device is excluded from allocation" : "a device can be allocated again",
             watched->uuid, sick);
}

bool watcher_news(struct watcher *watcher, struct watched *watched, char *sick, struct event *ret)
{
    const struct state *state = watcher_state(watcher);
    const struct device *device = &state->devices.items[watched->device];
    enum health_fault worst = health_worst(&watched->health);
    int64_t foreign = watched->has_processes ? watched->foreign_mib : device->foreign_mib;
    /* What grows and shrinks by little is no news. */
    int64_t change = foreign - device->foreign_mib;
    bool is_foreign_news = (foreign == 0) != (device->foreign_mib == 0) ||
                           change > HEALTH_FOREIGN_MIB || change < -HEALTH_FOREIGN_MIB;

    sick[0] = '\0';
    if (device->is_occupied)
        snprintf(sick, WATCHER_WORDS_SIZE, "%s", device->sick);
    else if (worst != FAULTS)
        say_fault(watched, worst, sick, WATCHER_WORDS_SIZE);
    string_clean(sick, WATCHER_WORDS_SIZE, sick, strlen(sick)); /* as the state has it */
    bool is_news = strcmp(device->sick ? device->sick : "", sick) != 0;
    log_change(watched, sick, device->is_occupied);
    if (!is_news && !is_foreign_news && device->faults == lasting(&watched->health) &&
        device->harm == health_harm(&watched->health))
        return false;
    *ret = (struct event){ .kind = EVENT_DEVICE };
    state_describe_device(state, device, &ret->device);
    ret->device.sick = sick;
    ret->device.foreign_mib = foreign;
    ret->device.faults = lasting(&watched->health);
    ret->device.xid = ret->device.faults ? watched->health.xid : 0;
    ret->device.boot = watcher->options.boot;
    ret->device.harm = sick[0] ? (uint8_t)health_harm(&watched->health) : HARM_NONE;
    return true;
}

void watcher_report(struct watcher *watcher, struct watched *watched)
{
    char sick[WATCHER_WORDS_SIZE];
    struct event event;

    if (watcher_news(watcher, watched, sick, &event))
        node_port_report(&watcher->options.port, &event);
}
