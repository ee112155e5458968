/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "core/model_name.h"
#include "device/model.h"

static void products_get_the_names_that_people_use(void **state)
{
    static const struct {
        const char *product;
        const char *model;
    } cases[] = {
        { "NVIDIA H100 80GB HBM3", "h100" },
        { "NVIDIA H100 PCIe", "h100" },
        { "NVIDIA H100 NVL", "h100" },
        { "NVIDIA H200", "h200" },
        { "NVIDIA GH200 480GB", "gh200" },
        { "NVIDIA B200", "b200" },
        { "NVIDIA GB200", "gb200" },
        { "NVIDIA A100-SXM4-40GB", "a100" },
        { "NVIDIA A100-SXM4-80GB", "a100" },
        { "NVIDIA A100 80GB PCIe", "a100" },
        { "A100-SXM4-40GB", "a100" },
        { "NVIDIA A10G", "a10g" },
        { "NVIDIA A40", "a40" },
        { "NVIDIA L4", "l4" },
        { "NVIDIA L40S", "l40s" },
        { "Tesla V100-SXM2-16GB", "v100" },
        { "Tesla P100-PCIE-16GB", "p100" },
        { "Tesla T4", "t4" },
        { "Tesla K80", "k80" },
        { "GRID T4-16Q", "t4" },
        { "NVIDIA GeForce RTX 4090", "rtx4090" },
        { "NVIDIA GeForce RTX 4090 D", "rtx4090d" },
        { "NVIDIA GeForce RTX 4090 Laptop GPU", "rtx4090laptop" },
        { "NVIDIA GeForce RTX 4080 SUPER", "rtx4080super" },
        { "GeForce GTX 1080 Ti", "gtx1080ti" },
        { "NVIDIA GeForce RTX 3060 Ti", "rtx3060ti" },
        { "NVIDIA RTX A6000", "rtxa6000" },
        { "NVIDIA RTX 6000 Ada Generation", "rtx6000ada" },
        { "NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtxpro6000" },
        { "Quadro RTX 8000", "rtx8000" },
        { "Quadro P6000", "p6000" },
        { "NVIDIA TITAN RTX", "titanrtx" },
        { "NVIDIA TITAN V", "titanv" },
        { "AMD Instinct MI300X OAM", "mi300x" },
        { "AMD Instinct MI250X / MI250", "mi250x" },
        { "AMD Radeon RX 7900 XTX", "rx7900xtx" },
        { "AMD Radeon RX 6700 XT", "rx6700xt" },
        { "AMD Radeon Pro W7900", "prow7900" },
        { "Intel(R) Arc(TM) A770 Graphics", "arca770" },
        { "Intel Data Center GPU Max 1550", "max1550" },
        { "Intel Data Center GPU Flex 170", "flex170" },
        { "NVIDIA Graphics Device", "gpu" },
        { "", "gpu" },
        { "\xff\xfe -- ", "gpu" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char model[PROBE_MODEL_SIZE];

        model_shorten(cases[i].product, model);
        assert_string_equal(model, cases[i].model);
    }
}

static void a_name_stays_within_what_a_request_can_name(void **state)
{
    char model[PROBE_MODEL_SIZE];
    char product[512];

    (void)state;
    memset(product, 'a', sizeof(product));
    product[sizeof(product) - 1] = '\0';
    model_shorten(product, model);
    assert_int_equal(strlen(model), 31);
    model_shorten("rtx rtx rtx rtx rtx rtx rtx rtx rtx rtx rtx rtx rtx rtx rtx 1 ti ti ti", model);
    assert_int_equal(strlen(model), 31);
}

static void known_models_are_found_by_name(void **state)
{
    (void)state;
    for (const char *const *name = model_names(); *name; name++) {
        const struct model *model = model_find(*name);

        assert_non_null(model);
        assert_string_equal(model->name, *name);
        assert_true(model->memory_mib > 10000);
    }
    assert_string_equal(model_find("a100-40")->model, "a100");
    assert_null(model_find("H100"));
    assert_null(model_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_get_the_names_that_people_use),
        cmocka_unit_test(a_name_stays_within_what_a_request_can_name),
        cmocka_unit_test(known_models_are_found_by_name),
    };

    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
