/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/import_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"

enum { FILE_MAX = 64 << 20 };

const char *import_keep(struct importing *importing, char *text)
{
    list_add(&importing->texts, text);
    return text;
}

int import_read(struct importing *importing, const char *path, const char **ret_name,
                const char **ret_text, struct error *err)
{
    struct text text = { 0 };
    bool is_input = strcmp(path, "-") == 0;

    int code = file_read(is_input ? "/dev/stdin" : path, FILE_MAX, &text, err);
    *ret_name = import_keep(importing, mem_string(path));
    *ret_text = import_keep(importing, text_take(&text));
    if (code == 0 && !string_is_utf8(*ret_text, strlen(*ret_text)))
        code = error_set(err, -EBADMSG, "%s: not text, expected UTF-8", path);
    return code;
}

int import_ask(const char *command, struct text *text, struct error *err)
{
    AUTO_FREE char *all = mem_printf("%s 2>&1", command);
    char *line = NULL, last[160] = "it printed nothing";
    size_t size = 0, before = text->length;

    FILE *pipe = popen(all, "re");
    if (!pipe)
        return error_set(err, -errno, "%s: %s", command, strerror(errno));
    while (getline(&line, &size, pipe) > 0) {
        string_clean(last, sizeof(last), line, strcspn(line, "\n"));
        if (text->length - before < FILE_MAX)
            text_add(text, line);
    }
    free(line);
    if (pclose(pipe) == 0)
        return 0;
    text->length = before;
    if (text->bytes)
        text->bytes[before] = '\0';
    return error_set(err, -ENOENT, "%s: %s", command, last);
}
