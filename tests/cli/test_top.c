/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_view.h"

/* ---- bars ---- */

static void a_bar_is_as_long_as_its_part(void **state)
{
    static const struct {
        double part;
        const char *utf8, *ascii;
    } cases[] = {
        { 0, "░░░░", "...." },    { 0.5, "██░░", "##.." }, { 1, "████", "####" },
        { 1.7, "████", "####" },  { -1, "░░░░", "...." },  { (double)NAN, "----", "----" },
        { 0.01, "░░░░", "...." },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text utf8 = { 0 }, ascii = { 0 };

        bar_add(&utf8, cases[i].part, 4, true);
        bar_add(&ascii, cases[i].part, 4, false);
        assert_string_equal(text_string(&utf8), cases[i].utf8);
        assert_string_equal(text_string(&ascii), cases[i].ascii);
    }
}

static void a_spark_shows_the_newest_and_leaves_gaps(void **state)
{
    const float parts[] = { 0.9f, 0.0f, 0.5f, NAN, 1.0f };
    AUTO_RELEASE(text) struct text few = { 0 }, all = { 0 }, ascii = { 0 };
    (void)state;

    spark_add(&few, parts, COUNT_OF(parts), 3, true);
    assert_string_equal(text_string(&few), "▅ █");
    spark_add(&all, parts, COUNT_OF(parts), 7, true);
    assert_string_equal(text_string(&all), "  █▁▅ █");
    spark_add(&ascii, parts, COUNT_OF(parts), 5, false);
    assert_string_equal(text_string(&ascii), "#_= #");
}

static void a_level_that_nobody_knows_is_not_the_lowest(void **state)
{
    (void)state;
    assert_string_equal(level_sign((double)NAN, true), "-");
    assert_string_equal(level_sign(0, true), "▁");
    assert_string_equal(level_sign(0, false), "0");
    assert_string_equal(level_sign(1, false), "9");
    assert_string_equal(level_sign(0.55, false), "5");
}

/* ---- frames ---- */

static void a_frame_is_never_wider_than_its_screen(void **state)
{
    AUTO_RELEASE(frame) struct frame frame;
    AUTO_RELEASE(text) struct text text = { 0 };
    (void)state;

    frame_init(&frame, 10, true);
    frame_start_line(&frame, TABLE_PLAIN);
    frame_add(&frame, TABLE_PLAIN, "1234567");
    frame_add(&frame, TABLE_PLAIN, "89abcdef");
    frame_add(&frame, TABLE_PLAIN, "more");
    frame_start_line(&frame, TABLE_PLAIN);
    frame_add_right(&frame, TABLE_PLAIN, 4, "ab");
    frame_add_left(&frame, TABLE_PLAIN, 4, "\033[31m");
    frame_pad(&frame, 99);
    frame_format(&frame, &text);
    assert_string_equal(text_string(&text), "123456789…\n  ab?[3…\n");
}

static void signs_are_ascii_where_it_is_not_utf8(void **state)
{
    AUTO_RELEASE(frame) struct frame frame;
    AUTO_RELEASE(text) struct text text = { 0 };
    (void)state;

    frame_init(&frame, 20, false);
    frame_start_line(&frame, TABLE_PLAIN);
    frame_add(&frame, TABLE_PLAIN, "64°C · é 日 ");
    frame_add_left(&frame, TABLE_PLAIN, 4, "abcdef");
    frame_format(&frame, &text);
    assert_string_equal(text_string(&text), "64 C - ? ?? abc~\n");
}

/* ---- a world ---- */

