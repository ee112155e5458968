/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/request.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static struct request parsed(const char *gpus)
{
    struct request request;
    struct error err;

    request_default(&request);
    if (request_parse_gpus(&request, gpus, &err) < 0)
        fail_msg("%s", err.text);
    return request;
}

static void accelerators_are_asked_for_by_kind(void **state)
{
    static const char *const bad[] = { "",
                                       "4",
                                       "tpu:",
                                       "tpu:0",
                                       "tpu,mig=1g.10gb",
                                       "tpu,kind=fpga",
                                       "an-accelerator-of-the-house",
                                       "tp/u" };
    AUTO_RELEASE(text) struct text text = { 0 };
    struct request request, before;
    struct error err;

    (void)state;
    request_default(&request);
    assert_int_equal(request_parse_accelerator(&request, "tpu:4 | fpga", &err), 0);
    request_format_gpus(&request, &text);
    assert_string_equal(text_string(&text), "kind=tpu:4|kind=fpga:1");
    before = request;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(request_parse_accelerator(&request, bad[i], &err), -EINVAL);
        assert_memory_equal(&request, &before, sizeof(request));
    }
    assert_int_equal(request_parse_accelerator(&request, "gpu:2", &err), 0);
    assert_string_equal(request.gpus[0].accelerator, "");
    assert_int_equal(request.gpus[0].count, 2);
}

