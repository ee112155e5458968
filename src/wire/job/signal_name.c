/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/signal_name.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

/* Without those of the terminal's and the kernel's own business. */
static const struct {
    const char *name;
    int number;
} signals[] = {
    { "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT }, { "USR1", SIGUSR1 },
    { "USR2", SIGUSR2 }, { "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "CONT", SIGCONT },
    { "URG", SIGURG },   { "XCPU", SIGXCPU }, { "PROF", SIGPROF }, { "WINCH", SIGWINCH },
    { "IO", SIGIO },     { "PWR", SIGPWR },
};

int signal_parse(const char *text, struct error *err)
{
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
    char *end;

    long number = strtol(text, &end, 10);
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        bool is_number = end != text && *end == '\0' && number == signals[i].number;
        if (is_number || strcasecmp(name, signals[i].name) == 0)
            return signals[i].number;
    }
    return error_set(err, -EINVAL,
                     "'%.40s': not a signal that can ask a job to save its work; expected one like "
                     "USR1, USR2 or TERM",
                     text);
}

const char *signal_name(int number)
{
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        if (signals[i].number == number)
            return signals[i].name;
    }
    return NULL;
}
