/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

enum { WIDTH_DEFAULT = 80, HEIGHT_DEFAULT = 24, WIDTH_MIN = 30, LABEL_MAX = 20 };

static size_t number_of(const char *name)
{
    const char *value = getenv(name);
    long number = value ? strtol(value, NULL, 10) : 0;

    return number > 0 && number < 10000 ? (size_t)number : 0;
}

void screen_look(FILE *stream, struct screen *ret)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    struct winsize size = { 0 };
    int code = errno;

    *ret = (struct screen){ .is_terminal = isatty(fileno(stream)) == 1 };
    errno = code; /* of output that could not be written, which is told at the end */
    if (!ret->is_terminal)
        return;
    ret->has_cursor = term && term[0] && strcmp(term, "dumb") != 0;
    ret->has_colours = ret->has_cursor && !(no_color && no_color[0]);
    ioctl(fileno(stream), TIOCGWINSZ, &size);
    ret->width = size.ws_col > 0 ? size.ws_col : number_of("COLUMNS");
    ret->height = size.ws_row > 0 ? size.ws_row : number_of("LINES");
    if (ret->width == 0)
        ret->width = WIDTH_DEFAULT;
    if (ret->height == 0)
        ret->height = HEIGHT_DEFAULT;
}

/* An unset locale (a container, a service) says nothing about the terminal. */
bool screen_is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return true;
}

void screen_put(FILE *stream, const char *text)
{
    static const struct {
        const char *sign, *ascii;
    } signs[] = { { "·", "-" }, { "█", "#" }, { "░", "." }, { "…", "~" } };

    if (screen_is_utf8()) {
        fputs(text, stream);
        return;
    }
    while (*text) {
        size_t i = 0;

        while (i < COUNT_OF(signs) && !string_starts(text, signs[i].sign))
            i++;
        if (i < COUNT_OF(signs)) {
            fputs(signs[i].ascii, stream);
            text += strlen(signs[i].sign);
        } else {
            fputc(*text++, stream);
        }
    }
}

/* Where the words of a line go on: below those behind its label ("  why     gpus"), else further in
 * than the line begins. */
static size_t hang_of(const char *line)
{
    size_t lead = strspn(line, " ");
    const char *gap = strstr(line + lead, "  ");

    if (lead > 0 && gap && (size_t)(gap - line) < LABEL_MAX)
        return (size_t)(gap - line) + strspn(gap, " ");
    return lead + 2;
}

static void wrap_line(struct text *out, const char *line, size_t width)
{
    size_t hang = hang_of(line), column = 0;

    while (*line && string_width(line) + column > width) {
        size_t spaces = strspn(line, " "), length = spaces + strcspn(line + spaces, " ");
        AUTO_FREE char *word = mem_string_of(line, length);
        size_t wide = string_width(word);

        if (column > hang && column + wide > width) {
            text_printf(out, "\n%*s%s", (int)hang, "", word + spaces);
            column = hang + wide - spaces;
        } else {
            text_add(out, word);
            column += wide;
        }
        line += length;
    }
    text_add(out, line);
}

void screen_prose(FILE *stream, const char *text)
{
    AUTO_RELEASE(text) struct text out = { 0 };
    struct screen screen;

    screen_look(stream, &screen);
    if (!screen.is_terminal || screen.width < WIDTH_MIN) {
        screen_put(stream, text);
        return;
    }
    while (*text) {
        size_t length = strcspn(text, "\n");
        AUTO_FREE char *line = mem_string_of(text, length);

        wrap_line(&out, line, screen.width);
        text_add(&out, text[length] ? "\n" : "");
        text += length + (text[length] != '\0');
    }
    screen_put(stream, text_string(&out));
}

void screen_table(const struct table *table)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct screen screen;

    screen_look(stdout, &screen);
    const struct table_view view = { .width = screen.width,
                                     .has_colours = screen.has_colours,
                                     .has_title = true };
    table_format(table, &view, &text);
    screen_put(stdout, text_string(&text));
}

static void PRINTF(2, 0) talk_line(const char *prefix, const char *format, va_list args)
{
    AUTO_FREE char *words = mem_vprintf(format, args);
    AUTO_RELEASE(text) struct text line = { 0 };

    text_add(&line, prefix);
    text_add_clean(&line, words);
    text_add_char(&line, '\n');
    fflush(stdout);
    screen_prose(stderr, line.bytes);
    fflush(stderr);
}

void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    talk_line("tarn: ", format, args);
    va_end(args);
}

void talk(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    talk_line("", format, args);
    va_end(args);
}

int complain(const struct error *err)
{
    say("%s", err->text);
    return 1;
}
