/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_EACH_H
#define CLI_EACH_H

/* each - a command that repeats an action for each of several jobs */

#include "cli/options.h"
#include "cli/select.h"
#include "cli/session.h"

struct each {
    struct session *session;
    const struct options *options;
    const char *id;
    size_t number, count; /* of the ids */
};

/* Read the options and ids of argv[0], and call one for each id; returns the first exit status
 * that is not 0. */
int each_id(int argc, char **argv, int (*one)(const struct each *each));

#endif
