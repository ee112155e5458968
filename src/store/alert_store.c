/* SPDX-License-Identifier: Apache-2.0 */
#include "store/alert_store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/side.h"
#include "store/sql.h"

enum { KIND_TOLD, KIND_SILENCE, KIND_NOTES };

struct alert_store {
    sqlite3 *db;
    char *path;
};

/* person: the user it concerns, or the user who silenced it; first, last: since when, and told or
 * until when. */
static const char schema[] =
    "PRAGMA journal_mode=WAL;"
    "CREATE TABLE IF NOT EXISTS alert(kind INTEGER, name TEXT, subject TEXT, person TEXT,"
    " words TEXT, first INTEGER, last INTEGER, node TEXT, job INTEGER, gpu INTEGER,"
    " severity INTEGER);";

static const char insert[] = "INSERT INTO alert VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

struct row {
    int kind;
    const char *name, *subject, *person, *words;
    usec_t first, last;
    const struct alert_thing *thing; /* of told */
};

int alert_store_open(const char *path, struct alert_store **ret, struct error *err)
{
    const struct side_plan plan = { .path = path, .schema = schema, .probe = insert };
    struct alert_store *store = mem_zero(1, sizeof(*store));

    store->path = mem_string(path);
    int code = side_open(&plan, &store->db, err);
    if (code < 0)
        alert_store_close(store);
    else
        *ret = store;
    return code;
}

void alert_store_close(struct alert_store *store)
{
    if (!store)
        return;
    sqlite3_close(store->db);
    free(store->path);
    free(store);
}

/* ---- read ---- */

static void copy(char *to, size_t size, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    snprintf(to, size, "%s", text ? text : "");
}

static void take_told(sqlite3_stmt *row, struct alerts *alerts, usec_t now)
{
    struct alert_thing thing = { .job = (uint64_t)sqlite3_column_int64(row, 8),
                                 .gpu = sqlite3_column_int64(row, 9) };
    int severity = sqlite3_column_int(row, 10);

    copy(thing.name, sizeof(thing.name), row, 1);
    copy(thing.subject, sizeof(thing.subject), row, 2);
    copy(thing.owner, sizeof(thing.owner), row, 3);
    copy(thing.words, sizeof(thing.words), row, 4);
    copy(thing.node, sizeof(thing.node), row, 7);
    if (!alert_name_is_known(thing.name) || severity < HEALTH_INFO || severity > HEALTH_CRITICAL)
        return;
    thing.severity = (enum health_severity)severity;
    alerts_recall(alerts, &thing, sqlite3_column_int64(row, 5), sqlite3_column_int64(row, 6), now);
}

static void take_silence(sqlite3_stmt *row, struct alert_silences *silences)
{
    struct alert_silence silence = { .at = sqlite3_column_int64(row, 5),
                                     .until = sqlite3_column_int64(row, 6) };

    copy(silence.name, sizeof(silence.name), row, 1);
    copy(silence.subject, sizeof(silence.subject), row, 2);
    copy(silence.by, sizeof(silence.by), row, 3);
    copy(silence.comment, sizeof(silence.comment), row, 4);
    if (silences->list.count < ALERT_SILENCES_MAX)
        list_add(&silences->list, silence);
}

int alert_store_load(struct alert_store *store, struct alerts *alerts, usec_t now,
                     struct alert_silences *silences, usec_t *ret_notes, struct error *err)
{
    sqlite3_stmt *row = NULL;
    int step = SQLITE_DONE;

    *ret_notes = USEC_NEVER;

    int code = sqlite3_prepare_v2(store->db, "SELECT * FROM alert", -1, &row, NULL);
    while (code == SQLITE_OK && (step = sqlite3_step(row)) == SQLITE_ROW) {
        if (sqlite3_column_int(row, 0) == KIND_TOLD)
            take_told(row, alerts, now);
        else if (sqlite3_column_int(row, 0) == KIND_SILENCE)
            take_silence(row, silences);
        else
            *ret_notes = sqlite3_column_int64(row, 5);
    }
    code = code == SQLITE_OK && step == SQLITE_DONE ? 0 : sql_error(store->db, store->path, err);
    sqlite3_finalize(row);
    return code;
}

/* ---- write ---- */

static void bind(sqlite3_stmt *into, const struct row *row)
{
    const struct alert_thing *thing = row->thing;

    sqlite3_bind_int(into, 1, row->kind);
    sqlite3_bind_text(into, 2, row->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(into, 3, row->subject, -1, SQLITE_STATIC);
    sqlite3_bind_text(into, 4, row->person, -1, SQLITE_STATIC);
    sqlite3_bind_text(into, 5, row->words, -1, SQLITE_STATIC);
    sqlite3_bind_int64(into, 6, row->first);
    sqlite3_bind_int64(into, 7, row->last);
    sqlite3_bind_text(into, 8, thing ? thing->node : "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(into, 9, thing ? (int64_t)thing->job : 0);
    sqlite3_bind_int64(into, 10, thing ? thing->gpu : -1);
    sqlite3_bind_int(into, 11, thing ? (int)thing->severity : 0);
}

/* All of a kind anew; begin sets how it waits for the disk. */
static int replace(struct alert_store *store, const char *begin, const struct row *rows,
                   size_t count, struct error *err)
{
    sqlite3_stmt *into = NULL;

    int code = sql_exec(store->db, store->path, begin, err);
    if (code == 0 && sqlite3_prepare_v2(store->db, insert, -1, &into, NULL) != SQLITE_OK)
        code = sql_error(store->db, store->path, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        bind(into, &rows[i]);
        code = sql_run(into, store->path, err);
    }
    sqlite3_finalize(into);
    if (code == 0)
        code = sql_exec(store->db, store->path, "COMMIT", err);
    if (code < 0)
        sql_exec(store->db, store->path, "ROLLBACK", NULL);
    return code;
}

int alert_store_put_told(struct alert_store *store, const struct alerts *alerts, struct error *err)
{
    AUTO_FREE struct row *rows = mem_zero(alerts->entries.count + 1, sizeof(rows[0]));
    size_t count = 0;

    for (size_t i = 0; i < alerts->entries.count; i++) {
        const struct alert_entry *entry = &alerts->entries.items[i];
        const struct alert_thing *thing = &entry->thing;
        if (entry->was_told)
            rows[count++] = (struct row){ KIND_TOLD,    thing->name,  thing->subject, thing->owner,
                                          thing->words, entry->since, entry->told,    thing };
    }
    return replace(store,
                   "PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE; DELETE FROM alert WHERE kind=0",
                   rows, count, err);
}

int alert_store_put_notes(struct alert_store *store, usec_t until, struct error *err)
{
    const struct row row = { KIND_NOTES, "", "", "", "", until, 0, NULL };

    return replace(store,
                   "PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE; DELETE FROM alert WHERE kind=2",
                   &row, 1, err);
}

int alert_store_put_silences(struct alert_store *store, const struct alert_silences *silences,
                             struct error *err)
{
    AUTO_FREE struct row *rows = mem_zero(silences->list.count + 1, sizeof(rows[0]));

    for (size_t i = 0; i < silences->list.count; i++) {
        const struct alert_silence *silence = &silences->list.items[i];
        rows[i] = (struct row){ KIND_SILENCE,     silence->name, silence->subject, silence->by,
                                silence->comment, silence->at,   silence->until,   NULL };
    }
    return replace(store,
                   "PRAGMA synchronous=FULL; BEGIN IMMEDIATE; DELETE FROM alert WHERE kind=1", rows,
                   silences->list.count, err);
}
