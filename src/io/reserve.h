/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_RESERVE_H
#define IO_RESERVE_H

/* reserve - room on the disk that is given up when the disk is full, so that a daemon can start
 *
 * Databases that are opened make files of their own, even to be read. The reserve is the file
 * DIR/reserve of RESERVE_BYTES.
 */

enum { RESERVE_BYTES = 1 << 20 };

enum reserve {
    RESERVE_KEPT,
    RESERVE_USED, /* the disk is full; the reserve, if there was one, is given up */
};

/* Call it at a start, before files are made. */
enum reserve reserve_prepare(const char *dir);

#endif
