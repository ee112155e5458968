/* SPDX-License-Identifier: Apache-2.0 */
#include "io/copy_reader.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/mem.h"

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

void copy_reader_stop(struct copy_reader *reader)
{
    if (!reader->is_running)
        return;
    reader->is_running = false;
    uv_poll_stop(reader->poll);
    uv_close((uv_handle_t *)reader->poll, on_poll_closed);
    copy_end(&reader->copy);
    text_release(&reader->bytes);
}

void copy_reader_finish(struct copy_reader *reader)
{
    struct text bytes = reader->bytes;

    if (!reader->is_running)
        return;
    reader->bytes = (struct text){ 0 };
    copy_reader_stop(reader);
    reader->done(reader->user, bytes);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct copy_reader *reader = poll->data;

    (void)status;
    (void)events;
    if (!copy_read(&reader->copy, &reader->bytes))
        copy_reader_finish(reader);
}

int copy_reader_start(struct copy_reader *reader, uv_loop_t *loop, copy_fn *fn, copy_done_fn *done,
                      void *user, struct error *err)
{
    int code = copy_start(fn, user, &reader->copy, err);

    if (code < 0)
        return code;
    reader->is_running = true;
    reader->done = done;
    reader->user = user;
    fcntl(reader->copy.fd, F_SETFL, O_NONBLOCK);
    reader->poll = mem_zero(1, sizeof(*reader->poll));
    uv_poll_init(loop, reader->poll, reader->copy.fd);
    reader->poll->data = reader;
    uv_poll_start(reader->poll, UV_READABLE | UV_DISCONNECT, on_readable);
    return 0;
}
