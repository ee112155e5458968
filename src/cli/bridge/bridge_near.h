/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BRIDGE_BRIDGE_NEAR_H
#define CLI_BRIDGE_BRIDGE_NEAR_H

/* bridge_near - the end of a bridge beside the client: a child of it, which ends with it */

#include "base/error.h"

/* What speaks as the door of a supervisor, over a stream that is taken over. *ret_door is the
 * caller's. */
int bridge_near_start(int stream, int *ret_door, struct error *err);

#endif