static json_t *gpu_of(int index, const char *node, const char *reading, const char *jobs)
{
    AUTO_FREE char *text = mem_printf(
        "{\"index\": %d, \"node\": \"%s\", \"uuid\": \"GPU-%s-%d\", \"model\": \"h100\", "
        "\"product\": \"NVIDIA H100 80GB HBM3\", \"memory\": 81920, \"given\": %d, \"pool\": "
        "\"default\", \"sick\": null, \"faults\": [], \"reading\": %s, \"jobs\": [%s]}",
        index, node, node, index, jobs[0] ? 1 : 0, reading, jobs);
    json_t *gpu = json_loads(text, 0, NULL);

    assert_non_null(gpu);
    return gpu;
}

static json_t *job_of(int id, const char *user, const char *job_state, const char *gpus)
{
    bool runs = strcmp(job_state, "running") == 0;
    AUTO_FREE char *text = mem_printf(
        "{\"id\": %d, \"label\": \"%d\", \"name\": \"job%d\", \"user\": \"%s\", \"queue\": "
        "\"default\", \"pool\": null, \"state\": \"%s\", \"gpus\": \"%s\", \"gpu_count\": %s, "
        "\"gpu_indices\": [], \"wait_seconds\": 480, \"run_seconds\": %s, \"why\": %s}",
        id, id, id, user, job_state, gpus, gpus, runs ? "61" : "null",
        runs ? "null" : "{\"kind\": \"gpus\", \"text\": \"4 gpus wanted, 2 free\"}");
    json_t *job = json_loads(text, 0, NULL);

    assert_non_null(job);
    return job;
}

static const char busy[] = "{\"gpu_use\": 0.92, \"memory_used\": 76235669504, \"power\": 612, "
                           "\"power_limit\": 700, \"temperature\": 64}";

/* Two GPUs, one that says nothing; a job that runs and two that wait. */
static void fill(struct top_world *world)
{
    json_t *gpus = json_array(), *jobs = json_array();

    json_array_append_new(
        gpus,
        gpu_of(0, "a", busy, "{\"id\": 4, \"label\": \"4\", \"user\": \"ana\", \"share\": 1}"));
    json_array_append_new(gpus, gpu_of(1, "a", "null", ""));
    json_array_append_new(jobs, job_of(4, "ana", "running", "1"));
    json_array_append_new(jobs, job_of(7, "ben", "queued", "4"));
    json_array_append_new(jobs, job_of(8, "ana", "queued", "2"));
    world_take(world, json_pack("{s:o}", "gpus", gpus),
               json_pack("{s:o, s:{s:i, s:i}}", "jobs", jobs, "counts", "running", 1, "queued", 2));
}

/* So many machines of eight GPUs, all at half. */
static void fill_many(struct top_world *world, int nodes)
{
    json_t *gpus = json_array();

    for (int i = 0; i < nodes * 8; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%02d", i / 8);
        json_array_append_new(gpus,
                              gpu_of(i % 8, name, i == 9 ? "null" : "{\"gpu_use\": 0.5}", "{}"));
    }
    world_take(world, json_pack("{s:o}", "gpus", gpus), json_pack("{s:[]}", "jobs"));
}

static char *picture(struct top_view *view, const struct top_world *world)
{
    AUTO_RELEASE(frame) struct frame frame;
    struct text text = { 0 };

    frame_init(&frame, view->width, view->is_utf8);
    top_draw(&frame, view, world);
    if (view->height > 0)
        assert_true(frame.line_count == view->height || frame.line_count == 1);
    frame_format(&frame, &text);
    return text_take(&text);
}

static void view_80x24(struct top_view *view, struct top_world *world)
{
    view_init(view, "ana");
    view->width = 80;
    view->height = 24;
    view->is_utf8 = true;
    view_arrange(view, world);
}

static void assert_shows(struct top_view *view, const struct top_world *world, const char *words)
{
    AUTO_FREE char *text = picture(view, world);

    if (!strstr(text, words))
        fail_msg("no '%s' in\n%s", words, text);
}

static void assert_hides(struct top_view *view, const struct top_world *world, const char *words)
{
    AUTO_FREE char *text = picture(view, world);

    if (strstr(text, words))
        fail_msg("'%s' in\n%s", words, text);
}

