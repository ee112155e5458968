/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BRIDGE_BRIDGE_FAR_H
#define CLI_BRIDGE_BRIDGE_FAR_H

/* bridge_far - the end of a bridge beside the job: a process that the daemon starts
 *
 *   tarnd --bridge UID GID      descriptor 3: the stream, 4: the door
 *
 * It becomes that user, so that a terminal belongs to them, and ends with the daemon.
 */

int run_bridge(char *const *words);

#endif
