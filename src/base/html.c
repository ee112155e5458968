/* SPDX-License-Identifier: Apache-2.0 */
#include "base/html.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text.h"

void text_add_html(struct text *text, const char *words)
{
    AUTO_FREE char *clean = string_copy_clean(words);

    for (const char *c = clean; *c; c++) {
        switch (*c) {
        case '<':
            text_add(text, "&lt;");
            break;
        case '>':
            text_add(text, "&gt;");
            break;
        case '&':
            text_add(text, "&amp;");
            break;
        case '"':
            text_add(text, "&quot;");
            break;
        case '\'':
            text_add(text, "&#39;");
            break;
        default:
            text_add_char(text, *c);
        }
    }
}

/* Two units at most. */
void text_add_span(struct text *text, double seconds)
{
    static const struct {
        int64_t seconds, parts;
        const char *unit, *smaller;
    } units[] = { { 86400, 24, "d", "h" }, { 3600, 60, "h", "m" }, { 60, 60, "m", "s" } };

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (seconds < (double)units[i].seconds)
            continue;
        const int64_t part = units[i].seconds / units[i].parts;
        const int64_t count = (int64_t)(seconds / (double)part + 0.5);
        const int64_t whole = count / units[i].parts, rest = count % units[i].parts;
        text_printf(text, "%" PRId64 " %s", whole, units[i].unit);
        if (rest > 0 && whole < 10)
            text_printf(text, " %" PRId64 " %s", rest, units[i].smaller);
        return;
    }
    text_printf(text, "%.*f s", seconds > 0 && seconds < 10 ? 1 : 0, seconds);
}
