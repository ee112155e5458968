/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_ALERT_STORE_H
#define STORE_ALERT_STORE_H

/* alert_store - stores sent alerts, silences and the progress of messages about jobs across
 * restarts
 *
 * It is one table of a small SQLite file beside the journal. Each put replaces all rows of its kind
 * in one transaction.
 *
 * Order of calls:  open, (load | put)*, close
 * On failure:      nothing has changed
 */

#include "base/error.h"
#include "core/health/alert.h"

struct alert_store;

struct alert_silences {
    LIST(struct alert_silence) list;
};

/* Fails with the codes of sql_error() (store/sql.h); -EBADMSG: the file is damaged. */
int alert_store_open(const char *path, struct alert_store **ret, struct error *err);
void alert_store_close(struct alert_store *store); /* NULL is fine */

/* Adds to alerts and silences; *ret_notes is the value of put_notes, or USEC_NEVER. */
int alert_store_load(struct alert_store *store, struct alerts *alerts, usec_t now,
                     struct alert_silences *silences, usec_t *ret_notes, struct error *err);
/* Does not wait for the disk: after a power loss, an alert may be sent again. */
int alert_store_put_told(struct alert_store *store, const struct alerts *alerts, struct error *err);
/* The time up to which messages about jobs were sent. Does not wait for the disk either. */
int alert_store_put_notes(struct alert_store *store, usec_t until, struct error *err);
/* The silences are on disk when it returns. */
int alert_store_put_silences(struct alert_store *store, const struct alert_silences *silences,
                             struct error *err);

#endif
