/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_SILENCES_H
#define DAEMON_ALERT_SILENCES_H

/* silences - what administrators want to hear nothing of for a while, over restarts of the daemon
 *
 * A small file of JSON beside the journal, which is on disk before a change is acknowledged. Those
 * that are over leave it with the next change. Silences of the configuration are not among them.
 *
 * Order of calls:  load, (add | remove)*, release
 * On failure:      nothing has changed
 * Limits:          ALERT_SILENCES_MAX that are not over
 */

#include "base/error.h"
#include "core/health/alert.h"

struct silences {
    char *path;
    LIST(struct alert_silence) list;
};

/* Takes path. What can't be read is said in the log, and nothing is silent. */
void silences_load(struct silences *silences, char *path);
/* In place of one about the same. Fails with -EDQUOT, or as the disk does. */
int silences_add(struct silences *silences, const struct alert_silence *silence, usec_t wall,
                 struct error *err);
/* Of this name and subject; "*" is a name like others here, NULL is any. Fails with -ENOENT when
 * there is none. */
int silences_remove(struct silences *silences, const char *name, const char *subject, usec_t wall,
                    unsigned *ret_count, struct error *err);
void silences_release(struct silences *silences);

#endif
