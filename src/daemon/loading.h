/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_LOADING_H
#define DAEMON_LOADING_H

/* loading - the state of a journal: its newest usable snapshot, and the records after it */

#include <stdint.h>

#include "base/error.h"
#include "core/state/state.h"
#include "store/journal.h"

/* *ret_sequence: the record that the snapshot follows; 0: none was used. The caller destroys the
 * state. Fails with -EBADMSG (damaged, or of a newer version) or as journal_read() does. */
int state_load(struct journal *journal, struct state **ret, uint64_t *ret_sequence,
               struct error *err);

#endif
