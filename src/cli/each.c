/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/each.h"

#include "cli/screen.h"

int each_id(int argc, char **argv, int (*one)(const struct each *each))
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(selection) struct selection selection = { 0 };
    const char *verb = argv[0]; /* argv is put in another order */
    struct options options;
    struct error err;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count == 0)
        return usage_wrong(verb, "expected the number of a job");
    if (selection_read(&selection, options.words, &err) < 0) {
        complain(&err);
        return 2;
    }
    if (session_open(&session, &err) < 0)
        return complain(&err);
    for (size_t i = 0; i < selection.count; i++) {
        int result =
            one(&(struct each){ &session, &options, selection.ids[i], i, selection.count });
        status = status != 0 ? status : result;
    }
    return status;
}
