/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of values: how each is read, written, and told in a difference. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "wire/config/config_amounts.h"
#include "wire/json.h"

enum { WORDS_MAX = 12, WORDS_SIZE = 128 };

/* ---- numbers ---- */

/* So many parts of a member are one in the document. */
static int64_t scale_of(const struct setting *row)
{
    return row->kind == SETTING_MONEY                                  ? 1000000
           : row->kind == SETTING_HOURS                                ? USEC_PER_HOUR
           : row->kind == SETTING_MILLI || row->kind == SETTING_MILLIS ? 1000
                                                                       : 1;
}

static int read_number(const struct setting_place *place)
{
    const struct setting *row = place->row;
    int64_t value = 0, scale = scale_of(row);

    int code = row->kind == SETTING_MILLI
                   ? reader_milli(place->reader, place->object, place->key, row->most, &value)
                   : reader_integer(place->reader, place->object, place->key, row->least / scale,
                                    row->most / scale, &value);
    setting_store(row, place->base, row->kind == SETTING_MILLI ? value : value * scale);
    return code;
}

static int read_memory(const struct setting_place *place)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    int64_t mib = 0;

    int code =
        reader_scalar(place->reader, place->object, place->key, "a size like 512G", buffer, &text);
    if (code < 0)
        return code;
    if (units_parse_mib(text, &mib, place->reader->err) < 0)
        return reader_place(place->reader, -EINVAL, place->object, place->key);
    setting_store(place->row, place->base, mib);
    return 0;
}

static int read_decimal(const struct setting_place *place)
{
    AUTO(json) json_t *value = plain_read(place->value);
    double number = json_number_value(value), scale = (double)scale_of(place->row);
    double most = (double)place->row->most / scale;
    bool is_money = place->row->kind == SETTING_MONEY;
    bool is_none = !is_money && json_is_false(value);

    if (!is_none && (!json_is_number(value) || number < 0 || number > most))
        return is_money ? place_fail(place, -EINVAL, "expected a price per hour, 0 to %.0f", most)
                        : place_fail(place, -EINVAL, "expected a number (%s), 0 to %.0f",
                                     place->row->unit, most);
    setting_store(place->row, place->base, (int64_t)(number * scale + 0.5));
    return 0;
}

static int read_duration(const struct setting_place *place)
{
    char least[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];
    usec_t value = 0;

    int code = reader_duration(place->reader, place->object, place->key, &value);
    if (code < 0)
        return code;
    if (value < place->row->least || value > place->row->most)
        return place_fail(place, -ERANGE, "expected %s to %s",
                          duration_spell(least, place->row->least),
                          duration_spell(most, place->row->most));
    setting_store(place->row, place->base, value);
    return 0;
}

static json_t *write_number(const struct setting_view *of)
{
    int64_t value = setting_load(of->row, of->base), scale = scale_of(of->row);
    char buffer[UNITS_TEXT_SIZE];

    if (of->row->kind == SETTING_DURATION)
        return json_string(duration_spell(buffer, value));
    return of->row->flags & SETTING_REAL ? json_real((double)value / (double)scale)
                                         : decimal_to_json(value, scale);
}

/* ---- words ---- */

/* ": a, b" as its words; they stand in buffer. */
static void split_words(const char *words, char buffer[WORDS_SIZE], const char *ret[WORDS_MAX])
{
    size_t count = 0;
    char *rest = buffer;

    snprintf(buffer, WORDS_SIZE, "%s", words[0] ? words + 2 : "");
    for (char *word = strsep(&rest, ","); word && count < WORDS_MAX - 1; word = strsep(&rest, ","))
        ret[count++] = word + (word[0] == ' ');
    ret[count] = NULL;
}

static int read_word(const struct setting_place *place)
{
    const char *words[WORDS_MAX];
    char buffer[WORDS_SIZE];
    size_t value = 0;

    split_words(place->row->words, buffer, words);
    int code = reader_word(place->reader, place->object, place->key, words, &value);
    setting_store(place->row, place->base, (int64_t)value);
    return code;
}

/* A number, or a word that stands for one. */
static int read_depth(const struct setting_place *place)
{
    AUTO(json) json_t *value = plain_read(place->value);

    if (json_is_number(value))
        return read_number(place);
    int code = read_word(place);
    if (code == 0 && setting_load(place->row, place->base) == 2)
        setting_store(place->row, place->base, place->row->most);
    return code;
}

static int read_bool(const struct setting_place *place)
{
    bool value = false;

    int code = reader_bool(place->reader, place->object, place->key, &value);
    setting_store(place->row, place->base, value);
    return code;
}

static json_t *write_word(const struct setting_view *of)
{
    const char *words[WORDS_MAX];
    char buffer[WORDS_SIZE];

    split_words(of->row->words, buffer, words);
    return json_string(words[setting_load(of->row, of->base)]);
}

static json_t *write_bool(const struct setting_view *of)
{
    return json_boolean(setting_load(of->row, of->base));
}

/* ---- texts ---- */

static int read_text(const struct setting_place *place)
{
    size_t most =
        place->row->flags & SETTING_IN_PLACE ? place->row->size - 1u : WATCH_TEXT_SIZE - 1u;
    const char *text = NULL;

    int code = reader_string(place->reader, place->object, place->key, most, &text);
    return code < 0 ? code : setting_store_text(place, text);
}

