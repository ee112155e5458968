/* SPDX-License-Identifier: Apache-2.0 */
#include "base/character.h"

#include "base/compiler.h"

size_t character_length(const char *bytes, size_t left)
{
    static const struct {
        unsigned char low, high;   /* of the first byte */
        unsigned char low2, high2; /* of the second */
        size_t length;
    } forms[] = {
        { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    const unsigned char *s = (const unsigned char *)bytes;

    if (s[0] < 0x80)
        return 1;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if (s[0] < forms[i].low || s[0] > forms[i].high)
            continue;
        if (left < forms[i].length || s[1] < forms[i].low2 || s[1] > forms[i].high2)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++) {
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        }
        return forms[i].length;
    }
    return 0;
}

uint32_t character_decode(const char *s, size_t left, size_t *ret_length)
{
    const unsigned char lead = (unsigned char)s[0];
    size_t length = character_length(s, left);

    *ret_length = length > 0 ? length : 1;
    if (length <= 1)
        return length == 1 ? lead : 0;
    uint32_t character = lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        character = character << 6 | ((unsigned char)s[i] & 0x3f);
    return character;
}

enum kind { SEEN, CONTROL, JOINER, BLANK };

static enum kind kind_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        enum kind kind;
    } ranges[] = {
#define RANGE(first, last, kind, what) { first, last, kind },
#include "base/character.def"
#undef RANGE
    };
    size_t low = 0, high = COUNT_OF(ranges);

    if (c > ' ' && c < 0x7f)
        return SEEN;
    while (low < high) { /* the first range that ends at c or behind it */
        size_t middle = (low + high) / 2;
        if (ranges[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < COUNT_OF(ranges) && ranges[low].first <= c ? ranges[low].kind : SEEN;
}

/* Of two joiners in a row, as in emoji, the second one is the zero width joiner. */
static bool may_join(uint32_t before, uint32_t c)
{
    enum { SCRIPTS_WITH_JOINERS = 0x600, ZERO_WIDTH_JOINER = 0x200d };

    return before >= SCRIPTS_WITH_JOINERS &&
           (kind_of(before) == SEEN ||
            (kind_of(before) == JOINER && c == ZERO_WIDTH_JOINER && before != ZERO_WIDTH_JOINER));
}

bool character_is_control(uint32_t before, uint32_t c)
{
    enum kind kind = kind_of(c);

    return kind == CONTROL || (kind == JOINER && !may_join(before, c));
}

bool character_is_joiner(uint32_t c)
{
    return kind_of(c) == JOINER;
}

bool character_is_blank(uint32_t c)
{
    return kind_of(c) == BLANK;
}
