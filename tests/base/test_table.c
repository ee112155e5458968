/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/table.h"

static const struct table_column columns[] = {
    { "ID", TABLE_RIGHT, 0 },
    { "NAME", TABLE_LEFT, 0 },
    { "WAIT", TABLE_RIGHT, 0 },
    { "WHY", TABLE_LEFT, 8 },
};

static struct table *sample(void)
{
    struct table *table = table_create(columns, COUNT_OF(columns));

    table_start_row(table);
    table_add_number(table, 4);
    table_add_text(table, "finetune");
    table_add_duration(table, 12 * USEC_PER_SEC);
    table_start_row(table);
    table_add_number(table, 1007);
    table_add_text(table, "a");
    table_add_absent(table);
    table_add_text(table, "4 gpus wanted, 2 free");
    return table;
}

static void assert_listing(const struct table *table, struct table_view view, const char *expected)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    table_format(table, &view, &text);
    assert_string_equal(text_string(&text), expected);
}

static void cells_are_aligned_and_no_line_ends_in_a_space(void **state)
{
    (void)state;
    AUTO(table) struct table *table = sample();

    assert_listing(table, (struct table_view){ .has_title = true },
                   "  ID  NAME      WAIT  WHY\n"
                   "   4  finetune   12s\n"
                   "1007  a            -  4 gpus wanted, 2 free\n");
    assert_listing(table, (struct table_view){ 0 },
                   "   4  finetune  12s\n"
                   "1007  a           -  4 gpus wanted, 2 free\n");
}

static void a_narrow_terminal_cuts_the_prose_and_then_drops_what_can_t_be_cut(void **state)
{
    (void)state;
    AUTO(table) struct table *table = sample();

    assert_listing(table, (struct table_view){ .width = 32, .has_title = true },
                   "  ID  NAME      WAIT  WHY\n"
                   "   4  finetune   12s\n"
                   "1007  a            -  4 gpus wa…\n");
    assert_listing(table, (struct table_view){ .width = 29, .has_title = true },
                   "  ID  NAME      WHY\n"
                   "   4  finetune\n"
                   "1007  a         4 gpus wante…\n");
    assert_listing(table, (struct table_view){ .width = 14, .has_title = true },
                   "  ID  WHY\n"
                   "   4\n"
                   "1007  4 gpus …\n");
    assert_listing(table, (struct table_view){ .width = 3, .has_title = true },
                   " ID\n"
                   "  4\n"
                   "10…\n");
}

static void names_are_cut_before_anything_is_left_out_and_prose_stays(void **state)
{
    static const struct table_column many[] = {
        { "ID", TABLE_RIGHT, 0 },  { "NAME", TABLE_LEFT, 6 }, { "USER", TABLE_LEFT, 4 },
        { "WAIT", TABLE_LEFT, 0 }, { "WHY", TABLE_LEFT, 10 }, { "POOL", TABLE_LEFT, 0 },
    };
    (void)state;
    AUTO(table) struct table *table = table_create(many, COUNT_OF(many));

    table_start_row(table);
    table_add_number(table, 7);
    table_add_text(table, "a-long-name");
    table_add_text(table, "annabel");
    table_add_text(table, "12s");
    table_add_text(table, "4 gpus wanted, 2 free");
    table_add_text(table, "north");
    assert_listing(table, (struct table_view){ .width = 60, .has_title = true },
                   "ID  NAME         USER     WAIT  WHY                    POOL\n"
                   " 7  a-long-name  annabel  12s   4 gpus wanted, 2 free  north\n");
    assert_listing(table, (struct table_view){ .width = 54, .has_title = true },
                   "ID  NAME    USER    WAIT  WHY                    POOL\n"
                   " 7  a-lon…  annab…  12s   4 gpus wanted, 2 free  north\n");
    assert_listing(table, (struct table_view){ .width = 41, .has_title = true },
                   "ID  NAME    USER  WAIT  WHY         POOL\n"
                   " 7  a-lon…  ann…  12s   4 gpus wa…  north\n");
    assert_listing(table, (struct table_view){ .width = 34, .has_title = true },
                   "ID  NAME    USER  WAIT  WHY\n"
                   " 7  a-lon…  ann…  12s   4 gpus wa…\n");
}

static void no_line_is_ever_wider_than_the_terminal(void **state)
{
    (void)state;
    AUTO(table) struct table *table = sample();

    for (size_t width = 1; width <= 60; width++) {
        AUTO_RELEASE(text) struct text text = { 0 };
        struct table_view view = { .width = width, .has_title = true };

        table_format(table, &view, &text);
        char *rest = text.bytes;
        for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
            assert_in_range(string_width(line), 0, width);
    }
}

static void styles_are_only_written_where_there_are_colours(void **state)
{
    static const struct table_column one[] = { { "STATE", TABLE_LEFT, 0 }, { "X", TABLE_LEFT, 0 } };
    (void)state;
    AUTO(table) struct table *table = table_create(one, COUNT_OF(one));

    table_start_row(table);
    table_add_text(table, "lost");
    table_style(table, TABLE_BAD);
    table_add_text(table, "y");
    assert_listing(table, (struct table_view){ 0 }, "lost  y\n");
    assert_listing(table, (struct table_view){ .has_colours = true }, "\033[31mlost\033[0m  y\n");
}

static void typed_cells_have_their_units(void **state)
{
    static const struct table_column kinds[] = {
        { "A", TABLE_RIGHT, 0 },
        { "B", TABLE_RIGHT, 0 },
        { "C", TABLE_LEFT, 0 },
    };
    (void)state;
    AUTO(table) struct table *table = table_create(kinds, COUNT_OF(kinds));

    table_start_row(table);
    table_add_text(table, "80 GiB");
    table_add_milli(table, 500);
    table_add_format(table, "%s-%d", "x", 7);
    assert_listing(table, (struct table_view){ 0 }, "80 GiB  0.5  x-7\n");
}

static void a_text_can_t_steer_the_terminal(void **state)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    (void)state;

    text_add_cut(&text, "a\033[31m\nb\xc2\x9b", 80);
    assert_string_equal(text.bytes, "a?[31m?b?");
}

static void widths_are_those_of_a_terminal(void **state)
{
    static const struct {
        const char *string;
        size_t width;
    } cases[] = {
        { "", 0 }, { "abc", 3 }, { "·", 1 }, { "日本", 4 }, { "e\xcc\x81", 1 }, { "█░", 2 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(string_width(cases[i].string), cases[i].width);
    AUTO_RELEASE(text) struct text text = { 0 };
    text_add_cut(&text, "日本語", 4);
    assert_string_equal(text.bytes, "日…");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_aligned_and_no_line_ends_in_a_space),
        cmocka_unit_test(a_narrow_terminal_cuts_the_prose_and_then_drops_what_can_t_be_cut),
        cmocka_unit_test(no_line_is_ever_wider_than_the_terminal),
        cmocka_unit_test(styles_are_only_written_where_there_are_colours),
        cmocka_unit_test(typed_cells_have_their_units),
        cmocka_unit_test(a_text_can_t_steer_the_terminal),
        cmocka_unit_test(names_are_cut_before_anything_is_left_out_and_prose_stays),
        cmocka_unit_test(widths_are_those_of_a_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
