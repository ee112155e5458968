/* SPDX-License-Identifier: Apache-2.0 */
#include "core/probe.h"

#include <inttypes.h>
#include <stdio.h>

const char *probe_link_word(struct probe_link link, char *buffer, size_t size)
{
    static const char *const words[] = {
        [PROBE_NEAR_SELF] = "X",     [PROBE_NEAR_LINK] = "NV",      [PROBE_NEAR_BOARD] = "PIX",
        [PROBE_NEAR_SWITCH] = "PIX", [PROBE_NEAR_SWITCHES] = "PXB", [PROBE_NEAR_BRIDGE] = "PHB",
        [PROBE_NEAR_NUMA] = "NODE",  [PROBE_NEAR_MACHINE] = "SYS",  [PROBE_NEAR_UNKNOWN] = "?",
    };

    if (link.near == PROBE_NEAR_LINK)
        snprintf(buffer, size, "NV%" PRIu32, link.links);
    else
        snprintf(buffer, size, "%s", words[link.near]);
    return buffer;
}
