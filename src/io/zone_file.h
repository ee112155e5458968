/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_ZONE_FILE_H
#define IO_ZONE_FILE_H

/* zone_file - loads time zones from the machine's database
 *
 * "UTC" needs no file. "local" is this machine's: TZ (a name or a rule, as in the C library), else
 * /etc/localtime, else UTC. Every other name is a file under TZDIR, or /usr/share/zoneinfo where
 * that is not set.
 */

#include "time/zone.h"

/* Fails with -EINVAL (invalid name, not a zone file), -ENOENT (no such zone), or as reading does.
 */
int zone_load(const char *name, struct zone **ret, struct error *err);

#endif
