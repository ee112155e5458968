/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/slurm_options.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/slurm/slurm.h"

enum { FIRST = 256 }; /* above the letters */

static const struct rest {
    const char *command;
    char letter;
    const char *name;
    int argument;
    const char *instead; /* NULL: it changes nothing */
} rests[] = {
#define NOTHING(command, letter, name, argument) { command, letter, name, argument, NULL },
#define REFUSED(command, letter, name, argument, instead)                                          \
    { command, letter, name, argument, instead },
#include "cli/slurm/slurm_options.def"
};

static bool is_own(size_t i)
{
    return strcmp(rests[i].command, slurm_name) == 0;
}

/* The row of what getopt_long() returned; NULL: an option that the front end acts on. */
static const struct rest *find(int option)
{
    for (size_t i = 0; i < COUNT_OF(rests); i++) {
        if (is_own(i) && (option == FIRST + (int)i || (option != 0 && option == rests[i].letter)))
            return &rests[i];
    }
    return NULL;
}

int slurm_option(int argc, char **argv, const char *letters, const struct option *own)
{
    LIST(struct option) all = { 0 };
    AUTO_RELEASE(text) struct text known = { 0 };
    const struct rest *rest;
    int option;

    text_add(&known, letters);
    for (; own->name; own++)
        list_add(&all, *own);
    for (size_t i = 0; i < COUNT_OF(rests); i++) {
        if (!is_own(i))
            continue;
        list_add(&all, ((struct option){ rests[i].name, rests[i].argument, NULL, FIRST + (int)i }));
        if (rests[i].letter)
            text_printf(&known, "%c%s", rests[i].letter, rests[i].argument ? ":" : "");
    }
    list_add(&all, (struct option){ 0 });
    do {
        option = getopt_long(argc, argv, text_string(&known), all.items, NULL);
        rest = option == -1 ? NULL : find(option);
    } while (rest && !rest->instead);
    list_release(&all);
    if (!rest)
        return option;
    slurm_fail("--%s: not supported; use %s", rest->name, rest->instead);
    return '?';
}