static void keys(struct top_view *view, struct top_world *world, const char *keys)
{
    for (; *keys; keys++) {
        if (view_key(view, world, *keys) == ACTION_ARRANGE)
            view_arrange(view, world);
    }
}

static void a_picture_has_gpus_jobs_and_the_queue(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    assert_shows(&view, &world, "2 gpus · 1 allocated · 1 busy · 612 W · 1 running · 2 waiting");
    assert_shows(&view, &world, ">  0  92% ███████░");
    assert_shows(&view, &world, "71/80 GiB █████░ 612/700 W  64°C  4 ana");
    assert_shows(&view, &world, "      4 job4         ana      1          1m01s\n");
    assert_shows(&view, &world,
                 "      7 job7         ben      4          8m00s  4 gpus wanted, 2 free\n");
}

static void a_reason_that_says_the_state_stands_alone(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    json_t *held = job_of(9, "ben", "held", "1");
    json_t *stopping = job_of(10, "ben", "stopping", "1");
    (void)state;

    json_object_set_new(held, "why",
                        json_pack("{s:s, s:s}", "kind", "held", "text", "held; tarn release 9"));
    json_object_set_new(stopping, "why", json_null());
    world_take(&world, json_pack("{s:[]}", "gpus"), json_pack("{s:[o,o]}", "jobs", held, stopping));
    view_80x24(&view, &world);
    assert_shows(&view, &world, " 8m00s  held; tarn release 9\n");
    assert_shows(&view, &world, "  stopping\n");
}

static void what_is_not_known_is_not_zero(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    assert_shows(&view, &world,
                 "   1    - --------                    - ------         -     -  free\n");
    assert_hides(&view, &world, " 0%");
    assert_hides(&view, &world, " 0 W");
}

static void one_that_is_sick_says_why_and_is_not_free(void **state)
{
    static const char *const owners[] = {
        "", "{\"id\": 4, \"label\": \"4\", \"user\": \"ana\", \"share\": 1}"
    };
    static const char *const shown[] = { "  drained: XID 79\n", "  drained: XID 79 · 4 ana\n" };
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        AUTO_RELEASE(world) struct top_world world = { 0 };
        struct top_view view;
        json_t *gpu = gpu_of(0, "a", "null", owners[i]);
        json_object_set_new(gpu, "sick", json_string("XID 79"));
        world_take(&world, json_pack("{s:[o]}", "gpus", gpu), json_pack("{s:[]}", "jobs"));
        view_80x24(&view, &world);
        view.width = 120;
        assert_shows(&view, &world, shown[i]);
        assert_hides(&view, &world, "-  free");
    }
}

static void a_plain_picture_has_every_row_and_no_cursor(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill_many(&world, 8);
    view_80x24(&view, &world);
    view.height = 0;
    view_arrange(&view, &world);
    AUTO_FREE char *text = picture(&view, &world);
    size_t lines = 0;
    for (const char *s = text; *s; s++)
        lines += *s == '\n';
    assert_int_equal(lines, 1 + 1 + 64 + 1 + 1);
    assert_null(strchr(text, '>'));
    assert_null(strchr(text, '\033'));
}

static void many_gpus_are_a_map(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill_many(&world, 8);
    view_80x24(&view, &world);
    assert_shows(&view, &world, "GPUS BY NODE");
    assert_shows(&view, &world, " n00 ▅▅▅▅▅▅▅▅  n01 ▅-▅▅▅▅▅▅");
    keys(&view, &world, "g");
    assert_shows(&view, &world, ">  0 n00   50%");
    keys(&view, &world, "g");
    assert_hides(&view, &world, ">  0 n00");
}

