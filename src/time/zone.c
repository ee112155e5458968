/* SPDX-License-Identifier: Apache-2.0 */
#include "time/zone.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "time/civil.h"
#include "time/zone_rule.h"

/* The layout of RFC 8536, section 3. */
enum {
    HEADER_SIZE = 44,
    COUNTS_AT = 20,
    TYPE_SIZE = 6,
    TIME_SIZE_OLD = 4, /* of the first block, which is skipped */
    TIME_SIZE = 8,
    RULE_LENGTH_MAX = 255,
};

#define FILE_TIME_MAX (((int64_t)1 << 61) / USEC_PER_SEC) /* seconds */

struct change {
    usec_t at;
    usec_t offset; /* from then on */
};

struct zone {
    char *name;
    usec_t first_offset;         /* before the first change */
    LIST(struct change) changes; /* ascending */
    bool has_rule;               /* else the last offset stays */
    struct zone_rule rule;       /* from the last change on */
};

bool zone_name_is_valid(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-";
    size_t length = strlen(name);

    if (length < 1 || length > ZONE_NAME_MAX)
        return false;
    for (const char *word = name;; word++) {
        size_t letter_count = strspn(word, letters);
        word += letter_count;
        if (letter_count == 0 || (*word != '/' && *word != '\0'))
            return false;
        if (*word == '\0')
            return true;
    }
}

static struct zone *zone_create(const char *name)
{
    struct zone *zone = mem_zero(1, sizeof(*zone));

    zone->name = mem_string(name);
    return zone;
}

struct zone *zone_utc(void)
{
    return zone_create("UTC");
}

void zone_destroy(struct zone *zone)
{
    if (!zone)
        return;
    list_release(&zone->changes);
    free(zone->name);
    free(zone);
}

const char *zone_name(const struct zone *zone)
{
    return zone->name;
}

int zone_of_rule(const char *name, const char *rule, struct zone **ret, struct error *err)
{
    struct zone_rule parsed;

    if (strlen(rule) > RULE_LENGTH_MAX || !zone_rule_parse(rule, &parsed))
        return error_set(err, -EINVAL,
                         "zone %.63s: '%.80s' is not a rule; expected one like "
                         "CET-1CEST,M3.5.0,M10.5.0/3",
                         name, rule);
    *ret = zone_create(name);
    (*ret)->has_rule = true;
    (*ret)->rule = parsed;
    (*ret)->first_offset = parsed.standard;
    return 0;
}

/* A block of the file: a header and what it counts. */
struct block {
    const unsigned char *times, *indices, *types;
    size_t time_count, type_count;
    size_t size; /* with the header */
    uint32_t leap_count;
    char version;
};

