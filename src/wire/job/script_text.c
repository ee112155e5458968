/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/script_text.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"

enum { LEAD = 0xc0, NEXT = 0x80, LOW_BITS = 6, LOW = 0x3f, LEAD_MOST = 0xc3 };

void script_text_put(json_t *object, const char *script, size_t length)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    if (string_is_utf8(script, length)) {
        json_object_set_new(object, "script", json_stringn_nocheck(script, length));
        return;
    }
    for (size_t i = 0; i < length; i++) {
        const uint8_t byte = (uint8_t)script[i];
        if (byte >= NEXT)
            text_add_char(&text, (char)(LEAD | byte >> LOW_BITS));
        text_add_char(&text, (char)(byte >= NEXT ? NEXT | (byte & LOW) : byte));
    }
    json_object_set_new(object, "script_bytes", json_stringn_nocheck(text.bytes, text.length));
}

/* JSON is valid UTF-8: behind a leading byte there is another. */
char *script_text_decode(const char *text)
{
    struct text bytes = { 0 };

    for (; *text; text++) {
        const uint8_t lead = (uint8_t)*text;
        if (lead > LEAD_MOST) {
            text_release(&bytes);
            return NULL;
        }
        if (lead >= LEAD)
            text++;
        text_add_char(&bytes,
                      (char)(lead >= LEAD ? lead << LOW_BITS | ((uint8_t)*text & LOW) : lead));
    }
    return text_take(&bytes);
}
