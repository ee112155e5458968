/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/bridge/bridge.h"
#include "fuzz.h"

enum { SIZE_MAX_HERE = 48 * 1024 }; /* what socket and pipe take without a reader */

/* What was delivered. */
struct seen {
    struct text input, kinds; /* bytes for the command; a letter a frame that is none of a flow */
};

static struct seen *seen;

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* The kinds that one of the two ends takes; the others end the connection. */
static bool may_come(int kind)
{
    return kind >= FRAME_FLOWS && kind < FRAME_KINDS;
}

static bool on_frame(struct bridge *bridge, enum frame_kind kind, const unsigned char *bytes,
                     size_t length)
{
    struct door_answer answer;
    bool has_input;

    (void)bridge;
    must(kind >= FRAME_FLOWS && length <= FRAME_MAX);
    if (!may_come((int)kind))
        return false;
    text_add_char(&seen->kinds, (char)('a' + kind));
    if (kind == FRAME_ANSWER && bridge_read_answer(bytes, length, &answer, &has_input))
        must(strnlen(answer.text, sizeof(answer.text)) < sizeof(answer.text));
    return true;
}

/* The same by the words of the specification. */
static void read_plainly(const uint8_t *data, size_t size, struct seen *ret)
{
    bool is_open = true;

    while (size >= FRAME_HEAD) {
        size_t length = (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
        int kind = data[0];

        if (length > FRAME_MAX || length > size - FRAME_HEAD)
            return;
        if (kind >= FRAME_FLOWS && !may_come(kind))
            return;
        if (kind >= FRAME_FLOWS)
            text_add_char(&ret->kinds, (char)('a' + kind));
        is_open &= kind != FRAME_INPUT || length > 0;
        if (kind == FRAME_INPUT && is_open)
            text_add_bytes(&ret->input, data + FRAME_HEAD, length);
        data += FRAME_HEAD + length;
        size -= FRAME_HEAD + length;
    }
}

static void read_all(int fd, struct text *ret)
{
    char chunk[4096];
    ssize_t length;

    while ((length = read(fd, chunk, sizeof(chunk))) > 0)
        text_add_bytes(ret, chunk, (size_t)length);
}

/* The far end, whose command takes its input and has written some output. */
static void run(const uint8_t *data, size_t size)
{
    static struct bridge bridge;
    int stream[2], input[2], output[2];

    must(socketpair(AF_UNIX, SOCK_STREAM, 0, stream) == 0 && pipe(input) == 0 && pipe(output) == 0);
    must(write(output[1], "output", 6) == 6 && close(output[1]) == 0);
    must(size == 0 || write(stream[1], data, size) == (ssize_t)size);
    shutdown(stream[1], SHUT_WR);
    fcntl(input[1], F_SETFL, O_NONBLOCK);
    bridge_init(&bridge, stream[0], -1);
    bridge.on_frame = on_frame;
    bridge.is_hasty = true;
    bridge.to[FRAME_INPUT] = input[1];
    bridge.from[FRAME_OUTPUT] = output[0];
    bridge_run(&bridge);
    for (size_t i = 0; i < FRAME_FLOWS; i++) {
        bridge_close(&bridge.to[i]);
        bridge_close(&bridge.from[i]);
    }
    read_all(input[0], &seen->input);
    close(input[0]);
    close(stream[0]);
    close(stream[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen found = { 0 }, expected = { 0 };

    if (size > SIZE_MAX_HERE)
        return 0;
    seen = &found;
    run(data, size);
    read_plainly(data, size, &expected);
    must(found.input.length == expected.input.length &&
         memcmp(text_string(&found.input), text_string(&expected.input), found.input.length) == 0);
    must(strcmp(text_string(&found.kinds), text_string(&expected.kinds)) == 0);
    text_release(&found.input);
    text_release(&found.kinds);
    text_release(&expected.input);
    text_release(&expected.kinds);
    return 0;
}
