/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"

enum { FILE_MAX = 1 << 20 };

void credential_release(struct credential *credential)
{
    free(credential->url);
    free(credential->fingerprint);
    if (credential->token)
        explicit_bzero(credential->token, strlen(credential->token));
    free(credential->token);
    *credential = (struct credential){ 0 };
}

static char *folder(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    return config && config[0] == '/' ? mem_printf("%s/tarn", config)
                                      : mem_printf("%s/.config/tarn", home && home[0] ? home : "");
}

static char *file_path(void)
{
    AUTO_FREE char *above = folder();

    return mem_printf("%s/credentials", above);
}

static int read_all(const char *path, struct text *ret, struct error *err)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno == ENOENT ? 0 : error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (info.st_uid != geteuid() || (info.st_mode & 0077) != 0)
        return error_set(err, -EPERM, "%s: others can read or change it; try: chmod 600 %s", path,
                         path);
    return file_read(path, FILE_MAX, ret, err);
}

static bool is_for(const char *line, const char *url)
{
    size_t length = strlen(url);

    return strncmp(line, url, length) == 0 && line[length] == ' ';
}

/* The next line, without its end; NULL: there is none. */
static char *next_line(char **rest)
{
    char *line = strsep(rest, "\n");

    return line && (line[0] || *rest) ? line : NULL;
}

int credential_find(const char *url, struct credential *ret, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO_FREE char *path = file_path();

    *ret = (struct credential){ 0 };
    int code = read_all(path, &bytes, err);
    if (code < 0)
        return code;
    AUTO_FREE char *copy = text_take(&bytes);
    char *rest = copy;
    for (char *line = next_line(&rest); line; line = next_line(&rest)) {
        if (!is_for(line, url))
            continue;
        char *words = line + strlen(url) + 1;
        const char *fingerprint = strsep(&words, " ");
        if (!words || !words[0])
            return error_set(err, -EBADMSG, "%s: the line of %s: expected URL, fingerprint, token",
                             path, url);
        *ret = (struct credential){ mem_string(url), mem_string(fingerprint), mem_string(words) };
        return 0;
    }
    return error_set(err, -ENOENT, "no token for %s; try: tarn login %s", url, url);
}

/* The file without the line of this URL, and with `added`, if that is not NULL. */
static int rewrite(const char *url, const struct credential *added, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 }, out = { 0 };
    AUTO_FREE char *path = file_path(), *above = folder();
    AUTO_FREE char *config = mem_string_of(above, (size_t)(strrchr(above, '/') - above));

    int code = read_all(path, &bytes, err);
    if (code == 0)
        code = folder_make(config, 0700, err);
    if (code == 0)
        code = folder_make(above, 0700, err);
    if (code < 0)
        return code;
    AUTO_FREE char *copy = text_take(&bytes);
    char *rest = copy;
    for (char *line = next_line(&rest); line; line = next_line(&rest)) {
        if (!is_for(line, url))
            text_printf(&out, "%s\n", line);
    }
    if (added)
        text_printf(&out, "%s %s %s\n", added->url, added->fingerprint, added->token);
    return file_replace(path, text_string(&out), out.length, err);
}

int credential_put(const struct credential *credential, struct error *err)
{
    return rewrite(credential->url, credential, err);
}

int credential_remove(const char *url, struct error *err)
{
    return rewrite(url, NULL, err);
}
