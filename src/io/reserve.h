/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_RESERVE_H
#define IO_RESERVE_H

/* reserve - room on the disk that is given up when the disk is full, so that a daemon can start
 *
 * Databases that are opened make files of their own, even to be read. The reserve is the file
 * DIR/reserve of up to RESERVE_BYTES. Once the daemon has started, and when it ends, it takes back
 * what is free then, so that the next start finds a reserve, too.
 *
 * Order of calls:  prepare, (start), keep, (end), keep
 */

enum { RESERVE_BYTES = 1 << 20 };

enum reserve {
    RESERVE_KEPT,
    RESERVE_USED, /* the disk is full; the reserve is given up */
    RESERVE_NONE, /* the disk is full, and there was no reserve */
};

/* Call it at a start, before files are made. */
enum reserve reserve_prepare(const char *dir);

/* Make the reserve as large as the free room allows. */
void reserve_keep(const char *dir);

#endif
