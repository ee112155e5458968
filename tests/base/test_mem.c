/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void a_list_grows_and_keeps_its_order(void **state)
{
    LIST(int) list = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++)
        list_add(&list, i * i);
    assert_int_equal(list.count, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(list.items[i], i * i);
    list_remove(&list, 0);
    list_remove(&list, 98);
    list_remove(&list, 50);
    assert_int_equal(list.count, 97);
    assert_int_equal(list.items[0], 1);
    assert_int_equal(list.items[49], 50 * 50);
    assert_int_equal(list.items[50], 52 * 52);
    assert_int_equal(list.items[96], 98 * 98);
    list_release(&list);
    assert_null(list.items);
    assert_int_equal(list.count + list.capacity, 0);
}

static void room_can_be_made_ahead(void **state)
{
    LIST(uint64_t) list = { 0 };

    (void)state;
    list_reserve(&list, 1000);
    const uint64_t *items = list.items;
    for (uint64_t i = 0; i < 1000; i++)
        list_add(&list, i);
    assert_ptr_equal(items, list.items);
    assert_int_equal(list.items[999], 999);
    list_release(&list);
}

static void strings_are_copied(void **state)
{
    AUTO_FREE char *copy = mem_string("abc");
    AUTO_FREE char *part = mem_string_of("abcdef", 3);
    AUTO_FREE char *made = mem_printf("%s-%d", "a", 7);
    AUTO_FREE char *gone = mem_string("x");

    (void)state;
    assert_string_equal(copy, "abc");
    assert_string_equal(part, "abc");
    assert_string_equal(made, "a-7");
    assert_null(mem_string(NULL));
    free(TAKE(gone));
    assert_null(gone);
}

static void new_memory_is_zero_and_resizing_keeps_it(void **state)
{
    char *block = mem_zero(8, 8);

    (void)state;
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(block[i], 0);
    memset(block, 'a', 64);
    block = mem_resize(block, 128, 8);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(block[i], 'a');
    assert_null(mem_resize(block, 0, 8));
    AUTO_FREE char *none = mem_zero(0, 8);
    assert_non_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_grows_and_keeps_its_order),
        cmocka_unit_test(room_can_be_made_ahead),
        cmocka_unit_test(strings_are_copied),
        cmocka_unit_test(new_memory_is_zero_and_resizing_keeps_it),
    };

    return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
