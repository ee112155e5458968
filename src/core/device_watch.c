/* SPDX-License-Identifier: Apache-2.0 */
#include "core/device_watch.h"

void watch_count_xid(struct watch_xid *xids, uint32_t *count, uint32_t xid)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (xids[i].xid == xid) {
            xids[i].count++;
            return;
        }
    }
    if (*count < WATCH_XIDS_MAX)
        xids[(*count)++] = (struct watch_xid){ xid, 1 };
}

int64_t watch_unowned(const struct reading *reading, const struct probe_process *processes,
                      uint32_t count)
{
    if (!reading_has(reading, READING_MEMORY_USED))
        return -1;
    int64_t used = reading->values[READING_MEMORY_USED] >> 20;
    for (uint32_t i = 0; i < count; i++) {
        if (processes[i].memory_bytes < 0)
            return -1; /* it has some, of unknown size */
        used -= processes[i].memory_bytes >> 20;
    }
    return used > 0 ? used : 0;
}
