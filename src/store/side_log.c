/* SPDX-License-Identifier: Apache-2.0 */
#include "store/side_log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { HEADER = 32, FRAME_HEADER = 24, PAGE_MIN = 512, PAGE_MAX = 65536 };

/* The last bit: the words of checksums are big-endian. */
#define MAGIC 0x377f0682u

struct log {
    FILE *file;
    bool is_big_endian;
    uint32_t page, sum[2];
    unsigned char salt[8];
    unsigned char *frame; /* header and page */
};

static uint32_t big(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t little(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void add_sum(struct log *log, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i += 8) {
        uint32_t first = log->is_big_endian ? big(bytes + i) : little(bytes + i);
        uint32_t second = log->is_big_endian ? big(bytes + i + 4) : little(bytes + i + 4);
        log->sum[0] += first + log->sum[1];
        log->sum[1] += second + log->sum[0];
    }
}

static bool sum_is(const struct log *log, const unsigned char *at)
{
    return log->sum[0] == big(at) && log->sum[1] == big(at + 4);
}

static bool read_header(struct log *log, const unsigned char *header)
{
    log->is_big_endian = header[3] & 1;
    log->page = big(header + 8);
    memcpy(log->salt, header + 16, sizeof(log->salt));
    add_sum(log, header, FRAME_HEADER);
    return (big(header) & ~1u) == MAGIC && log->page >= PAGE_MIN && log->page <= PAGE_MAX &&
           (log->page & (log->page - 1)) == 0 && sum_is(log, header + FRAME_HEADER);
}

static bool read_frame(struct log *log)
{
    size_t length = FRAME_HEADER + log->page;

    return fread(log->frame, 1, length, log->file) == length;
}

/* Frames of an earlier use of the file have another salt. */
static bool frame_is_ours(const struct log *log)
{
    return memcmp(log->frame + 8, log->salt, sizeof(log->salt)) == 0;
}

static bool frame_is_good(struct log *log)
{
    add_sum(log, log->frame, 8);
    add_sum(log, log->frame + FRAME_HEADER, log->page);
    return frame_is_ours(log) && sum_is(log, log->frame + 16);
}

static bool loses_a_transaction(struct log *log)
{
    bool is_good = true, is_lost = false;

    while (!is_lost && read_frame(log)) {
        is_good = is_good && frame_is_good(log);
        is_lost = !is_good && frame_is_ours(log) && big(log->frame + 4) != 0;
    }
    return is_lost;
}

bool side_log_is_damaged(const char *path)
{
    AUTO_FREE char *name = mem_printf("%s-wal", path);
    unsigned char header[HEADER];
    struct log log = { .file = fopen(name, "re") };
    bool is_damaged = false;

    if (!log.file)
        return false;
    if (fread(header, 1, HEADER, log.file) == HEADER) {
        is_damaged = !read_header(&log, header);
        log.frame = is_damaged ? NULL : mem_zero(FRAME_HEADER + log.page, 1);
        is_damaged = is_damaged || loses_a_transaction(&log);
        free(log.frame);
    }
    fclose(log.file);
    return is_damaged;
}
