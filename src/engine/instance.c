/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/instance.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"

enum { INSTANCE_BYTES = 8, FILE_BYTES_MAX = 4096 };

static bool is_name(const char *text, size_t length)
{
    return length == ENGINE_INSTANCE_SIZE - 1 && strspn(text, "0123456789abcdef") == length;
}

int engine_instance_open(const char *state_dir, const char *engine, char ret[ENGINE_INSTANCE_SIZE],
                         struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s-instance", state_dir, engine);
    AUTO_RELEASE(text) struct text known = { 0 };
    unsigned char bytes[INSTANCE_BYTES];

    int code = file_read(path, FILE_BYTES_MAX, &known, err);
    if (code == 0 && !is_name(text_string(&known), known.length))
        return error_set(
            err, -EBADMSG,
            "%s: damaged: expected 16 hexadecimal digits; put it back from a backup, or "
            "remove it once no job of this daemon runs there any more: tarn knows its "
            "jobs by them",
            path);
    if (code == 0)
        snprintf(ret, ENGINE_INSTANCE_SIZE, "%s", text_string(&known));
    if (code != -ENOENT)
        return code;
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return error_set(err, -errno, "engine %s: no random number: %s", engine, strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return file_replace(path, ret, ENGINE_INSTANCE_SIZE - 1, err);
}
