/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/health.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"

enum {
    REASON_HW_SLOWDOWN = 0x8,
    REASON_HW_THERMAL = 0x40,
    REASON_POWER_BRAKE = 0x80,
    TEN_MINUTES_S = 600,
    MIB_SHIFT = 20,
};

/* ---- the lists ---- */

enum effect { DRAINS, TELLS };
enum end { STAYS, PASSES };

#define FAULT(ID, name, severity, effect, end, harm, words)                                        \
    [FAULT_##ID] = { name, words, HEALTH_##severity, effect, end, HARM_##harm },
static const struct {
    const char *name, *words;
    enum health_severity severity;
    enum effect effect;
    enum end end;
    enum harm harm;
} faults[FAULTS] = {
#include "core/health/fault.def"
};
#undef FAULT

#define XID(first, last, action, words) { first, last, XID_##action, words },
static const struct {
    uint32_t first, last;
    enum xid_action action;
    const char *words;
} xids[] = {
#include "core/health/xid.def"
};
#undef XID

const char *fault_name(enum health_fault fault)
{
    return faults[fault].name;
}

const char *fault_words(enum health_fault fault)
{
    return faults[fault].words;
}

enum health_severity fault_severity(enum health_fault fault)
{
    return faults[fault].severity;
}

bool fault_drains(enum health_fault fault)
{
    return faults[fault].effect == DRAINS;
}

uint32_t fault_mask_stays(void)
{
    uint32_t mask = 0;

    for (enum health_fault i = 0; i < FAULTS; i++)
        mask |= faults[i].end == STAYS ? UINT32_C(1) << i : 0;
    return mask;
}

/* An unknown XID is for support. */
enum xid_action xid_action(uint32_t xid)
{
    for (size_t i = 0; i < COUNT_OF(xids); i++) {
        if (xid >= xids[i].first && xid <= xids[i].last)
            return xids[i].action;
    }
    return XID_SUPPORT;
}

const char *xid_words(uint32_t xid)
{
    for (size_t i = 0; i < COUNT_OF(xids); i++) {
        if (xid >= xids[i].first && xid <= xids[i].last)
            return xids[i].words;
    }
    return "";
}

DEFINE_NAMES(xid_action_name, enum xid_action, "none", "restart_app", "reset_gpu", "reboot",
             "recovery_action", "contact_support")

/* ---- faults come and go ---- */

static uint32_t bit(enum health_fault fault)
{
    return UINT32_C(1) << fault;
}

/* It is seen now, or not; it holds once it was seen for so long. */
static void see(struct health *health, enum health_fault fault, bool is_seen, usec_t now,
                usec_t least)
{
    if (!is_seen) {
        health->pending &= ~bit(fault);
        if (faults[fault].end == PASSES)
            health->faults &= ~bit(fault);
        return;
    }
    if ((health->faults & bit(fault)) != 0)
        return;
    if ((health->pending & bit(fault)) == 0)
        health->since[fault] = now;
    health->pending |= bit(fault);
    if (now - health->since[fault] >= least)
        health->faults |= bit(fault);
}

static bool is_above(const struct reading *reading, enum reading_id id, int64_t most)
{
    return reading_has(reading, id) && reading->values[id] > most;
}

/* A driver that started anew counts from 0: whatever needed a reset has had it. */
static bool was_reset(const struct health *health, const struct reading *reading)
{
    return health->is_known && reading_has(reading, READING_ENERGY) &&
           reading->values[READING_ENERGY] < health->energy;
}

static void judge_errors(struct health *health, const struct health_ask *ask)
{
    const struct reading *now = ask->reading;

    see(health, FAULT_ECC_UNCORRECTED,
        reading_grown(now, &health->first, READING_ECC_UNCORRECTED) > 0, ask->now, 0);
    see(health, FAULT_SRAM, is_above(now, READING_SRAM_THRESHOLD, 0), ask->now, 0);
    see(health, FAULT_ROW_FAILURE, is_above(now, READING_ROW_REMAP_FAILURE, 0), ask->now, 0);
    see(health, FAULT_ROW_PENDING,
        is_above(now, READING_ROW_REMAP_PENDING, 0) || is_above(now, READING_PAGES_PENDING, 0),
        ask->now, 0);
    see(health, FAULT_RECOVERY, is_above(now, READING_RECOVERY_ACTION, 0), ask->now, 0);
    see(health, FAULT_ECC_STORM,
        reading_grown(now, &health->mark, READING_ECC_CORRECTED) > HEALTH_ECC_STORM, ask->now, 0);
}

static void judge_links(struct health *health, const struct health_ask *ask)
{
    const struct reading *now = ask->reading;
    int64_t up = reading_has(now, READING_NVLINKS_UP) ? now->values[READING_NVLINKS_UP] : -1;

    if (up > (int64_t)health->links_most)
        health->links_most = (uint32_t)up;
    see(health, FAULT_LINK_DOWN, up >= 0 && up < (int64_t)health->links_most, ask->now,
        HEALTH_HOT_S * USEC_PER_SEC);
    see(health, FAULT_LINK_ERRORS,
        reading_grown(now, &health->mark, READING_NVLINK_REPLAYS) +
                reading_grown(now, &health->mark, READING_NVLINK_RECOVERIES) >
            HEALTH_LINK_ERRORS,
        ask->now, 0);
    /* Lanes: a link that idles gives up speed (its generation), not width. */
    see(health, FAULT_PCIE,
        reading_has(now, READING_PCIE_WIDTH) && reading_has(now, READING_PCIE_WIDTH_MAX) &&
            now->values[READING_PCIE_WIDTH] < now->values[READING_PCIE_WIDTH_MAX],
        ask->now, TEN_MINUTES_S * USEC_PER_SEC);
}

static void judge_heat(struct health *health, const struct health_ask *ask)
{
    const struct reading *now = ask->reading;
    int64_t most = reading_has(now, READING_SLOWDOWN_TEMPERATURE)
                       ? now->values[READING_SLOWDOWN_TEMPERATURE] - HEALTH_HOT_MARGIN
                       : HEALTH_HOT_ANY;
    int64_t reasons =
        reading_has(now, READING_CLOCK_REASONS) ? now->values[READING_CLOCK_REASONS] : 0;

    see(health, FAULT_HOT, is_above(now, READING_TEMPERATURE, most - 1), ask->now,
        HEALTH_HOT_S * USEC_PER_SEC);
    see(health, FAULT_SLOWDOWN, (reasons & (REASON_HW_SLOWDOWN | REASON_HW_THERMAL)) != 0, ask->now,
        HEALTH_SLOW_S * USEC_PER_SEC);
    see(health, FAULT_POWER_BRAKE, (reasons & REASON_POWER_BRAKE) != 0, ask->now,
        HEALTH_SLOW_S * USEC_PER_SEC);
}

static void judge_users(struct health *health, const struct health_ask *ask)
{
    see(health, FAULT_FOREIGN, ask->foreign_mib >= HEALTH_FOREIGN_MIB, ask->now, 0);
    see(health, FAULT_LEFT, ask->has_left, ask->now, HEALTH_LEFT_S * USEC_PER_SEC);
    see(health, FAULT_LEAK, !ask->is_leased && ask->unowned_mib >= HEALTH_CONTEXT_MIB, ask->now,
        HEALTH_SILENT_S * USEC_PER_SEC);
}

static void judge_reading(struct health *health, const struct health_ask *ask)
{
    if (was_reset(health, ask->reading)) {
        health_clear(health);
        health->is_known = false;
    }
    if (!health->is_known)
        health->first = health->mark = *ask->reading;
    health->is_known = true;
    health->energy =
        reading_has(ask->reading, READING_ENERGY) ? ask->reading->values[READING_ENERGY] : -1;
    if (ask->reading->at - health->mark.at > TEN_MINUTES_S * USEC_PER_SEC)
        health->mark = *ask->reading;
    judge_errors(health, ask);
    judge_links(health, ask);
    judge_heat(health, ask);
    judge_users(health, ask);
    if (ask->now - health->since[FAULT_APP] > TEN_MINUTES_S * USEC_PER_SEC)
        health->faults &= ~bit(FAULT_APP);
}

uint32_t health_judge(struct health *health, const struct health_ask *ask)
{
    uint32_t before = health->faults;

    see(health, FAULT_LOST, ask->code == -ENODEV, ask->now, 0);
    see(health, FAULT_SILENT, ask->silent >= HEALTH_SILENT_S * USEC_PER_SEC, ask->now, 0);
    if (ask->code == -EIO)
        see(health, FAULT_RESET, true, ask->now, 0);
    if (ask->reading && ask->code == 0)
        judge_reading(health, ask);
    return health->faults & ~before;
}

enum health_fault health_xid(struct health *health, uint32_t xid, usec_t now)
{
    static const enum health_fault of[] = {
        [XID_NONE] = FAULTS,         [XID_APP] = FAULT_APP, [XID_RESET] = FAULT_RESET,
        [XID_REBOOT] = FAULT_REBOOT, [XID_ASK] = FAULTS,    [XID_SUPPORT] = FAULT_SUPPORT,
    };
    enum health_fault fault = of[xid_action(xid)];

    if (fault == FAULTS)
        return FAULTS;
    if (fault_drains(fault) || health_worst(health) == FAULTS)
        health->xid = xid;
    health->faults |= bit(fault);
    health->since[fault] = now;
    return fault;
}

void health_check_failed(struct health *health, usec_t now)
{
    health->faults |= bit(FAULT_CHECK);
    health->since[FAULT_CHECK] = now;
}

bool health_is_seen(const struct health *health, enum health_fault fault)
{
    return ((health->faults | health->pending) & bit(fault)) != 0;
}

void health_change(struct health *health, bool is_changing, usec_t now)
{
    see(health, FAULT_CHANGING, is_changing, now, 0);
}

void health_clear(struct health *health)
{
    for (enum health_fault i = 0; i < FAULTS; i++) {
        if (faults[i].end == STAYS)
            health->faults &= ~bit(i);
    }
    health->pending = 0;
    health->xid = 0;
    health->is_known = false;
}

enum health_fault health_worst(const struct health *health)
{
    for (enum health_fault i = 0; i < FAULTS; i++) {
        if ((health->faults & bit(i)) != 0 && fault_drains(i))
            return i;
    }
    return FAULTS;
}

enum harm health_harm(const struct health *health)
{
    enum harm worst = HARM_NONE;

    for (enum health_fault i = 0; i < FAULTS; i++) {
        if ((health->faults & bit(i)) != 0 && fault_drains(i) && faults[i].harm > worst)
            worst = faults[i].harm;
    }
    return worst;
}

bool health_is_of_xid(const struct health *health, enum health_fault fault)
{
    return health->xid > 0 &&
           (fault == FAULT_RESET || fault == FAULT_REBOOT || fault == FAULT_SUPPORT);
}

void health_say(const struct health *health, enum health_fault fault, char *ret, size_t size)
{
    const char *words = xid_words(health->xid);

    if (health_is_of_xid(health, fault))
        snprintf(ret, size, "XID %" PRIu32 "%s%s; %s", health->xid, words[0] ? ": " : "", words,
                 fault_words(fault));
    else
        snprintf(ret, size, "%s", fault_words(fault));
}
