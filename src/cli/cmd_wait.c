/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/follow.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/select.h"
#include "cli/session.h"

const struct option_entry options_wait[] = { { 0 } };

int run_wait(int argc, char **argv)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(selection) struct selection selection = { 0 };
    struct options options;
    struct error err;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count == 0)
        return usage_wrong("wait", "expected the number of a job");
    if (selection_read(&selection, options.words, &err) < 0) {
        complain(&err);
        return 2;
    }
    if (session_open(&session, &err) < 0)
        return complain(&err);
    for (size_t i = 0; i < selection.count; i++) {
        int one = 1;

        if (follow_quietly(&session, selection.ids[i], &one, &err) < 0)
            one = complain(&err);
        status = status != 0 ? status : one;
    }
    return status;
}
