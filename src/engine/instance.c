/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/instance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"

enum { INSTANCE_BYTES = 8 };

int engine_instance_open(const char *state_dir, const char *engine, char ret[ENGINE_INSTANCE_SIZE],
                         struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s-instance", state_dir, engine);
    AUTO_RELEASE(text) struct text known = { 0 };
    unsigned char bytes[INSTANCE_BYTES];

    if (file_read(path, ENGINE_INSTANCE_SIZE, &known, NULL) == 0 &&
        known.length == ENGINE_INSTANCE_SIZE - 1) {
        snprintf(ret, ENGINE_INSTANCE_SIZE, "%s", text_string(&known));
        return 0;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return error_set(err, -errno, "engine %s: no random number: %s", engine, strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return file_replace(path, ret, ENGINE_INSTANCE_SIZE - 1, err);
}
