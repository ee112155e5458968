/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/slurm/import_inside.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

void import_report(struct import *import, const struct slurm_line *line, const char *what,
                   const char *words)
{
    const char *partition = slurm_line_get(line, "PartitionName");
    bool is_in_place = line->number == 0 && partition && strcmp(partition, what) == 0;
    char clean[160];

    string_clean(clean, sizeof(clean), what, strlen(what));
    slurm_line_place(line, import->report);
    if (!is_in_place)
        text_printf(import->report, ": %s", clean);
    text_printf(import->report, ": %s\n", words);
}

void import_report_pair(struct import *import, const struct slurm_line *line, const char *key,
                        const char *words)
{
    const char *value = slurm_line_get(line, key);
    AUTO_FREE char *what = mem_printf("%s=%s", key, value ? value : "");

    if (value)
        import_report(import, line, what, words);
}

static bool is_one_of(const char *value, const char *words)
{
    size_t length;

    for (; words && *words; words += length + (words[length] == '|')) {
        length = strcspn(words, "|");
        if (strlen(value) == length && strncasecmp(value, words, length) == 0)
            return true;
    }
    return false;
}

void import_report_notes(struct import *import, const struct slurm_line *line,
                         const struct import_note *notes, size_t count)
{
    for (size_t i = 0; i < line->pairs.count; i++) {
        const char *key = line->pairs.items[i].key, *value = slurm_line_get(line, key);
        for (size_t k = 0; k < count; k++) {
            size_t length = strcspn(notes[k].key, "*");
            bool is_it = strncasecmp(key, notes[k].key, length) == 0 &&
                         (notes[k].key[length] == '*' || key[length] == '\0');
            if (is_it && value && !is_one_of(value, notes[k].harmless))
                import_report_pair(import, line, key, notes[k].words);
        }
    }
}

void import_fail(struct import *import, const struct slurm_line *line, const char *key,
                 const char *expected)
{
    const char *value = slurm_line_get(line, key);

    if (import->code == 0)
        import->code = slurm_line_fail(line, import->err, "%s=%.60s: expected %s", key,
                                       value ? value : "", expected);
}

int64_t import_minutes(struct import *import, const struct slurm_line *line, const char *key)
{
    const char *value = line ? slurm_line_get(line, key) : NULL;
    usec_t duration;

    if (!value || is_one_of(value, "NONE|INFINITE|UNLIMITED|-1"))
        return 0;
    if (units_parse_slurm_time(value, &duration, NULL) < 0) {
        import_fail(import, line, key, "minutes, HH:MM:SS, DAYS-HH:MM:SS or UNLIMITED");
        return 0;
    }
    int64_t minutes = duration == USEC_NEVER ? 0 : (duration + USEC_PER_MIN - 1) / USEC_PER_MIN;
    if (minutes > MINUTES_MAX)
        import_report_pair(import, line, key, "longer than a year: no limit");
    return minutes > MINUTES_MAX ? 0 : minutes;
}

bool import_is_name(const char *name)
{
    return string_is_name(name, NAME_LENGTH_MAX) && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}
