/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_PATHS_H
#define IO_PATHS_H

/* paths - where the daemon keeps its state, and where it listens
 *
 *   state    $TARN_STATE; as root /var/lib/tarn; $XDG_STATE_HOME/tarn; ~/.local/state/tarn
 *   socket   $TARN_SOCKET; STATE/tarn.sock where $TARN_STATE is set; as root /run/tarn/tarn.sock;
 *            else that same one when a daemon answers there; $XDG_RUNTIME_DIR/tarn/tarn.sock;
 *            STATE/tarn.sock
 *
 * This file creates nothing. All paths are absolute. An empty variable counts as unset.
 *
 * Owner:   paths_release() gives the strings back; a failed paths_find() leaves nothing to release
 * Limits:  PATHS_SOCKET_MAX bytes of socket: what the kernel takes
 */

#include <stdbool.h>

#include "base/compiler.h"
#include "base/error.h"

enum { PATHS_SOCKET_MAX = 107 };

struct paths {
    char *state;
    char *socket;
    bool is_machine_wide; /* the daemon of the machine, for all its users */
};

/* Fails with -ENOENT (no home folder is known) or -ENAMETOOLONG (socket). */
int paths_find(struct paths *ret, struct error *err);
void paths_release(struct paths *paths);

/* Whether a process listens there now. */
bool paths_is_listening(const char *socket);

#endif
