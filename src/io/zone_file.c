/* SPDX-License-Identifier: Apache-2.0 */
#include "io/zone_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/file.h"

static const char database[] = "/usr/share/zoneinfo";
static const char machine_zone[] = "/etc/localtime";

static int load_file(const char *name, const char *path, struct zone **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };

    int code = file_read(path, ZONE_BYTES_MAX, &bytes, err);
    if (code < 0)
        return error_prefix(err, code, "zone %s", name);
    return zone_parse(name, text_string(&bytes), bytes.length, ret, err);
}

static int load_named(const char *name, struct zone **ret, struct error *err)
{
    const char *folder = getenv("TZDIR");

    if (!zone_name_is_valid(name))
        return error_set(err, -EINVAL,
                         "zone '%.80s': not a name; expected one like UTC or Europe/Berlin", name);
    if (!folder || !*folder)
        folder = database;
    AUTO_FREE char *path = mem_printf("%s/%s", folder, name);
    int code = load_file(name, path, ret, err);
    if (code == -ENOENT || code == -ENOTDIR || code == -EISDIR)
        return error_set(err, -ENOENT,
                         "zone %s: there is none in %s; expected one like UTC or Europe/Berlin",
                         name, folder);
    return code;
}

static int load_local(struct zone **ret, struct error *err)
{
    const char *given = getenv("TZ");

    if (!given) {
        int code = load_file("local", machine_zone, ret, err);
        if (code != -ENOENT)
            return code;
        given = "";
    }
    given += *given == ':';
    if (*given == '\0' || strcmp(given, "UTC") == 0) {
        *ret = zone_utc();
        return 0;
    }
    /* Where TZ is of neither kind, the words of the first attempt are the better ones. */
    int code = load_named(given, ret, err);
    if (code < 0 && zone_of_rule("local", given, ret, NULL) == 0)
        return 0;
    return code;
}

int zone_load(const char *name, struct zone **ret, struct error *err)
{
    if (strcmp(name, "local") == 0)
        return load_local(ret, err);
    if (strcmp(name, "UTC") == 0) {
        *ret = zone_utc();
        return 0;
    }
    return load_named(name, ret, err);
}
