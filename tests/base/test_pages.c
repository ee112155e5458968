/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/pages.h"

enum { NUMBERS = 1000, STEPS = 100000 };

static void nothing_is_there_before_it_is_set(void **state)
{
    struct pages pages = { 0 };

    (void)state;
    assert_null(pages_get(&pages, 0));
    assert_null(pages_get(&pages, UINT64_MAX));
    pages_remove(&pages, 7);
    assert_int_equal(pages.count, 0);
    pages_release(&pages);
}

static void every_number_has_an_item_of_its_own(void **state)
{
    static const uint64_t numbers[] = { 0, 1, 63, 64, 65, UINT64_C(1) << 40, UINT64_MAX };
    struct pages pages = { 0 };
    int items[COUNT_OF(numbers)];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        pages_set(&pages, numbers[i], &items[i]);
    assert_int_equal(pages.count, COUNT_OF(numbers));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        assert_ptr_equal(pages_get(&pages, numbers[i]), &items[i]);
    assert_null(pages_get(&pages, 2));
    pages_release(&pages);
}

static void they_are_as_a_plain_array_would_be(void **state)
{
    static int items[2];
    void *plain[NUMBERS] = { 0 };
    struct pages pages = { 0 };
    uint64_t random = 7;
    size_t count = 0;

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        uint64_t number = (random >> 33) % NUMBERS;
        bool is_set = (random >> 20) % 5 < 2;
        count += (size_t)is_set - (plain[number] != NULL);
        plain[number] = is_set ? &items[i % 2] : NULL;
        if (is_set)
            pages_set(&pages, number, plain[number]);
        else
            pages_remove(&pages, number);
        assert_int_equal(pages.count, count);
        number = (random >> 43) % NUMBERS;
        assert_ptr_equal(pages_get(&pages, number), plain[number]);
    }
    pages_release(&pages);
}

static void a_page_goes_with_its_last_number(void **state)
{
    struct pages pages = { 0 };
    int item;

    (void)state;
    for (uint64_t i = 0; i < NUMBERS; i++)
        pages_set(&pages, i, &item);
    for (uint64_t i = 0; i < NUMBERS; i++)
        pages_remove(&pages, i);
    assert_int_equal(pages.count, 0);
    assert_int_equal(pages.pages.count, 0);
    pages_release(&pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there_before_it_is_set),
        cmocka_unit_test(every_number_has_an_item_of_its_own),
        cmocka_unit_test(they_are_as_a_plain_array_would_be),
        cmocka_unit_test(a_page_goes_with_its_last_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
