/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEB_WEB_FILES_H
#define WEB_WEB_FILES_H

/* web_files - the files of the web page, in the program (made by tools/embed when building)
 *
 * Each is compressed with gzip, which every browser accepts.
 */

#include <stddef.h>

struct web_file {
    const char *path; /* "/": index.html; else "/web/app.js" */
    const char *type, *etag;
    const unsigned char *bytes;
    size_t length;
};

extern const struct web_file web_files[]; /* the last has no path */

/* NULL: there is none. */
const struct web_file *web_file_find(const char *path);

#endif
