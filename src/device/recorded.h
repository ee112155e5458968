/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_RECORDED_H
#define DEVICE_RECORDED_H

/* recorded - the devices of another machine, as `tarn gpus --record` saved them
 *
 * They are listed with their recorded properties: names, memory, distances and last readings. They
 * are not real: each is marked as synthetic, and its product begins with RECORDED_PREFIX. Their
 * processes are not replayed.
 *
 * Owner:   the caller; destroy through the port
 * Limits:  RECORDED_DEVICES_MAX devices
 * Spec:    doc/spec/09-recording.md
 */

#include "core/probe.h"

#define RECORDED_PREFIX "Recorded "

enum { RECORDED_DEVICES_MAX = 1024, RECORDED_VERSION = 1 };

/* words: "recorded:FILE" or "FILE". Fails with the codes of open(), and with -EINVAL if the file is
 * not a recording, has another version or has an invalid value; the message contains the place. */
int probe_recorded_create(const char *words, struct probe **ret, struct error *err);

#endif