static void the_cursor_goes_through_a_map(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill_many(&world, 8);
    view_80x24(&view, &world);
    size_t columns = view_map_columns(&view, &world);
    view_key(&view, &world, KEY_IS_RIGHT);
    assert_int_equal(view.place, 1);
    view_key(&view, &world, KEY_IS_DOWN);
    assert_int_equal(view.place, columns * 8 + 1);
    view_key(&view, &world, KEY_IS_UP);
    view_key(&view, &world, KEY_IS_LEFT);
    assert_int_equal(view.place, 0);
}

static void no_size_breaks_a_picture(void **state)
{
    AUTO_RELEASE(world) struct top_world few = { 0 }, many = { 0 }, none = { 0 };
    struct top_world *const worlds[] = { &few, &many, &none };
    (void)state;

    fill(&few);
    fill_many(&many, 20);
    for (size_t i = 0; i < COUNT_OF(worlds); i++) {
        struct top_view view;
        view_80x24(&view, worlds[i]);
        for (size_t size = 1; size < 200; size += 7) {
            view.width = size;
            for (view.height = 1; view.height < 70; view.height += 3) {
                view_arrange(&view, worlds[i]);
                keys(&view, worlds[i], "jjgjk\t");
                AUTO_FREE char *text = picture(&view, worlds[i]);
                for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
                    assert_true(string_width(line) <= size);
            }
        }
    }
}

/* ---- keys ---- */

static void the_cursor_stays_with_its_job(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    keys(&view, &world, "jjj");
    assert_string_equal(view.key, "7");
    keys(&view, &world, "ss");
    assert_string_equal(view.message, "jobs by gpus");
    assert_string_equal(view.key, "7");
    fill(&world);
    view_arrange(&view, &world);
    assert_string_equal(view.key, "7");
    keys(&view, &world, "kkkkkkk");
    assert_string_equal(view.key, "GPU-a-0");
}

static void gpus_that_say_nothing_are_sorted_last(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    for (enum top_order_gpus i = GPUS_BY_USE; i < GPUS_ORDERS; i++) {
        keys(&view, &world, "s");
        assert_int_equal(view.choice.gpus, i);
        assert_string_equal(world_key(&world, TOP_GPUS, 0), "GPU-a-0");
    }
}

static void a_job_ends_only_after_a_yes(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    assert_int_equal(view_key(&view, &world, 'K'), ACTION_NONE);
    assert_shows(&view, &world, "end job 4");
    assert_int_equal(view_key(&view, &world, 'q'), ACTION_NONE);
    assert_string_equal(view.message, "job 4 continues");
    view_key(&view, &world, 'x');
    assert_int_equal(view_key(&view, &world, 'y'), ACTION_CANCEL);
    assert_string_equal(view.target, "4");
}

static void somebody_else_s_job_and_no_job_do_not_end(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    keys(&view, &world, "jK");
    assert_string_equal(view.message, "select a job, then press K");
    keys(&view, &world, "jjK");
    assert_string_equal(view.message,
                        "job 7 belongs to ben; you can cancel only your own jobs here");
    assert_int_equal(view.mode, MODE_WATCH);
}

static void a_filter_is_typed_and_cleared(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    keys(&view, &world, "/BENq");
    assert_int_equal(world_count(&world, TOP_WAITING), 0);
    view_key(&view, &world, KEY_IS_ERASE);
    view_arrange(&view, &world);
    assert_int_equal(world_count(&world, TOP_WAITING), 1);
    assert_int_equal(world.gpus.count, 0);
    view_key(&view, &world, KEY_IS_ENTER);
    assert_shows(&view, &world, "only with 'BEN'; esc shows all");
    view_key(&view, &world, KEY_IS_ESCAPE);
    view_arrange(&view, &world);
    assert_int_equal(world_count(&world, TOP_WAITING), 2);
}

