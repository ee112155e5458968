/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER = 1 << 16, CHUNK = 4096 };

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
        return error_set(err, -ENOMEM, "%s: cannot be unpacked", path);
    }
    gzbuffer(lines->file, BUFFER);
    return 0;
}

void lines_close(struct lines *lines)
{
    if (lines->file)
        gzclose(lines->file);
    text_release(&lines->line);
    *lines = (struct lines){ 0 };
}

/* After the last bytes: 0 where all were read. */
static int check_end(const struct lines *lines, struct error *err)
{
    int number = 0;
    const char *words = gzerror(lines->file, &number);

    if (number == Z_BUF_ERROR)
        return error_set(err, -EBADMSG, "%s: the archive ends too early", lines->path);
    return number < 0 ? error_set(err, -EBADMSG, "%s: %s", lines->path, words) : 0;
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
    char chunk[CHUNK];
    bool is_whole = false;

    text_clear(&lines->line);
    text_add(&lines->line, "");
    while (!is_whole) {
        int64_t from = gztell(lines->file);
        size_t length = 0;

        if (gzgets(lines->file, chunk, sizeof(chunk)))
            length = (size_t)(gztell(lines->file) - from); /* there may be a NUL in it */
        bool has_newline = length > 0 && chunk[length - 1] == '\n';
        is_whole = has_newline || length + 1 < sizeof(chunk);
        int code = has_newline || !is_whole ? 0 : check_end(lines, err);
        if (code < 0 || (length == 0 && lines->line.length == 0))
            return code;
        if (from + (int64_t)length > LINES_BYTES_MAX)
            return error_set(err, -EFBIG, "%s: more than %" PRId64 " GiB", lines->path,
                             LINES_BYTES_MAX >> 30);
        length -= has_newline;
        if (lines->line.length + length > LINES_LENGTH_MAX)
            return error_set(err, -EBADMSG, "%s:%" PRIu32 ": longer than %d bytes", lines->path,
                             lines->number + 1, LINES_LENGTH_MAX);
        text_add_bytes(&lines->line, chunk, length);
    }
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
    char chunk[CHUNK];
    int got = 1;

    int code = lines_open(&lines, path, err);
    while (code == 0 && got > 0) {
        got = gzread(lines.file, chunk, sizeof(chunk));
        if (got <= 0)
            code = check_end(&lines, err);
        else if (text->length + (size_t)got > bytes_max)
            code = error_set(err, -EFBIG, "%s: more than %zu bytes", path, bytes_max);
        else
            text_add_bytes(text, chunk, (size_t)got);
    }
    lines_close(&lines);
    return code;
}