/* HOST, HOST:PORT or [ADDRESS]:PORT, with or without a user name before it. */
static bool has_host(const char *rest)
{
    size_t length = strcspn(rest, "/?#");
    const char *end = rest + length, *name = memrchr(rest, '@', length);
    const char *host = name ? name + 1 : rest;
    bool is_address = host[0] == '[';
    size_t host_length = strcspn(host, is_address ? "]" : ":/?#");
    const char *port = host + host_length + is_address;

    if (host_length < 1u + is_address || port > end)
        return false;
    if (port == end)
        return true;
    size_t digits = strspn(port + 1, "0123456789");
    return *port == ':' && digits > 0 && digits <= 5 && port + 1 + digits == end;
}

/* One of two schemes and a host. */
static bool is_url(const char *url, const char *plain, const char *safe)
{
    const char *scheme = string_starts(url, plain) ? plain : safe;

    return string_starts(url, scheme) && has_host(url + strlen(scheme)) && !strchr(url, ' ') &&
           !string_has_control(url);
}

/* A command for the shell, the program of which is not searched for, a URL or a domain. What
 * nothing could be sent to is refused here already. */
static int read_place(const struct setting_place *place)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    int code = read_text(place);
    const char *text = setting_text(place->row, place->base);

    if (code < 0 || !text[0])
        return code;
    if (place->row->kind == SETTING_COMMAND && text[0] != '/')
        return place_fail(place, -EINVAL, "expected an absolute path");
    if (place->row->kind == SETTING_WEB && !is_url(text, "http://", "https://"))
        return place_fail(place, -EINVAL, "expected http:// or https://, and a host");
    if (place->row->kind == SETTING_MAIL && !is_url(text, "smtp://", "smtps://"))
        return place_fail(place, -EINVAL, "expected smtp:// or smtps://, and a host");
    if (place->row->kind == SETTING_DOMAIN && (text[strspn(text, letters)] || text[0] == '.'))
        return place_fail(place, -EINVAL,
                          "expected the domain of the addresses (after the @), like example.org");
    return 0;
}

static int read_name(const struct setting_place *place)
{
    const char *name = NULL;

    int code = reader_name(place->reader, place->object, place->key, &name);
    return code < 0 ? code : setting_store_text(place, name);
}

/* As devices have it: in lower case. */
static int read_model(const struct setting_place *place)
{
    char model[REQUEST_MODEL_SIZE];
    const char *name = NULL;

    int code = reader_name(place->reader, place->object, place->key, &name);
    if (code < 0)
        return code;
    if (!lower_copy(model, name))
        return place_fail(place, -EINVAL, "'%s': longer than %d bytes", name,
                          REQUEST_MODEL_SIZE - 1);
    return setting_store_text(place, model);
}

/* Of a described device. One as long as it may be has to be given where the name is longer. */
static int read_accelerator(const struct setting_place *place)
{
    const struct device_type *type = place->base;
    char kind[DEVICE_KIND_SIZE] = "";
    const char *name = type->name;

    int code = place->value ? reader_name(place->reader, place->object, place->key, &name) : 0;
    if (code < 0)
        return code;
    if (strlen(name) >= sizeof(kind))
        return reader_fail(place->reader, -EINVAL, place->object, place->key,
                           "'%.40s': longer than %d letters; expected one like tpu", name,
                           DEVICE_KIND_SIZE - 1);
    for (size_t i = 0; name[i]; i++)
        kind[i] = (char)tolower((unsigned char)name[i]);
    return setting_store_text(place, strcasecmp(kind, type->name) == 0 ? "" : kind);
}

static json_t *write_text(const struct setting_view *of)
{
    const char *text = setting_text(of->row, of->base);

    return text[0] ? json_string(text) : NULL;
}

/* ---- told in a difference ---- */

/* As it is written, a list in one line. */
static void spell(const struct setting *row, const json_t *value, struct text *out)
{
    const char *separator = row->kind == SETTING_TERM_NODES || row->kind == SETTING_DEVICES ? " "
                            : row->kind == SETTING_WHERE                                    ? ", "
                                                                                            : ",";

    if (json_is_string(value))
        text_add(out, json_string_value(value));
    else if (json_is_integer(value))
        text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        text_printf(out, "%.6g", json_real_value(value));
    else if (json_is_boolean(value))
        text_add(out, json_is_true(value) ? "true" : "false");
    for (size_t i = 0; i < json_array_size(value); i++) {
        text_add(out, i > 0 ? separator : "");
        spell(row, json_array_get(value, i), out);
    }
}

static void tell_value(const struct setting_view *of, struct properties *ret)
{
    const struct setting *row = of->row;
    bool is_default = row->kind < SETTING_TEXT && setting_load(row, of->base) == row->fallback;
    AUTO_RELEASE(text) struct text words = { 0 };

    if (is_default && row->flags & SETTING_SILENT)
        return;
    json_t *value = setting_ops[row->kind].write(of);
    if (row->kind == SETTING_SILENCES)
        text_add(&words, setting_text(row, of->base));
    else if (row->kind == SETTING_DURATION && setting_load(row, of->base) == 0)
        text_add(&words, "never");
    else if (!is_default || !(row->flags & SETTING_QUIET))
        spell(row, value, &words);
    if (row->kind == SETTING_PARENT && !value)
        text_add(&words, "root");
    json_decref(value);
    property_add(ret, row->label, text_string(&words), "");
}

static void tell_millis(const struct setting_view *of, struct properties *ret)
{
    int64_t value = setting_load(of->row, of->base);

    property_add_amount(ret, of->row->label, "gpus",
                        value == of->row->fallback ? QUOTA_NONE : value);
}

const struct setting_ops setting_ops[SETTING_KINDS] = {
#define KIND(ID, type, json, read, write, tell) { read, write, tell },
#include "wire/config/config_kinds.def"
};