static uint32_t read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_i64(const unsigned char *at)
{
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

/* False: it does not fit the bytes that are there. */
static bool read_block(const unsigned char *bytes, size_t length, size_t time_size,
                       struct block *ret)
{
    enum { UTC_FLAGS, STANDARD_FLAGS, LEAPS, TIMES, TYPES, LETTERS, COUNTS };
    size_t counts[COUNTS];

    if (length < HEADER_SIZE || memcmp(bytes, "TZif", 4) != 0)
        return false;
    for (size_t i = 0; i < COUNTS; i++) {
        counts[i] = read_u32(bytes + COUNTS_AT + 4 * i);
        if (counts[i] > length)
            return false;
    }
    size_t size = HEADER_SIZE + counts[TIMES] * (time_size + 1) + counts[TYPES] * TYPE_SIZE +
                  counts[LETTERS] + counts[LEAPS] * (time_size + 4) + counts[STANDARD_FLAGS] +
                  counts[UTC_FLAGS];
    if (size > length)
        return false;
    *ret = (struct block){
        .times = bytes + HEADER_SIZE,
        .indices = bytes + HEADER_SIZE + counts[TIMES] * time_size,
        .types = bytes + HEADER_SIZE + counts[TIMES] * (time_size + 1),
        .time_count = counts[TIMES],
        .type_count = counts[TYPES],
        .size = size,
        .leap_count = (uint32_t)counts[LEAPS],
        .version = (char)bytes[4],
    };
    return true;
}

/* False: no such type, or an offset beyond ZONE_OFFSET_MAX. */
static bool read_offset(const struct block *block, size_t type, usec_t *ret)
{
    if (type >= block->type_count)
        return false;
    *ret = (int32_t)read_u32(block->types + type * TYPE_SIZE) * USEC_PER_SEC;
    return *ret >= -ZONE_OFFSET_MAX && *ret <= ZONE_OFFSET_MAX;
}

static const char *read_changes(const struct block *block, struct zone *zone)
{
    int64_t before = INT64_MIN;

    if (!read_offset(block, 0, &zone->first_offset))
        return "no first offset from UTC within 26 hours";
    for (size_t i = 0; i < block->time_count; i++) {
        int64_t seconds = read_i64(block->times + i * TIME_SIZE);
        struct change change;

        if (i > 0 && seconds <= before)
            return "its times do not ascend";
        before = seconds;
        if (!read_offset(block, block->indices[i], &change.offset))
            return "an offset from UTC that is missing or beyond 26 hours";
        /* Some begin with the beginning of the universe. */
        if (seconds < -FILE_TIME_MAX) {
            zone->first_offset = change.offset;
            continue;
        }
        if (seconds > FILE_TIME_MAX)
            break;
        change.at = seconds * USEC_PER_SEC;
        list_add(&zone->changes, change);
    }
    return NULL;
}

/* "\nRULE\n" behind the second block; an empty one says that nothing changes any more. */
static const char *read_rule(const unsigned char *bytes, size_t length, struct zone *zone)
{
    char rule[RULE_LENGTH_MAX + 1];

    const unsigned char *end = length > 1 ? memchr(bytes + 1, '\n', length - 1) : NULL;
    if (!end || bytes[0] != '\n')
        return "truncated before its rule";
    size_t rule_length = (size_t)(end - bytes) - 1;
    if (rule_length > RULE_LENGTH_MAX || memchr(bytes + 1, '\0', rule_length))
        return "a rule that is too long or not text";
    memcpy(rule, bytes + 1, rule_length);
    rule[rule_length] = '\0';
    zone->has_rule = rule_length > 0;
    if (zone->has_rule && !zone_rule_parse(rule, &zone->rule))
        return "an invalid rule for later years";
    return NULL;
}

/* What is wrong, or NULL. */
static const char *read_file(const unsigned char *bytes, size_t length, struct zone *zone)
{
    struct block old, block;

    if (!read_block(bytes, length, TIME_SIZE_OLD, &old))
        return "not a TZif file, or truncated";
    if (old.version < '2')
        return "TZif version 1; expected 2 or later";
    if (!read_block(bytes + old.size, length - old.size, TIME_SIZE, &block))
        return "truncated in its second part";
    if (block.leap_count > 0)
        return "leap seconds; expected a zone without them";
    const char *problem = read_changes(&block, zone);
    size_t skipped = old.size + block.size;
    return problem ? problem : read_rule(bytes + skipped, length - skipped, zone);
}

int zone_parse(const char *name, const void *bytes, size_t length, struct zone **ret,
               struct error *err)
{
    AUTO(zone) struct zone *zone = zone_create(name);

    const char *problem = length > ZONE_BYTES_MAX ? "too large" : read_file(bytes, length, zone);
    if (problem)
        return error_set(err, -EINVAL, "zone %.63s: %s", name, problem);
    *ret = TAKE(zone);
    return 0;
}

/* Where the rule rules: from the table's end on. */
static struct zone_piece rule_piece(const struct zone_rule *rule, usec_t begin, usec_t at)
{
    struct zone_piece piece = { begin, USEC_NEVER, rule->standard };
    int64_t year = civil_of_day(civil_day_of(at + rule->standard)).year;

    if (!rule->has_summer)
        return piece;
    /* Times may reach a week into another year. Of two changes in one moment the later year's
     * counts, so that a summer which lasts all year has no winter. */
    usec_t last = -USEC_NEVER;
    for (int64_t y = year - 2; y <= year + 2; y++) {
        usec_t changes[2];

        zone_rule_summer(rule, y, &changes[0], &changes[1]);
        bool is_south = changes[0] > changes[1];
        for (int i = 0; i < 2; i++) {
            bool starts = (i == 0) != is_south;
            usec_t change = changes[starts ? 0 : 1];

            if (change <= at && change >= last) {
                last = change;
                piece.offset = starts ? rule->summer : rule->standard;
            } else if (change > at && change < piece.until) {
                piece.until = change;
            }
        }
    }
    piece.from = last > begin ? last : begin;
    return piece;
}

struct zone_piece zone_piece_at(const struct zone *zone, usec_t at)
{
    size_t low = 0, high = zone->changes.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->changes.items[middle].at > at)
            high = middle;
        else
            low = middle + 1;
    }
    /* The first `low` changes have come. */
    bool is_last = low == zone->changes.count;
    usec_t from = low > 0 ? zone->changes.items[low - 1].at : -USEC_NEVER;
    if (is_last && zone->has_rule)
        return rule_piece(&zone->rule, from, at);
    return (struct zone_piece){
        .from = from,
        .until = is_last ? USEC_NEVER : zone->changes.items[low].at,
        .offset = low > 0 ? zone->changes.items[low - 1].offset : zone->first_offset,
    };
}

static void check_time(usec_t time)
{
    assert(time >= -ZONE_TIME_MAX && time <= ZONE_TIME_MAX);
}

usec_t zone_wall(const struct zone *zone, usec_t at)
{
    check_time(at);
    return at + zone_piece_at(zone, at).offset;
}

/* No clock is further from UTC than ZONE_OFFSET_MAX: what was shown two of these before is
 * overtaken for good. */
usec_t zone_highest(const struct zone *zone, usec_t at)
{
    check_time(at);
    struct zone_piece piece = zone_piece_at(zone, at - 2 * ZONE_OFFSET_MAX);
    usec_t highest = -USEC_NEVER;
    for (;;) {
        usec_t last = piece.until <= at ? piece.until - 1 : at;

        highest = last + piece.offset > highest ? last + piece.offset : highest;
        if (piece.until > at)
            return highest;
        piece = zone_piece_at(zone, piece.until);
    }
}

usec_t zone_first(const struct zone *zone, usec_t wall)
{
    check_time(wall);
    struct zone_piece piece = zone_piece_at(zone, wall - ZONE_OFFSET_MAX);
    for (;;) {
        usec_t at = wall - piece.offset;

        at = at > piece.from ? at : piece.from;
        if (at < piece.until)
            return at;
        piece = zone_piece_at(zone, piece.until);
    }
}

usec_t zone_last(const struct zone *zone, usec_t wall)
{
    check_time(wall);
    usec_t last = wall - ZONE_OFFSET_MAX;
    struct zone_piece piece = zone_piece_at(zone, last);
    for (;;) {
        usec_t end = wall - piece.offset;

        end = end < piece.until ? end : piece.until;
        if (end > piece.from && end > last)
            last = end;
        if (piece.until > wall + ZONE_OFFSET_MAX)
            return last;
        piece = zone_piece_at(zone, piece.until);
    }
}
