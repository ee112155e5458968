/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_READ_OUTPUT_H
#define DAEMON_READ_OUTPUT_H

/* read_output - reads the output of a job: a process that the daemon starts (api/output_reader.h)
 *
 *   tarnd --read-output UID GID OFFSET TAIL FOLLOW      descriptor 3: a socket to the daemon;
 *                                                       $TARN_OUTPUT: the path
 *
 * It becomes that user. The job may have chosen the path, or replaced the file: only a plain file
 * of its owner is read. The first byte that it sends says that the file system answers; the bytes
 * of the file follow, from OFFSET or the last TAIL lines on ("-": all). With FOLLOW, it waits for
 * more, and reads another file that the path names later (rotation), until the daemon shuts down
 * its direction of the socket: then it ends at the end of the file.
 */

#define READ_OUTPUT_PATH "TARN_OUTPUT"

enum { READ_OUTPUT_ARGS = 5 };

int run_read_output(char *const *words);

#endif
