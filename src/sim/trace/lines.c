/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"

enum { CHUNK = 1 << 16 };

int lines_open(struct lines *lines, const char *path, struct error *err)
{
    struct stat status;

    *lines = (struct lines){ .path = path };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        close(fd);
        return error_set(err, -EISDIR, "%s: a folder, expected a file", path);
    }
    lines->file = gzdopen(fd, "rb");
    if (!lines->file) {
        close(fd);
        return error_set(err, -ENOMEM, "%s: can't be unpacked", path);
    }
    lines->buffer = mem_zero(CHUNK, 1);
    return 0;
}

void lines_close(struct lines *lines)
{
    if (lines->file)
        gzclose(lines->file);
    free(lines->buffer);
    text_release(&lines->line);
    *lines = (struct lines){ 0 };
}

/* Fill the empty buffer; 0 at the end. */
static int fill(struct lines *lines, struct error *err)
{
    int got = gzread(lines->file, lines->buffer, CHUNK);
    int number = 0;

    if (got < 0 || (got == 0 && !gzeof(lines->file)))
        return error_set(err, -EBADMSG, "%s: %s", lines->path, gzerror(lines->file, &number));
    if (got == 0 && gzerror(lines->file, &number) && number == Z_BUF_ERROR)
        return error_set(err, -EBADMSG, "%s: the archive ends too early", lines->path);
    lines->used = 0;
    lines->filled = (size_t)got;
    lines->bytes += got;
    if (lines->bytes > LINES_BYTES_MAX)
        return error_set(err, -EFBIG, "%s: more than %" PRId64 " GiB", lines->path,
                         LINES_BYTES_MAX >> 30);
    return got;
}

static int check(struct lines *lines, struct error *err)
{
    struct text *line = &lines->line;

    if (line->length > 0 && line->bytes[line->length - 1] == '\r')
        line->bytes[--line->length] = '\0';
    const char *nul = line->length > 0 ? memchr(line->bytes, '\0', line->length) : NULL;
    if (nul)
        return error_set(err, -EBADMSG, "%s:%" PRIu32 ":%zu: a NUL, expected text", lines->path,
                         lines->number, (size_t)(nul - line->bytes) + 1);
    return 1;
}

int lines_next(struct lines *lines, char **ret_line, struct error *err)
{
    bool has_any = false, is_whole = false;

    text_clear(&lines->line);
    text_add(&lines->line, "");
    while (!is_whole) {
        if (lines->used == lines->filled) {
            int code = fill(lines, err);
            if (code < 0)
                return code;
            if (code == 0)
                break;
        }
        const char *from = lines->buffer + lines->used;
        size_t left = lines->filled - lines->used;
        const char *end = memchr(from, '\n', left);
        size_t length = end ? (size_t)(end - from) : left;
        if (lines->line.length + length > LINES_LENGTH_MAX)
            return error_set(err, -EBADMSG, "%s:%" PRIu32 ": longer than %d bytes", lines->path,
                             lines->number + 1, LINES_LENGTH_MAX);
        text_add_bytes(&lines->line, from, length);
        lines->used += length + (end ? 1 : 0);
        has_any = true;
        is_whole = end != NULL;
    }
    if (!has_any)
        return 0;
    lines->number++;
    int code = check(lines, err);
    if (code < 0)
        return code;
    *ret_line = lines->line.bytes;
    if (lines->number == 1 && string_starts(*ret_line, "\xef\xbb\xbf"))
        *ret_line += 3;
    return 1;
}

int lines_read_all(const char *path, size_t bytes_max, struct text *text, struct error *err)
{
    struct lines lines;

    int code = lines_open(&lines, path, err);
    while (code == 0) {
        code = fill(&lines, err);
        if (code <= 0)
            break;
        if (text->length + lines.filled > bytes_max)
            code = error_set(err, -EFBIG, "%s: more than %zu bytes", path, bytes_max);
        else {
            text_add_bytes(text, lines.buffer, lines.filled);
            code = 0;
        }
    }
    lines_close(&lines);
    return code < 0 ? code : 0;
}
