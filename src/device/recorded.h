/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_RECORDED_H
#define DEVICE_RECORDED_H

/* recorded - the devices of another machine, as `tarn gpus --record` saved them
 *
 * They are listed with what was known of them: names, memory, how near they are, what they last
 * said. Nothing real is behind them: each says that it is synthetic, and its product begins with
 * RECORDED_PREFIX. Their processes are not replayed.
 *
 * Owner:   the caller; destroy through the port
 * Limits:  RECORDED_DEVICES_MAX devices
 * Spec:    doc/spec/09-recording.md
 */

#include "core/probe.h"

#define RECORDED_PREFIX "Recorded "

enum { RECORDED_DEVICES_MAX = 1024, RECORDED_VERSION = 1 };

/* words: "recorded:FILE" or "FILE". Fails as open does, and with -EINVAL: it is no recording, is of
 * another version, or says something that can't be; the file and the place in it are named. */
int probe_recorded_create(const char *words, struct probe **ret, struct error *err);

#endif
