/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exposition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void exposition_metric(struct exposition *exposition, const char *name, const char *type,
                       const char *help)
{
    exposition->name = name;
    exposition->type = type;
    exposition->help = help;
    exposition->has_head = false;
    text_clear(&exposition->labels);
}

static void add_escaped(struct text *out, const char *value, bool is_label)
{
    const char *odd = is_label ? "\\\n\"" : "\\\n";

    for (;;) {
        size_t plain = strcspn(value, odd);
        text_add_bytes(out, value, plain);
        value += plain;
        if (!*value)
            return;
        text_add_char(out, '\\');
        text_add_char(out, *value == '\n' ? 'n' : *value);
        value++;
    }
}

void exposition_label(struct exposition *exposition, const char *name, const char *value)
{
    struct text *labels = &exposition->labels;

    if (!value || !value[0])
        return;
    if (labels->length > 0)
        text_add_char(labels, ',');
    text_add(labels, name);
    text_add(labels, "=\"");
    AUTO_FREE char *clean = string_copy_clean(value); /* it is shown to others, far from here */
    add_escaped(labels, clean, true);
    text_add_char(labels, '"');
}

void exposition_label_number(struct exposition *exposition, const char *name, uint64_t value)
{
    char number[24];

    snprintf(number, sizeof(number), "%" PRIu64, value);
    exposition_label(exposition, name, number);
}

void exposition_labels(struct exposition *exposition, const struct text *labels)
{
    if (labels->length == 0)
        return;
    if (exposition->labels.length > 0)
        text_add_char(&exposition->labels, ',');
    text_add_bytes(&exposition->labels, labels->bytes, labels->length);
}

static void add_head(struct exposition *exposition)
{
    if (exposition->has_head)
        return;
    exposition->has_head = true;
    text_printf(exposition->out, "# HELP %s ", exposition->name);
    add_escaped(exposition->out, exposition->help, false);
    text_printf(exposition->out, "\n# TYPE %s %s\n", exposition->name, exposition->type);
}

void exposition_sample(struct exposition *exposition, double value)
{
    struct text *labels = &exposition->labels;

    add_head(exposition);
    text_add(exposition->out, exposition->name);
    if (labels->length > 0) {
        text_add_char(exposition->out, '{');
        text_add_bytes(exposition->out, labels->bytes, labels->length);
        text_add_char(exposition->out, '}');
    }
    if (value == (double)(int64_t)value && value < 1e15 && value > -1e15)
        text_printf(exposition->out, " %" PRId64 "\n", (int64_t)value);
    else
        text_printf(exposition->out, " %.9g\n", value);
    text_clear(labels);
}
