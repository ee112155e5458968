/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_EXPORTER_EXPORTER_ANSWER_H
#define ENGINE_EXPORTER_EXPORTER_ANSWER_H

/* exporter_answer - the answer of `tarn exporter` to GET /v1/gpus (doc/spec/10-api-reference.md) */

#include "base/error.h"
#include "base/mem.h"
#include "core/device_watch.h"
#include "core/probe.h"

struct exporter_device {
    uint32_t index;
    char uuid[PROBE_UUID_SIZE]; /* "": not stated */
    char pod[WATCH_POD_SIZE];   /* UID of the Kubernetes pod that has it; "": none, or not known */
    int64_t memory_mib;         /* PROBE_UNKNOWN */
    struct reading reading;     /* at: its age; has: 0 if there is none */
    bool is_read;               /* there is a reading */
    int code;                   /* as of probe_ops.sample */
    char trouble[120];
    struct watch_xid xids[WATCH_XIDS_MAX];
    uint32_t xid_count;
};

struct exporter_answer {
    LIST(struct exporter_device) devices;
};

/* Values that are not known to this version are left out. Fails with -EINVAL. */
int exporter_answer_read(const char *bytes, size_t length, struct exporter_answer *ret,
                         struct error *err);
void exporter_answer_release(struct exporter_answer *answer);

#endif
