/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_READINGS_H
#define STORE_READINGS_H

/* readings - history of device readings: the last hour per second, 30 days per minute
 *
 * It is a separate file beside the journal, which it never delays: it is written once a minute,
 * without waiting for the disk, so a crash may lose the last minute. A minute has the mean and the
 * maximum of each reading (of a counter the last value); its seconds are kept in compressed form
 * for an hour. At its size limit the file loses its oldest days. A file that cannot be used is put
 * aside (store/side.h), because no job depends on it.
 *
 * Times are wall time, microseconds since 1970.
 *
 * Order of calls:  open, (add | query)*, close
 * Limits:          READINGS_DEVICES_MAX devices; READINGS_BYTES_MAX by default
 */

#include "base/text.h"
#include "core/health/reading.h"

struct readings;

enum { READINGS_DEVICES_MAX = 4096, READINGS_DAYS = 30, READINGS_SECONDS = 3600 };

#define READINGS_BYTES_MAX (INT64_C(256) << 20)

/* Fails with -EIO and a message. bytes_max 0: READINGS_BYTES_MAX. */
int readings_open(const char *path, int64_t bytes_max, struct readings **ret, struct error *err);
void readings_close(struct readings *readings); /* stores the current minute; accepts NULL */

/* Add a reading of a device (its UUID). The readings of a device must be added in order of time. */
void readings_add(void *readings, const char *uuid, usec_t at, const struct reading *reading);

/* Calls fn for each step. */
int readings_query(void *readings, const struct reading_query *query, reading_fn *fn, void *user,
                   struct error *err);

int64_t readings_bytes(struct readings *readings); /* of the file */

#endif
