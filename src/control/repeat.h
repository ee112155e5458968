/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_REPEAT_H
#define CONTROL_REPEAT_H

/* repeat - jobs that are submitted again and again, as their sender would */

#include "control/control.h"

/* Submit it once more, if it is due: a change of its own. */
void cron_fire(const struct control *control, uint64_t id);

/* The clock was set: its next time anew. Inside a change. */
void cron_renew(const struct control *control, const struct cron_entry *entry);

/* Its owner and administrators only. Inside a change. */
int cron_remove(const struct control *control, const struct identity *who, uint64_t id,
                struct error *err);

#endif
