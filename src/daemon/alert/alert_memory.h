/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ALERT_ALERT_MEMORY_H
#define DAEMON_ALERT_ALERT_MEMORY_H

/* alert_memory - the alerts that were sent, and the silences that administrators set
 *
 * Kept in STATE/alerts.db (store/alert_store.h), so that a restart sends no alert twice. If it
 * cannot be read or written, the log says so once, and alerts may be sent again; is_behind is set
 * until the sent alerts are saved. A silence is on disk before it is acknowledged. Expired
 * silences are removed with the next change. Silences of the configuration are not among them. The
 * JSON files of earlier versions (alerts.json, silences.json) are read once and removed.
 *
 * Order of calls:  load, (save | silence | unsilence)*, release
 * On failure:      nothing has changed
 * Limits:          ALERT_SILENCES_MAX silences that have not expired
 */

#include "store/alert_store.h"

struct alert_memory {
    char *path;
    struct alert_store *store; /* NULL: it could not be opened yet */
    struct alert_silences silences;
    usec_t notes;   /* until when messages about jobs were sent; USEC_NEVER: not known */
    bool is_behind; /* the latest sent alerts are not on disk yet */
};

void alert_memory_load(struct alert_memory *memory, const char *state_dir, struct alerts *alerts,
                       usec_t now);
void alert_memory_save(struct alert_memory *memory, const struct alerts *alerts);
/* Record that all messages about jobs up to this time were sent. */
void alert_memory_save_notes(struct alert_memory *memory, usec_t until);
/* Add a silence, or replace the one with the same name and subject. Fails with -EDQUOT, or with an
 * error of the disk. */
int alert_memory_silence(struct alert_memory *memory, const struct alert_silence *silence,
                         usec_t wall, struct error *err);
/* End the silences with this name and subject; here "*" is a name like any other, and NULL means
 * any. Fails with -ENOENT if there is none. */
int alert_memory_unsilence(struct alert_memory *memory, const char *name, const char *subject,
                           usec_t wall, unsigned *ret_count, struct error *err);
void alert_memory_release(struct alert_memory *memory);

#endif
