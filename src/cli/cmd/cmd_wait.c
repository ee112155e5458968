/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/each.h"
#include "cli/follow/follow_job.h"
#include "cli/screen.h"

const struct option_entry options_wait[] = { { 0 } };

static int wait_each(const struct each *each)
{
    struct error err;
    int status = 1;

    if (follow_quietly(each->session, each->id, &status, &err) < 0)
        return complain(&err);
    return status;
}

int run_wait(int argc, char **argv)
{
    return each_id(argc, argv, wait_each);
}
