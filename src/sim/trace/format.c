/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/format.h"

#include <errno.h>
#include <string.h>

static int read_generated(const struct format_ask *ask, struct workload *workload,
                          struct error *err)
{
    return generate(ask->generator, workload, err);
}

#define JOB_TABLE(name, what) { #name, true, what, read_##name },
const struct format formats[] = {
#include "sim/trace/job_tables.def"
    { "swf", true, "Standard Workload Format", read_swf },
    { "batsim", true, "Batsim's JSON", read_batsim },
    { "journal", true, "a state directory of tarn", read_journal },
    { "generate", false, "made up, from a few numbers", read_generated },
    { 0 },
};
#undef JOB_TABLE

const struct format *format_find(const char *name)
{
    for (const struct format *format = formats; format->name; format++) {
        if (strcmp(format->name, name) == 0)
            return format;
    }
    return NULL;
}

int format_read(const struct format *format, const struct format_ask *ask,
                struct workload *workload, struct error *err)
{
    int code = format->read(ask, workload, err);
    if (code < 0)
        return code;
    if (workload->jobs.count == 0)
        return error_set(err, -EBADMSG, "%s: no job in it", ask->path ? ask->path : format->name);
    return 0;
}
