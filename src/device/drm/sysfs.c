/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

static size_t read_beginning(int fd, char *ret, size_t size)
{
    size_t length = 0;

    while (length + 1 < size) {
        ssize_t got = read(fd, ret + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    return length;
}

bool sysfs_text(const char *folder, const char *file, char *ret, size_t size)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return false;
    size_t length = read_beginning(fd, ret, size);
    close(fd);
    while (length > 0 && isspace((unsigned char)ret[length - 1]))
        length--;
    ret[length] = '\0';
    return length > 0;
}

bool sysfs_number(const char *folder, const char *file, int64_t *ret)
{
    char text[32], *end;

    if (!sysfs_text(folder, file, text, sizeof(text)))
        return false;
    errno = 0;
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    int64_t value = strtoll(text, &end, is_hex ? 16 : 10);
    if (*end != '\0' || errno != 0)
        return false;
    *ret = value;
    return true;
}

bool sysfs_hex(const char *folder, const char *file, uint64_t *ret)
{
    char text[32], *end;

    if (!sysfs_text(folder, file, text, sizeof(text)) || !isxdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    uint64_t value = strtoull(text, &end, 16);
    if (*end != '\0' || errno != 0)
        return false;
    *ret = value;
    return true;
}

static bool number_behind(const char *s, int64_t *ret)
{
    char *end;

    s += strspn(s, ": \t");
    errno = 0;
    int64_t value = strtoll(s, &end, 10);
    if (end == s || errno != 0)
        return false;
    *ret = value;
    return true;
}

bool sysfs_key(const char *text, const char *key, int64_t *ret)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && strchr(": \t", line[length]) && line[length])
            return number_behind(line + length, ret);
    }
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

char **sysfs_names(const char *folder, const char *prefix)
{
    LIST(char *) names = { 0 };
    DIR *stream = opendir(folder);

    for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream)) {
        if (entry->d_name[0] != '.' && string_starts(entry->d_name, prefix) &&
            names.count < SYSFS_NAMES_MAX)
            list_add(&names, mem_string(entry->d_name));
    }
    if (stream)
        closedir(stream);
    if (names.count > 1)
        qsort(names.items, names.count, sizeof(names.items[0]), compare_names);
    list_add(&names, NULL);
    return names.items;
}

void sysfs_names_free(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}
