/* SPDX-License-Identifier: Apache-2.0 */
#include "store/readings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/record.h"
#include "io/log.h"
#include "store/side.h"
#include "store/sql.h"

#define MINUTE USEC_PER_MIN

enum { SECONDS_MAX = 64, PRUNE_EVERY_MIN = 10, LEVEL = 3, UNPACKED_MAX = 1 << 20 };

/* The minute of one device that is under way. */
struct minute {
    char *uuid;
    int64_t device; /* its row */
    usec_t at;      /* when it began; 0: none */
    struct reading seconds[SECONDS_MAX];
    uint32_t count;
};

struct readings {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *insert;
    bool is_failing;
    LIST(struct minute) minutes;
    int64_t bytes_max;
    usec_t pruned; /* time of the last check for old rows */
};

static const char schema[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL;"
    "CREATE TABLE IF NOT EXISTS device(id INTEGER PRIMARY KEY, uuid TEXT UNIQUE NOT NULL);"
    "CREATE TABLE IF NOT EXISTS minute(device INTEGER, at INTEGER, means BLOB, seconds BLOB,"
    " PRIMARY KEY(device, at)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS minute_at ON minute(at);";

static const char insert[] = "INSERT OR REPLACE INTO minute(device, at, means, seconds)"
                             " VALUES(?1, ?2, ?3, ?4)";

static int fail(const struct readings *readings, const char *what, struct error *err)
{
    return error_set(err, -EIO, "readings: %s: %s", what, sqlite3_errmsg(readings->db));
}

/* ---- packed forms: numbers as varints ---- */

static void put_signed(struct text *out, int64_t value)
{
    record_put_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

struct cursor {
    const char *at, *end;
};

static bool get(struct cursor *cursor, uint64_t *ret)
{
    size_t used = record_get_varint(cursor->at, (size_t)(cursor->end - cursor->at), ret);

    cursor->at += used;
    return used > 0;
}

static bool get_signed(struct cursor *cursor, int64_t *ret)
{
    uint64_t value;

    if (!get(cursor, &value))
        return false;
    *ret = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
    return true;
}

/* Of each reading that was there: its name (a hash of it would not be stable), mean and largest. */
static void pack_means(const struct minute *minute, struct text *out)
{
    for (enum reading_id id = 0; id < READINGS; id++) {
        int64_t sum = 0, most = INT64_MIN, last = 0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < minute->count; i++) {
            const struct reading *reading = &minute->seconds[i];
            if (!reading_has(reading, id))
                continue;
            last = reading->values[id];
            sum += last;
            most = last > most ? last : most;
            count++;
        }
        if (count == 0)
            continue;
        const char *name = reading_about[id].name;
        bool is_counter = reading_about[id].kind == READING_COUNTER;
        int64_t mean = sum / count;
        record_put_varint(out, strlen(name));
        text_add(out, name);
        put_signed(out, is_counter || count == 1 ? last : mean);
        put_signed(out, most);
    }
}

/* For each second: its offset in milliseconds, which readings, and how they differ from before. */
static void pack_seconds(const struct minute *minute, struct text *out)
{
    int64_t before[READINGS] = { 0 };

    record_put_varint(out, READINGS);
    for (enum reading_id id = 0; id < READINGS; id++) {
        record_put_varint(out, strlen(reading_about[id].name));
        text_add(out, reading_about[id].name);
    }
    for (uint32_t i = 0; i < minute->count; i++) {
        const struct reading *reading = &minute->seconds[i];
        record_put_varint(out, (uint64_t)((reading->at - minute->at) / USEC_PER_MS));
        record_put_varint(out, reading->has);
        for (enum reading_id id = 0; id < READINGS; id++) {
            if (!reading_has(reading, id))
                continue;
            put_signed(out, reading->values[id] - before[id]);
            before[id] = reading->values[id];
        }
    }
}

/* ---- writing ---- */

/* Its row, added when it is not there; 0: it could not be. */
static int64_t device_row(struct readings *readings, const char *uuid)
{
    sqlite3_stmt *statement = NULL;
    int64_t id = 0;

    if (sqlite3_prepare_v2(readings->db,
                           "INSERT INTO device(uuid) VALUES(?1)"
                           " ON CONFLICT(uuid) DO UPDATE SET uuid = uuid RETURNING id",
                           -1, &statement, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(statement, 1, uuid, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        id = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return id;
}

static void run(struct readings *readings, const char *sql, int64_t number)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(readings->db, sql, -1, &statement, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
}

static int64_t number_of(struct readings *readings, const char *query)
{
    int64_t number = 0;

    sql_number(readings->db, "readings", query, &number, NULL);
    return number;
}

int64_t readings_bytes(struct readings *readings)
{
    return (number_of(readings, "PRAGMA page_count") -
            number_of(readings, "PRAGMA freelist_count")) *
           number_of(readings, "PRAGMA page_size");
}

/* What is too old goes; and when the file is full, a day more at a time. */
static void prune(struct readings *readings, usec_t now)
{
    run(readings, "UPDATE minute SET seconds = NULL WHERE at < ?1 AND seconds IS NOT NULL",
        now - READINGS_SECONDS * USEC_PER_SEC);
    run(readings, "DELETE FROM minute WHERE at < ?1", now - READINGS_DAYS * USEC_PER_DAY);
    for (int tries = 0; tries < READINGS_DAYS && readings_bytes(readings) > readings->bytes_max;
         tries++) {
        int64_t oldest = number_of(readings, "SELECT min(at) FROM minute");
        int64_t span = (now - oldest) / 8;
        run(readings, "DELETE FROM minute WHERE at < ?1", oldest + (span > MINUTE ? span : MINUTE));
    }
    sqlite3_exec(readings->db, "PRAGMA incremental_vacuum(1000)", NULL, NULL, NULL);
}

/* What could not be saved is missing in the history; the log says so once. */
static void save(struct readings *readings)
{
    struct error err;

    int code = sql_run(readings->insert, readings->path, &err);
    sqlite3_clear_bindings(readings->insert);
    if (code < 0 && !readings->is_failing)
        log_line(LOG_WARNING, "readings are not saved reason='%s'", err.text);
    readings->is_failing = code < 0;
}

static void write_minute(struct readings *readings, struct minute *minute)
{
    AUTO_RELEASE(text) struct text means = { 0 }, seconds = { 0 };
    size_t bound;

    if (minute->count == 0)
        return;
    pack_means(minute, &means);
    pack_seconds(minute, &seconds);
    bound = ZSTD_compressBound(seconds.length);
    AUTO_FREE char *packed = mem_zero(bound, 1);
    size_t length = ZSTD_compress(packed, bound, seconds.bytes, seconds.length, LEVEL);
    sqlite3_reset(readings->insert);
    sqlite3_bind_int64(readings->insert, 1, minute->device);
    sqlite3_bind_int64(readings->insert, 2, minute->at);
    sqlite3_bind_blob(readings->insert, 3, means.bytes, (int)means.length, SQLITE_STATIC);
    if (ZSTD_isError(length))
        sqlite3_bind_null(readings->insert, 4);
    else
        sqlite3_bind_blob(readings->insert, 4, packed, (int)length, SQLITE_STATIC);
    save(readings);
    if (minute->at - readings->pruned >= PRUNE_EVERY_MIN * MINUTE) {
        prune(readings, minute->at);
        readings->pruned = minute->at;
    }
    minute->count = 0;
}

static struct minute *claim(struct readings *readings, const char *uuid)
{
    for (size_t i = 0; i < readings->minutes.count; i++) {
        if (strcmp(readings->minutes.items[i].uuid, uuid) == 0)
            return &readings->minutes.items[i];
    }
    if (readings->minutes.count == READINGS_DEVICES_MAX)
        return NULL;
    list_add(&readings->minutes,
             (struct minute){ .uuid = mem_string(uuid), .device = device_row(readings, uuid) });
    return &readings->minutes.items[readings->minutes.count - 1];
}

void readings_add(void *user, const char *uuid, usec_t at, const struct reading *reading)
{
    struct readings *readings = user;
    struct minute *minute = claim(readings, uuid);
    usec_t began = at - at % MINUTE;

    if (!minute)
        return;
    if (minute->at != began) {
        write_minute(readings, minute);
        minute->at = began;
    }
    if (minute->count == SECONDS_MAX)
        return;
    minute->seconds[minute->count] = *reading;
    minute->seconds[minute->count++].at = at;
}

/* ---- reading ---- */

/* Values of one step, until the next begins. */
struct steps {
    const struct reading_query *query;
    reading_fn *fn;
    void *user;
    usec_t at;
    int64_t sum, most, count;
};

static void flush(struct steps *steps)
{
    if (steps->count > 0)
        steps->fn(steps->user, steps->at, steps->sum / steps->count, steps->most);
    steps->sum = steps->count = 0;
}

static void take(struct steps *steps, usec_t at, int64_t mean, int64_t most)
{
    usec_t began = at - at % steps->query->step;

    if (at < steps->query->from || at >= steps->query->until)
        return;
    if (began != steps->at)
        flush(steps);
    if (steps->count == 0) {
        steps->at = began;
        steps->most = most;
    }
    steps->most = most > steps->most ? most : steps->most;
    steps->sum += mean;
    steps->count++;
}

static bool is_named(struct cursor *cursor, uint64_t length, const char *name)
{
    if (length > (uint64_t)(cursor->end - cursor->at))
        return false;
    bool is_it = strlen(name) == length && memcmp(cursor->at, name, length) == 0;
    cursor->at += length;
    return is_it;
}

static void take_means(struct steps *steps, usec_t at, const char *bytes, size_t length)
{
    struct cursor cursor = { bytes, bytes + length };
    const char *name = reading_about[steps->query->id].name;
    uint64_t size;
    int64_t mean, most;

    while (get(&cursor, &size) && size <= (uint64_t)(cursor.end - cursor.at)) {
        bool is_it = is_named(&cursor, size, name);
        if (!get_signed(&cursor, &mean) || !get_signed(&cursor, &most))
            return;
        if (is_it)
            take(steps, at, mean, most);
    }
}

/* False: they can't be read. */
static bool take_seconds(struct steps *steps, usec_t at, const char *packed, size_t packed_length)
{
    AUTO_FREE char *bytes = mem_zero(UNPACKED_MAX, 1);
    size_t length = ZSTD_decompress(bytes, UNPACKED_MAX, packed, packed_length);
    struct cursor cursor = { bytes, bytes + (ZSTD_isError(length) ? 0 : length) };
    const char *name = reading_about[steps->query->id].name;
    uint64_t count, size, offset, has, wanted = 64;
    int64_t values[64] = { 0 }, change;

    if (!get(&cursor, &count) || count > 64)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!get(&cursor, &size) || size > (uint64_t)(cursor.end - cursor.at))
            return false;
        if (is_named(&cursor, size, name))
            wanted = i;
    }
    while (get(&cursor, &offset) && get(&cursor, &has)) {
        for (uint64_t i = 0; i < count; i++) {
            if ((has >> i & 1) == 0)
                continue;
            if (!get_signed(&cursor, &change))
                return false;
            values[i] += change;
        }
        if (wanted < 64 && (has >> wanted & 1) != 0)
            take(steps, at + (usec_t)offset * USEC_PER_MS, values[wanted], values[wanted]);
    }
    return true;
}

static void take_under_way(struct readings *readings, struct steps *steps)
{
    enum reading_id id = steps->query->id;

    for (size_t i = 0; i < readings->minutes.count; i++) {
        const struct minute *minute = &readings->minutes.items[i];
        for (uint32_t k = 0; strcmp(minute->uuid, steps->query->uuid) == 0 && k < minute->count;
             k++) {
            const struct reading *reading = &minute->seconds[k];
            if (reading_has(reading, id))
                take(steps, reading->at, reading->values[id], reading->values[id]);
        }
    }
}

int readings_query(void *store, const struct reading_query *query, reading_fn *fn, void *user,
                   struct error *err)
{
    struct readings *readings = store;
    struct steps steps = { .query = query, .fn = fn, .user = user };
    sqlite3_stmt *rows = NULL;

    if (sqlite3_prepare_v2(readings->db,
                           "SELECT at, means, seconds FROM minute WHERE device ="
                           " (SELECT id FROM device WHERE uuid = ?1) AND at >= ?2 AND at < ?3"
                           " ORDER BY at",
                           -1, &rows, NULL) != SQLITE_OK)
        return fail(readings, "read", err);
    sqlite3_bind_text(rows, 1, query->uuid, -1, SQLITE_STATIC);
    sqlite3_bind_int64(rows, 2, query->from - query->from % MINUTE);
    sqlite3_bind_int64(rows, 3, query->until);
    int step;
    while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
        usec_t at = sqlite3_column_int64(rows, 0);
        bool is_fine = query->step < MINUTE && sqlite3_column_bytes(rows, 2) > 0 &&
                       take_seconds(&steps, at, sqlite3_column_blob(rows, 2),
                                    (size_t)sqlite3_column_bytes(rows, 2));
        if (!is_fine)
            take_means(&steps, at, sqlite3_column_blob(rows, 1),
                       (size_t)sqlite3_column_bytes(rows, 1));
    }
    sqlite3_finalize(rows);
    take_under_way(readings, &steps);
    flush(&steps);
    return step == SQLITE_DONE ? 0 : fail(readings, "read", err);
}

/* ---- begin and end ---- */

int readings_open(const char *path, int64_t bytes_max, struct readings **ret, struct error *err)
{
    const struct side_plan plan = { .path = path, .schema = schema, .probe = insert };
    struct readings *readings = mem_zero(1, sizeof(*readings));

    readings->path = mem_string(path);
    readings->bytes_max = bytes_max > 0 ? bytes_max : READINGS_BYTES_MAX;
    int code = side_open(&plan, &readings->db, err);
    if (code == 0 &&
        sqlite3_prepare_v2(readings->db, insert, -1, &readings->insert, NULL) != SQLITE_OK)
        code = fail(readings, path, err);
    if (code < 0) {
        readings_close(readings);
        return code;
    }
    sqlite3_busy_timeout(readings->db, 1000);
    *ret = readings;
    return 0;
}

void readings_close(struct readings *readings)
{
    if (!readings)
        return;
    for (size_t i = 0; i < readings->minutes.count; i++) {
        write_minute(readings, &readings->minutes.items[i]);
        free(readings->minutes.items[i].uuid);
    }
    list_release(&readings->minutes);
    sqlite3_finalize(readings->insert);
    sqlite3_close(readings->db);
    free(readings->path);
    free(readings);
}