static void the_grammar_is_understood_and_spelt_in_its_own_words(void **state)
{
    static const struct {
        const char *gpus;
        const char *formatted;
        const char *described;
    } cases[] = {
        { "", "", "1 cpu" },
        { "0", "", "1 cpu" },
        { "1", "1", "1 gpu" },
        { "1.0", "1", "1 gpu" },
        { " 8 ", "8", "8 gpus" },
        { "0.5", "0.5", "0.5 gpu" },
        { ".25", "0.25", "0.25 gpu" },
        { "H100:2", "h100:2", "2 x h100" },
        { "a100", "a100:1", "1 x a100" },
        { "a100:0.5", "a100:0.5", "0.5 a100" },
        { "rtx-4090_x.1:3", "rtx-4090_x.1:3", "3 x rtx-4090_x.1" },
        { "24GB..80GB:2", "24G..80G:2", "2 gpus of 24 GiB to 80 GiB" },
        { "24GB..", "24G..:1", "1 gpu of at least 24 GiB" },
        { "h100:2,40G..", "h100:2,40G..", "2 x h100 of at least 40 GiB" },
        { "mem=20G", "mem=20G", "mem=20G" },
        { "mem=1500M", "mem=1500M", "mem=1500M" },
        { "0.5,mem=20G", "0.5,mem=20G", "0.5 gpu, mem=20G" },
        { "h100,mem=20G", "h100,mem=20G", "part of one h100, mem=20G" },
        { "24G..,0.5", "24G..:0.5", "0.5 gpu of at least 24 GiB" },
        { "mig=3G.40GB", "mig=3g.40gb", "1 x mig 3g.40gb" },
        { "mig=1g.10gb+me:2", "mig=1g.10gb+me:2", "2 x mig 1g.10gb+me" },
        { "a100,mig=1c.3g.20gb", "a100,mig=1c.3g.20gb", "1 x mig 1c.3g.20gb of a100" },
        { "mps=50%", "mps=50%", "0.5 gpu by mps" },
        { "mps=12.5", "mps=12.5%", "0.125 gpu by mps" },
        { "h100,mps=100%,mem=4G", "h100,mps=100%,mem=4G", "1 h100 by mps, mem=4G" },
        { "h100:8,nvlink", "h100:8,nvlink", "8 x h100, linked" },
        { "h100:1 | a100:2|0.5", "h100:1|a100:2|0.5", "1 x h100 or 2 x a100 or 0.5 gpu" },
        { "64", "64", "64 gpus" },
        { "kind=TPU:4", "kind=tpu:4", "4 x tpu" },
        { "kind=fpga", "kind=fpga:1", "1 x fpga" },
        { "kind=gpu:2", "2", "2 gpus" },
        { "v5e:2,kind=tpu", "v5e:2,kind=tpu", "2 x v5e" },
        { "kind=tpu:2,16G..", "kind=tpu:2,16G..", "2 x tpu of at least 16 GiB" },
        { "kind=tpu:0.5", "kind=tpu:0.5", "0.5 tpu" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text formatted = { 0 };
        AUTO_RELEASE(text) struct text described = { 0 };
        struct request request = parsed(cases[i].gpus);

        request_format_gpus(&request, &formatted);
        request_describe(&request, &described);
        assert_string_equal(text_string(&formatted), cases[i].formatted);
        assert_string_equal(text_string(&described), cases[i].described);

        struct request again = parsed(text_string(&formatted));
        assert_memory_equal(&again, &request, sizeof(request));
        assert_int_equal(request_check(&request, NULL), 0);
    }
}

static void each_item_fills_its_fields(void **state)
{
    (void)state;
    struct request half = parsed("0.5,mem=20G"), mps = parsed("mps=50%"),
                   mig = parsed("mig=3g.40gb"), whole = parsed("24GB..80GB:2");

    assert_int_equal(half.gpus[0].kind, SHARE_FRACTION);
    assert_int_equal(half.gpus[0].milli, 500);
    assert_int_equal(half.gpus[0].memory_mib, 20 * 1024);
    assert_int_equal(half.gpus[0].count, 1);
    assert_int_equal(mps.gpus[0].kind, SHARE_MPS);
    assert_int_equal(mps.gpus[0].milli, 500);
    assert_int_equal(mig.gpus[0].kind, SHARE_MIG);
    assert_string_equal(mig.gpus[0].profile, "3g.40gb");
    assert_int_equal(whole.gpus[0].kind, SHARE_WHOLE);
    assert_int_equal(whole.gpus[0].milli, GPU_MILLI);
    assert_int_equal(whole.gpus[0].count, 2);
    assert_int_equal(whole.gpus[0].size_mib_min, 24 * 1024);
    assert_int_equal(whole.gpus[0].size_mib_max, 80 * 1024);
}

static void equal_requests_are_equal_byte_for_byte(void **state)
{
    (void)state;
    struct request a, b;

    memset(&a, 0xaa, sizeof(a));
    memset(&b, 0x55, sizeof(b));
    request_default(&a);
    request_default(&b);
    assert_int_equal(request_parse_gpus(&a, "mig=3g.40gb|h100:2|0.5", NULL), 0);
    assert_int_equal(request_parse_gpus(&a, "h100:2,nvlink", NULL), 0);
    assert_int_equal(request_parse_gpus(&b, "nvlink,H100:2", NULL), 0);
    assert_memory_equal(&a, &b, sizeof(a));
}

static void a_bad_request_is_refused_in_words_and_changes_nothing(void **state)
{
    static const struct {
        const char *gpus;
        const char *text;
    } cases[] = {
        { "1.5", "gpus: '1.5': expected a whole number of gpus, or a part of one (less than 1)" },
        { "0.5:2", "gpus: '0.5:2': a share is a part of one gpu; for more, request more "
                   "members (ranks)" },
        { "-1", "gpus: '-1': expected 1 to 4096 gpus, or a part like 0.5" },
        { "h100:-1", "gpus 'h100:-1': '-1': expected 1 to 4096 gpus, or a part like 0.5" },
        { "h100:", "gpus 'h100:': nothing after ':'; expected a number, as in h100:2" },
        { "h100:x", "gpus 'h100:x': 'x': not a number of gpus" },
        { "h100:0", "gpus 'h100:0': '0': no gpus; expected 1 to 4096, or a part like 0.5" },
        { "0.0005", "gpus: '0.0005': not a number with at most three decimals" },
        { "4097", "gpus: '4097': at most 4096 gpus per member" },
        { "99999999999999999999", "gpus: '99999999999999999999': more than "
                                  "1000000000" },
        { "24GB", "gpus: '24GB': neither a number of gpus nor a model; for memory use "
                  "mem=20G (a share) or 24GB.. (gpus of that size)" },
        { "24GB..8GB", "gpus: '24GB..8GB': the smaller size comes first" },
        { "0..8GB", "gpus '0..8GB': '0': expected a size above 0" },
        { "x..8GB", "gpus 'x..8GB': 'x': not a size; expected one like 512M, 20G or 1.5T" },
        { "8G..:", "gpus '8G..:': nothing after ':'; expected a number, as in h100:2" },
        { "h100:24G..", "gpus: 'h100:24G..': '..' after ':'; expected one like "
                        "24GB..80GB:2" },
        { "8G..,9G..", "gpus '8G..,9G..': the range of memory sizes is given twice" },
        { "mem=", "gpus 'mem=': nothing after 'mem='; expected one like mem=20G" },
        { "mem=0", "gpus 'mem=0': '0': expected a size above 0" },
        { "mem=lots", "gpus 'mem=lots': 'lots': not a size; expected one like 512M, 20G or 1.5T" },
        { "mem=1G,mem=2G", "gpus 'mem=1G,mem=2G': 'mem=' is given twice" },
        { "mem=1G:2", "gpus: 'mem=1G:2': a share by memory is a part of one gpu; expected no ':'" },
        { "memm=1G", "gpus 'memm=1G': unknown 'memm='; did you mean mem=?" },
        { "bananas=1G",
          "gpus 'bananas=1G': unknown 'bananas='; expected mem=, mig=, mps= or kind=" },
        { "mps=150%", "gpus 'mps=150%': mps=150%: expected more than 0% and at most 100%" },
        { "mps=0", "gpus 'mps=0': mps=0%: expected more than 0% and at most 100%" },
        { "mps=half", "gpus 'mps=half': mps=half: expected a percentage with at most one decimal, "
                      "as in mps=50%" },
        { "mps=1.25%", "gpus 'mps=1.25%': mps=1.25: expected a percentage with at most one "
                       "decimal, as in mps=50%" },
        { "mig=big", "gpus 'mig=big': mig profile 'big': expected one like 1g.10gb or 3g.40gb" },
        { "mig=3g.40gb:0.5", "gpus 'mig=3g.40gb:0.5': '0.5': a mig instance cannot be divided "
                             "further" },
        { "mig=3g.40gb,0.5", "gpus 'mig=3g.40gb,0.5': mig= cannot be divided further by a part, "
                             "mem= or mps=" },
        { "mig=3g.40gb,nvlink", "gpus 'mig=3g.40gb,nvlink': nvlink connects whole gpus; it cannot "
                                "be combined with mig=" },
        { "0.5,mps=50%", "gpus '0.5,mps=50%': a part and mps= at once; mps=50% is half a gpu "
                         "already" },
        { "2,mem=8G", "gpus '2,mem=8G': a share is a part of one gpu, not of 2; for more, request "
                      "more members (ranks)" },
        { "0.5,nvlink", "gpus '0.5,nvlink': nvlink connects whole gpus; it cannot be combined with "
                        "a share" },
        { "8G..16G,mem=20G", "gpus '8G..16G,mem=20G': mem= is more than the largest gpu of the "
                             "range has" },
        { "1,2", "gpus '1,2': '2': the number of gpus is given twice" },
        { "h100,a100", "gpus 'h100,a100': 'a100': a model is given already (h100); alternatives "
                       "are divided by '|'" },
        { "nvlink,nvlink", "gpus 'nvlink,nvlink': nvlink is given twice" },
        { "h1*0", "gpus 'h1*0': model 'h1*0': expected letters, digits and '._-', as in h100" },
        { "abcdefghijklmnopqrstuvwxyz0123456", "gpus 'abcdefghijklmnopqrstuvwxyz0123456': model "
                                               "'abcdefghijklmnopqrstuvwxyz0123456': longer than "
                                               "31 bytes" },
        { "1,", "gpus '1,': an empty item; expected a number or model between ','" },
        { "1|", "gpus '1|': an empty alternative; expected one on each side of '|'" },
        { "1|2|3|4|5", "gpus '1|2|3|4|5': more than 4 alternatives" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct request request = parsed("h100:2"), before = request;
        struct error err = { 0 };

        assert_true(request_parse_gpus(&request, cases[i].gpus, &err) < 0);
        assert_string_equal(err.text, cases[i].text);
        assert_memory_equal(&request, &before, sizeof(request));
    }
}

static void a_request_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct request request;
    struct error err;
    char gpus[600];

    memset(gpus, '1', sizeof(gpus));
    gpus[sizeof(gpus) - 1] = '\0';
    request_default(&request);
    assert_int_equal(request_parse_gpus(&request, gpus, &err), -ERANGE);
    assert_string_equal(err.text, "gpus '1111111111111111111111111111111111111111...': longer than "
                                  "512 bytes");
    assert_int_equal(request_parse_gres(&request, gpus, &err), -ERANGE);
    assert_string_equal(err.text, "gres '1111111111111111111111111111111111111111...': longer than "
                                  "512 bytes");
}

static void slurm_gres_is_understood(void **state)
{
    static const struct {
        const char *gres;
        const char *formatted;
    } cases[] = {
        { "gpu", "1" },
        { "gpu:2", "2" },
        { "gpu:h100:2", "h100:2" },
        { "gpu:H100", "h100:1" },
        { "gres/gpu:4", "4" },
        { "mps:50", "mps=50%" },
        { "gpu:0", "" },
        { "gres:gpu:a100", "a100:1" },
    };
    static const struct {
        const char *gres;
        const char *text;
    } bad[] = {
        { "shard:2", "gres 'shard:2': 'shard:2': expected gpu, gpu:COUNT, gpu:MODEL:COUNT or "
                     "mps:PERCENT" },
        { "gpu:h100:2,gpu:a100:1", "gres 'gpu:h100:2,gpu:a100:1': several kinds at once; for "
                                   "alternatives use --gpus 'h100:2|a100:2'" },
        { "gpu:1|gpu:2", "gres 'gpu:1|gpu:2': alternatives with '|' are for --gpus" },
        { "gpu:h100:", "gres 'gpu:h100:': nothing after ':'; expected a number, as in h100:2" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text formatted = { 0 };
        struct request request;
        struct error err;

        request_default(&request);
        assert_int_equal(request_parse_gres(&request, cases[i].gres, &err), 0);
        request_format_gpus(&request, &formatted);
        assert_string_equal(text_string(&formatted), cases[i].formatted);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct request request;
        struct error err;

        request_default(&request);
        assert_true(request_parse_gres(&request, bad[i].gres, &err) < 0);
        assert_string_equal(err.text, bad[i].text);
    }
}

static void quota_counts_what_all_members_take_most_of(void **state)
{
    static const struct {
        const char *gpus;
        uint32_t members;
        int64_t reference_mib;
        int64_t milli;
    } cases[] = {
        { "", 1, 81920, 0 },
        { "2", 1, 81920, 2000 },
        { "h100:2", 3, 81920, 6000 },
        { "0.5", 2, 81920, 1000 },
        { "mem=20G", 1, 80 * 1024, 250 },
        { "mem=1M", 1, 80 * 1024, 1 },
        { "mem=160G", 1, 80 * 1024, 1000 },
        { "mem=20G", 1, 0, 1000 },
        { "0.5,mem=60G", 1, 80 * 1024, 750 },
        { "0.5,mem=20G", 1, 80 * 1024, 500 },
        { "0.5,mem=20G", 1, 0, 500 },
        { "mps=25%", 4, 81920, 1000 },
        { "mig=3g.40gb", 1, 81920, 500 },
        { "mig=7g.80gb:2", 1, 81920, 2000 },
        { "mig=1c.3g.40gb", 1, 81920, 500 },
        { "mig=1g:3", 2, 81920, 750 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct request request = parsed(cases[i].gpus);

        request.members = cases[i].members;
        assert_int_equal(request_milli(&request, 0, cases[i].reference_mib), cases[i].milli);
    }
}

static void a_gang_says_how_many_members(void **state)
{
    AUTO_RELEASE(text) struct text described = { 0 };
    (void)state;
    struct request request = parsed("h100:8");

    request.members = 2;
    request_describe(&request, &described);
    assert_string_equal(text_string(&described), "2 members of 8 x h100");
    request.gpu_alternatives = 0;
    request.cpu_milli = 500;
    text_clear(&described);
    request_describe(&request, &described);
    assert_string_equal(text_string(&described), "2 members of 0.5 cpu");
}

static struct request good;

static struct request *bad(void)
{
    static struct request request;

    request = good;
    return &request;
}

static void parts_that_do_not_fit_together_are_refused(void **state)
{
    struct error err;
    (void)state;

    good = parsed("2");
    assert_int_equal(request_check(&good, &err), 0);
#define REFUSED(change, expected)                                                                  \
    do {                                                                                           \
        struct request *request = bad();                                                           \
        change;                                                                                    \
        assert_int_equal(request_check(request, &err), -EINVAL);                                   \
        assert_string_equal(err.text, expected);                                                   \
    } while (0)
    REFUSED(request->members = 0, "ranks: 0, not 1 to 4096");
    REFUSED(request->members = 4097, "ranks: 4097, not 1 to 4096");
    REFUSED(request->nodes_min = 0, "nodes: 0 to 1, not at least 1");
    REFUSED(request->nodes_min = 2, "nodes: 2 to 1, not at least 1");
    REFUSED(request->nodes_min = request->nodes_max = 2,
            "nodes: 2 for 1 member; each node has at least one");
    REFUSED(request->cpu_milli = -1, "cpus: not 0 to 100000");
    REFUSED(request->memory_mib = -1, "memory: below 0");
    REFUSED(request->max_duration = 0, "max_duration: expected more than 0");
    REFUSED(request->gpu_alternatives = 5, "gpus: more than 4 alternatives");
    REFUSED(request->gpus[0].count = 0, "gpus: 0 per member, not 1 to 4096");
    REFUSED(request->gpus[0].milli = 1001, "gpus: a share that is more than one gpu");
    REFUSED(request->gpus[0].kind = SHARE_FRACTION, "gpus: a share of 2 gpus, not of one");
    REFUSED(request->gpus[0].memory_mib = -1, "gpus: memory below 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grammar_is_understood_and_spelt_in_its_own_words),
        cmocka_unit_test(each_item_fills_its_fields),
        cmocka_unit_test(equal_requests_are_equal_byte_for_byte),
        cmocka_unit_test(a_bad_request_is_refused_in_words_and_changes_nothing),
        cmocka_unit_test(a_request_that_is_too_long_is_refused),
        cmocka_unit_test(slurm_gres_is_understood),
        cmocka_unit_test(accelerators_are_asked_for_by_kind),
        cmocka_unit_test(quota_counts_what_all_members_take_most_of),
        cmocka_unit_test(a_gang_says_how_many_members),
        cmocka_unit_test(parts_that_do_not_fit_together_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
