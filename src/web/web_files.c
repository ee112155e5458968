/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web_files.h"

#include <string.h>

const struct web_file *web_file_find(const char *path)
{
    for (const struct web_file *file = web_files; file->path; file++) {
        if (strcmp(file->path, path) == 0)
            return file;
    }
    return NULL;
}
