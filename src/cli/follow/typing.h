/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FOLLOW_TYPING_H
#define CLI_FOLLOW_TYPING_H

/* typing - what is typed for a job that has no terminal yet, and the keys to detach
 *
 * While the job waits, the terminal neither edits nor echoes lines; Ctrl-C remains a signal.
 *
 * Order of calls:  (start, read*, stop)*; what was read stays
 * Limits:          TYPING_MAX bytes are kept; more stay in the terminal
 */

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

enum { TYPING_MAX = 4096 };

struct typing {
    int fd; /* readable when there is something typed, or a signal; 0: off */
    bool is_escaped;
    struct termios before;
    size_t length;
    char bytes[TYPING_MAX];
};

/* Watch standard input and signal_fd by *ret_fd; of a process in the background, or while nothing
 * more can be kept, signal_fd only. */
int typing_start(struct typing *typing, int signal_fd);
/* Take what is typed; true: the keys to detach came. */
bool typing_read(struct typing *typing);
void typing_stop(struct typing *typing); /* restores the terminal */

/* The keys to detach are not for the job: true when they came. The first of them with another key
 * behind it is for the job, and twice it is one. bytes has room for one more than *length. */
bool keys_take(char *bytes, size_t *length, bool *is_escaped);

#endif
