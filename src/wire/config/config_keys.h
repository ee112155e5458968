/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_CONFIG_KEYS_H
#define WIRE_CONFIG_CONFIG_KEYS_H

/* config_keys - the rows of core/config.def as tables, and what reads, writes and compares by them
 *
 * A table describes one struct: the settings, a pool, a queue ... . A kind (config_kinds.def) is
 * how a value is spelled in a document. Inside wire/config*.c only, and for the generators of
 * documents.
 */

#include "core/cluster/pool.h"
#include "core/health/alert.h"
#include "time/calendar.h"
#include "wire/config/config.h"

enum setting_kind {
#define KIND(ID, type, json, read, write, tell) SETTING_##ID,
#include "wire/config/config_kinds.def"
    SETTING_KINDS
};

enum {
    SETTING_ALWAYS = 1,   /* written also where it is the default */
    SETTING_QUIET = 2,    /* a default is "none" where changes are told */
    SETTING_SHORT = 4,    /* its section may be the value itself: `backfill: easy` */
    SETTING_IN_PLACE = 8, /* a text in the struct, not a pointer */
    SETTING_REAL = 16,    /* written with decimals */
    SETTING_NEEDED = 32,
    SETTING_SILENT = 64,    /* a default is not told at all */
    SETTING_ANYWAY = 128,   /* read also where the key is absent */
    SETTING_AT_START = 256, /* takes effect when the daemon starts */
};

enum setting_table {
    KEYS_TOP,
    KEYS_SETTINGS,
    KEYS_POOL,
    KEYS_QUEUE,
    KEYS_CELL,
    KEYS_BUDGET,
    KEYS_WINDOWED,
    KEYS_TARIFF,
    KEYS_RESERVATION,
    KEYS_SILENCE,
    KEYS_NODE_TYPE,
    KEYS_DEVICE_TYPE,
    KEYS_NODE,
};

struct setting {
    const char *section; /* of the settings: the map that it is in; "": none */
    const char *key, *label;
    const char *words; /* ": a, b": names of 0, 1 ... */
    const char *unit, *example, *sentence;
    int64_t least, most, fallback;
    uint16_t offset, size;
    uint8_t table, kind;
    uint16_t flags;
};

struct setting_rows {
    const struct setting *rows;
    size_t count;
};
struct setting_rows keys_rows(enum setting_table table);

/* A value that is read: from where, and which member it becomes. */
struct setting_place {
    struct config *config;
    const struct reader *reader;
    const json_t *object;
    const char *key;
    const json_t *value; /* NULL only with SETTING_ANYWAY */
    const struct setting *row;
    void *base;
};

/* A value that is written or told. */
struct setting_view {
    const struct config *config;
    const struct setting *row;
    const void *base;
};

/* One property of a thing as text, for what tells changes. */
struct property {
    const char *name, *value, *unit; /* "", " gpus" */
};
struct properties {
    struct arena *arena;
    LIST(struct property) items;
};

typedef int kind_read_fn(const struct setting_place *place);
typedef json_t *kind_write_fn(const struct setting_view *of); /* new; NULL: nothing to be written */
typedef void kind_tell_fn(const struct setting_view *of, struct properties *ret);

struct setting_ops {
    kind_read_fn *read;
    kind_write_fn *write;
    kind_tell_fn *tell; /* NULL: no property */
};
extern const struct setting_ops setting_ops[SETTING_KINDS];

kind_read_fn read_oom_retry, read_bound, read_listed, read_people, read_shape, read_during,
    read_pool_during, read_budget;
kind_read_fn read_when, read_owner, read_section, read_queues, read_prices, read_speeds;
kind_read_fn read_devices, read_env, read_files, read_gpu_labels, read_terms, read_silences,
    read_until, read_where, read_words;
kind_write_fn write_devices, write_gpu_labels, write_lines, write_names, write_terms,
    write_silences, write_until;
kind_write_fn write_oom_retry, write_bound, write_listed, write_people, write_during, write_budget;
kind_write_fn write_when, write_owner, write_section, write_windows, write_prices, write_speeds;
kind_tell_fn tell_gpu_labels;
kind_tell_fn tell_oom_retry, tell_bounds, tell_listed, tell_people, tell_during, tell_pool_during,
    tell_budget;

