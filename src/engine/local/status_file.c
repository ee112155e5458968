/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/status_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "shim/shim_order.h"

/* The value after " key=" up to the next space, or NULL. */
static const char *field(const char *record, const char *key, size_t *ret_length)
{
    size_t length = strlen(key);

    for (const char *at = strchr(record, ' '); at; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '=')
            continue;
        at += length + 2;
        *ret_length = strcspn(at, " ");
        return at;
    }
    return NULL;
}

static int64_t field_number(const char *record, const char *key)
{
    size_t length;
    const char *value = field(record, key, &length);

    return value ? strtoll(value, NULL, 10) : 0;
}

static void field_copy(const char *record, const char *key, char *buffer, size_t size)
{
    size_t length;
    const char *value = field(record, key, &length);

    if (!value || length >= size)
        return;
    memcpy(buffer, value, length);
    buffer[length] = '\0';
}

static enum isolation isolation_of(char digit)
{
    if (digit == '2')
        return ISOLATION_ISOLATED;
    return digit == '1' ? ISOLATION_WATCHED : ISOLATION_ACCOUNTED;
}

void status_note_isolation(const struct engine_isolation *isolation, char text[8])
{
    snprintf(text, 8, "%d%d%d%d", isolation->processes, isolation->cpu, isolation->memory,
             isolation->gpu);
}

static void apply_member(struct status *status, const char *boot, const char *record)
{
    char text[64] = "";

    field_copy(record, "boot", text, sizeof(text));
    status->same_boot = strcmp(text, boot) == 0;
    memset(text, 0, sizeof(text));
    field_copy(record, "isolation", text, sizeof(text));
    status->isolation = (struct engine_isolation){
        .processes = isolation_of(text[0]),
        .cpu = isolation_of(text[1]),
        .memory = isolation_of(text[2]),
        .gpu = isolation_of(text[3]),
    };
    field_copy(record, "kill", status->kill, sizeof(status->kill));
    const char *at = record;
    while (status->dir_count < STATUS_DIRS_MAX && (at = strstr(at, " dir=")) != NULL) {
        field_copy(at, "dir", status->dirs[status->dir_count++], STATUS_PATH_SIZE);
        at++;
    }
}

static void apply_ended(struct status *status, const char *record)
{
    struct engine_outcome *end = &status->end;

    end->kind = ENGINE_ENDED;
    end->exit_code = (int)field_number(record, "code");
    end->signal = (int)field_number(record, "signal");
    end->was_stopped = field_number(record, "stopped") != 0;
    end->was_oom = field_number(record, "oom") != 0;
    end->was_killed = field_number(record, "killed") != 0;
    end->user_us = field_number(record, "user_us");
    end->system_us = field_number(record, "system_us");
    end->memory_kib_max = field_number(record, "rss_kib");
    status->has_end = true;
    status->has_started = true;
}

/* The words are the last field and may have spaces in them, and parts of paths and files, which may
 * be any bytes. */
static void apply_failed(struct status *status, const char *record)
{
    struct engine_outcome *end = &status->end;
    const char *text = strstr(record, " text=");

    end->was_stopped = field_number(record, "stopped") != 0;
    bool is_returned = field_number(record, "lacking") != 0 && !end->was_stopped;
    end->kind = is_returned ? ENGINE_RETURNED : ENGINE_FAILED;
    end->exit_code = -1;
    text = text ? text + strlen(" text=") : "it did not start";
    string_clean(end->reason, sizeof(end->reason), text, strlen(text));
    status->has_end = true;
}

void status_apply(struct status *status, const char *boot, const char *record, size_t length)
{
    static const char mark[] = " .";
    size_t mark_length = sizeof(mark) - 1;

    if (length < mark_length || strncmp(record + length - mark_length, mark, mark_length) != 0)
        return;
    AUTO_FREE char *copy = mem_string_of(record, length - mark_length);
    if (string_starts(copy, "member ")) {
        apply_member(status, boot, copy);
    } else if (string_starts(copy, "forked ")) {
        status->pid = (pid_t)field_number(copy, "pid");
        status->ticks = (uint64_t)field_number(copy, "ticks");
    } else if (string_starts(copy, "started ")) {
        status->pid = (pid_t)field_number(copy, "pid");
        status->has_started = true;
    } else if (string_starts(copy, "ended ") && !status->has_end) {
        apply_ended(status, copy);
    } else if (string_starts(copy, "failed ") && !status->has_end) {
        apply_failed(status, copy);
    }
}

static pid_t lock_holder(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid;
}

pid_t status_holder(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return 0;
    pid_t holder = lock_holder(fd);
    close(fd);
    return holder;
}

void status_read(const char *path, const char *boot, struct status *ret)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    *ret = (struct status){ 0 };
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        ret->exists = errno != ENOENT;
        return;
    }
    ret->exists = true;
    /* The holder first, then the records: a shim that ends between is seen again by its pidfd. */
    ret->shim_pid = lock_holder(fd);
    close(fd);
    if (file_read(path, ORDER_STATUS_BYTES_MAX, &text, NULL) < 0)
        return;
    const char *line = text_string(&text);
    for (const char *end = strchr(line, '\n'); end; end = strchr(line, '\n')) {
        status_apply(ret, boot, line, (size_t)(end - line));
        line = end + 1;
    }
}