static void a_pool_has_its_gpus_and_who_is_on_them(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_choice choice = { .pool = "default", .words = "" };
    (void)state;

    fill(&world);
    world_arrange(&world, &choice);
    assert_int_equal(world.gpus.count, 2);
    assert_int_equal(world_count(&world, TOP_RUNNING), 1);
    choice.pool = "other";
    world_arrange(&world, &choice);
    assert_int_equal(
        world.gpus.count + world_count(&world, TOP_RUNNING) + world_count(&world, TOP_WAITING), 0);
}

static void history_is_kept_as_long_as_it_may_be(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    (void)state;

    for (int i = 0; i < HISTORY_MAX + 10; i++)
        fill(&world);
    const struct top_history *history = world_history(&world, "GPU-a-1");
    assert_int_equal(history->count, HISTORY_MAX);
    assert_true(isnan(history->parts[TOP_USE][HISTORY_MAX - 1]));
    assert_null(world_history(&world, "GPU-b-0"));
}

static void what_was_read_before_has_its_place_in_time(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    (void)state;

    fill(&world);
    json_t *reply = json_loads("{\"readings\": {\"gpu_use\": {\"at\": [990, 998, 999], \"mean\": "
                               "[0.5, 0.25, 0.75]}, \"power\": {\"at\": [998], \"mean\": [350]}}}",
                               0, NULL);
    world_recall(&world, json_array_get(json_object_get(world.gpus_reply, "gpus"), 0), reply, 1000,
                 2);
    json_decref(reply);
    const struct top_history *history = world_history(&world, "GPU-a-0");
    const float *use = history->parts[TOP_USE];
    assert_int_equal(history->count, 6);
    assert_true(use[0] > 0.49f && use[0] < 0.51f && isnan(use[1]) && isnan(use[3]));
    assert_true(use[4] > 0.74f && use[5] > 0.91f);
    assert_true(isnan(history->parts[TOP_POWER][0]) && history->parts[TOP_POWER][4] > 0.49f);
}

static void it_is_said_when_nobody_answers(void **state)
{
    AUTO_RELEASE(world) struct top_world world = { 0 };
    struct top_view view;
    (void)state;

    fill(&world);
    view_80x24(&view, &world);
    view.away_s = 12;
    assert_shows(&view, &world, "no answer since 12 s\n");
    view.away_s = 0;
    keys(&view, &world, " ");
    assert_shows(&view, &world, "paused\n");
    keys(&view, &world, "?");
    assert_shows(&view, &world, "any key returns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_is_as_long_as_its_part),
        cmocka_unit_test(a_spark_shows_the_newest_and_leaves_gaps),
        cmocka_unit_test(a_level_that_nobody_knows_is_not_the_lowest),
        cmocka_unit_test(a_frame_is_never_wider_than_its_screen),
        cmocka_unit_test(signs_are_ascii_where_it_is_not_utf8),
        cmocka_unit_test(a_picture_has_gpus_jobs_and_the_queue),
        cmocka_unit_test(a_reason_that_says_the_state_stands_alone),
        cmocka_unit_test(what_is_not_known_is_not_zero),
        cmocka_unit_test(one_that_is_sick_says_why_and_is_not_free),
        cmocka_unit_test(a_plain_picture_has_every_row_and_no_cursor),
        cmocka_unit_test(many_gpus_are_a_map),
        cmocka_unit_test(the_cursor_goes_through_a_map),
        cmocka_unit_test(no_size_breaks_a_picture),
        cmocka_unit_test(the_cursor_stays_with_its_job),
        cmocka_unit_test(gpus_that_say_nothing_are_sorted_last),
        cmocka_unit_test(a_job_ends_only_after_a_yes),
        cmocka_unit_test(somebody_else_s_job_and_no_job_do_not_end),
        cmocka_unit_test(a_filter_is_typed_and_cleared),
        cmocka_unit_test(a_pool_has_its_gpus_and_who_is_on_them),
        cmocka_unit_test(history_is_kept_as_long_as_it_may_be),
        cmocka_unit_test(what_was_read_before_has_its_place_in_time),
        cmocka_unit_test(it_is_said_when_nobody_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