/* A failure about the value. */
#define place_fail(place, code, ...)                                                               \
    reader_fail((place)->reader, code, (place)->object, (place)->key, __VA_ARGS__)

bool is_label(const char *word); /* a name, or a name and a value */

/* The member of a row, of any size. */
int64_t setting_load(const struct setting *row, const void *base);
void setting_store(const struct setting *row, void *base, int64_t value);
const char *setting_text(const struct setting *row, const void *base);
int setting_store_text(const struct setting_place *place, const char *text);

struct config_silence {
    char fault[ALERT_NAME_SIZE], uuid[ALERT_SUBJECT_SIZE];
    usec_t until;
};

/* Every member at its default. */
void keys_clear(enum setting_table table, void *base);
/* Keys that a document does not have leave the member at its default, of settings as it was; others
 * than these are a failure, except beside settings. */
int keys_read(struct config *config, const struct reader *reader, const json_t *object,
              enum setting_table table, void *base);
json_t *keys_to_json(const struct config *config, enum setting_table table, const void *base);
void keys_tell(const struct config *config, enum setting_table table, const void *base,
               struct properties *ret);
/* The names of the keys, or of those in a section, NULL-terminated: how many. */
enum { KEYS_MAX = 48 };
size_t keys_names(enum setting_table table, const char *section, const char *ret[KEYS_MAX]);

void property_add(struct properties *ret, const char *name, const char *value, const char *unit);
/* An amount of a resource: "4", " gpus"; of another one "guarantee of h100", "4". */
void property_add_amount(struct properties *ret, const char *name, const char *resource,
                         int64_t amount);

const char *duration_spell(char *buffer, usec_t duration); /* "36h": reads back the same */
json_t *decimal_to_json(int64_t amount, int64_t unit);     /* whole where it can be */
json_t *map_below(json_t *map, const char *key);           /* made where there is none */

/* Whether a key has a map from names to things, and not too many. */
int map_check(const struct reader *reader, const json_t *document, const char *key,
              enum setting_kind kind);

extern const char *const bound_keys[]; /* by enum quota_bound; ends with NULL */
/* config_quota.c: amounts together, after all keys of a queue. */
int queue_check(struct config *config, const struct reader *reader, const json_t *object,
                struct event_queue *queue);
const char *amount_spell(char *buffer, const char *resource, int64_t amount);
/* Bound i of the queue with the quota of "gpus" first; NULL: no more. */
const struct quota *queue_quota_at(const struct event_queue *queue, uint32_t index,
                                   const char **ret_resource);

/* Maps whose items have names, and lists, by kind from SETTING_POOLS on. */
struct config_section {
    const char *kind; /* "node type"; NULL: a list */
    enum setting_table table;
    uint16_t items, count, size; /* of the owner: pointer and uint32_t; of an item */
    uint32_t most;
};
const struct config_section *section_of(enum setting_kind kind);
/* NULL: there is none. An item begins with its name, in place or as a pointer. */
void *section_item(const struct config_section *section, const void *base, uint32_t i);
const char *section_name(const struct config_section *section, const void *item);
void *section_find(enum setting_kind kind, const struct config *config, const char *name);

/* "no queue 'abd'; did you mean 'abc'?" */
int section_fail(enum setting_kind kind, const struct config *config, const struct reader *reader,
                 const json_t *object, const char *key, const char *name);

/* config_times.c: a calendar from words, a list of words, or a map {during, except} of them; NULL:
 * the key is absent. name: of the window, for errors. */
int calendar_read(const struct reader *reader, const json_t *object, const char *key,
                  const char *name, struct calendar **ret);
int times_read_windows(struct config *config, const struct reader *reader,
                       const json_t *document); /* and the time zone; before what names them */
int reservation_check(const struct reader *reader, const json_t *object,
                      struct event_reservation *reservation);
const char *times_words(const struct config *config, const char *window);
/* "for queue teaching, 4 h100, mon 14:00-16:00" */
void reservation_say(const struct config *config, const struct event_reservation *reservation,
                     struct text *text);

#endif
