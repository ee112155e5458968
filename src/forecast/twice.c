/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/twice.h"

#include <errno.h>
#include <string.h>

#include "io/copy.h"

static int drive(const struct twice_ask *ask, bool is_change, struct outlook_side *ret,
                 struct error *err)
{
    AUTO(forward) struct forward *forward = forward_create(&ask->forward);

    int code = ask->prepare(ask->user, forward, is_change, err);
    if (code == 0)
        code = forward_go(forward, err);
    if (code == 0)
        outlook_take(forward, ret);
    return code;
}

/* In the copy: a code, and what came of it or what went wrong. */
static void drive_copy(void *user, int fd)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    struct outlook_side side = { 0 };
    struct error err = { "" };

    int32_t code = drive(user, false, &side, &err);
    text_add_bytes(&out, &code, sizeof(code));
    if (code == 0)
        outlook_encode(&side, &out);
    else
        text_add(&out, err.text);
    copy_write(fd, out.bytes, out.length);
    outlook_side_release(&side);
}

static int decode(struct text *bytes, struct outlook_side *ret, struct error *err)
{
    int32_t code;

    if (bytes->length < sizeof(code))
        return error_set(err, -EIO, "the run without the change was ended before its end");
    memcpy(&code, bytes->bytes, sizeof(code));
    const char *rest = bytes->bytes + sizeof(code);
    struct text body = { .bytes = (char *)(uintptr_t)rest, .length = bytes->length - sizeof(code) };
    return code < 0 ? error_set(err, code, "%s", rest) : outlook_decode(&body, ret, err);
}

int twice_go(const struct twice_ask *ask, struct outlook_side *ret_now,
             struct outlook_side *ret_change, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct copy copy;

    int code = copy_start(drive_copy, (void *)(uintptr_t)ask, &copy, err);
    if (code < 0)
        return code;
    code = drive(ask, true, ret_change, err);
    while (code == 0 && copy_read(&copy, &bytes))
        continue;
    copy_end(&copy);
    return code < 0 ? code : decode(&bytes, ret_now, err);
}
