/* SPDX-License-Identifier: Apache-2.0 */
/* Who has which GPU, written into a folder where others put things in the way. */
#include "node/hpc_job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "core/state/state.h"
#include "io/file.h"
#include "io/log.h"

static struct state *the_state;
static unsigned warnings;

static struct state *state_of(const void *user)
{
    (void)user;
    return the_state;
}

static const struct node_port port = { .state = state_of };

void log_line(int priority, const char *format, ...)
{
    (void)format;
    warnings += priority == LOG_WARNING;
}

static void tell(struct event event)
{
    struct error err;

    event.at = USEC_PER_SEC;
    if (state_apply(the_state, &event, &err) < 0)
        fail_msg("%s", err.text);
}

/* Job 1 has GPU 3 of a machine. */
static void start_job(void)
{
    struct lease_member member = { 0 };
    struct slice slice = { .milli = 1000, .kind = SHARE_WHOLE };
    struct event submit = { .kind = EVENT_SUBMIT,
                            .submit = { .id = 1, .name = "j", .user = "ana", .queue = "default" } };

    tell((struct event){ .kind = EVENT_NODE, .node = { .name = "a", .cpu_milli = 8000 } });
    tell((struct event){ .kind = EVENT_DEVICE,
                         .device = { .node = "a",
                                     .uuid = "GPU-3",
                                     .vendor = "nvidia",
                                     .model = "x",
                                     .index = 3,
                                     .memory_mib = 80000 } });
    request_default(&submit.submit.request);
    tell(submit);
    tell((struct event){ .kind = EVENT_GRANT,
                         .grant = { .job = 1,
                                    .attempt = 1,
                                    .lease = { .members = &member,
                                               .members_count = 1,
                                               .slices = &slice,
                                               .slices_count = 1 } } });
}

struct place {
    uv_loop_t loop;
    char folder[64], in_folder[128];
    struct hpc_job_files *files;
};

static const char *name_in(struct place *place, const char *name)
{
    snprintf(place->in_folder, sizeof(place->in_folder), "%s/%s", place->folder, name);
    return place->in_folder;
}

static int set_up(void **state)
{
    struct place *place = mem_zero(1, sizeof(*place));

    uv_loop_init(&place->loop);
    snprintf(place->folder, sizeof(place->folder), "/tmp/tarn-job-files-XXXXXX");
    *state = place;
    warnings = 0;
    the_state = state_create();
    start_job();
    return mkdtemp(place->folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    static const char *const names[] = { "3", "3/in", ".tarn-new", "victim" };

    hpc_job_files_destroy(place->files);
    uv_run(&place->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&place->loop), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlink(name_in(place, names[i]));
    rmdir(name_in(place, "3"));
    rmdir(place->folder);
    state_destroy(the_state);
    free(place);
    return 0;
}

static void write_once(struct place *place)
{
    struct error err;

    if (hpc_job_files_create(&place->loop, &port, "a", place->folder, &place->files, &err) < 0)
        fail_msg("%s", err.text);
    uv_run(&place->loop, UV_RUN_NOWAIT);
    uv_run(&place->loop, UV_RUN_NOWAIT);
}

static void assert_holds(struct place *place, const char *name, const char *expected)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err;

    if (file_read(name_in(place, name), 100, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(text_string(&text), expected);
}

static void a_link_in_the_way_is_not_followed(void **state)
{
    struct place *place = *state;
    AUTO_FREE char *victim = mem_string(name_in(place, "victim"));
    int fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, "dear", 4), 4);
    close(fd);
    assert_int_equal(symlink(victim, name_in(place, ".tarn-new")), 0);
    write_once(place);
    assert_holds(place, "3", "1\n");
    assert_holds(place, "victim", "dear");
    assert_int_equal(warnings, 0);
}

static void a_pipe_in_the_way_keeps_nobody_waiting(void **state)
{
    struct place *place = *state;

    assert_int_equal(mkfifo(name_in(place, ".tarn-new"), 0600), 0);
    alarm(20); /* it would wait for ever */
    write_once(place);
    alarm(0);
    assert_holds(place, "3", "1\n");
}

static void others_may_read_it_whatever_the_umask(void **state)
{
    struct place *place = *state;
    struct stat status;
    mode_t before = umask(0077);

    write_once(place);
    umask(before);
    assert_int_equal(stat(name_in(place, "3"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
}

static void what_could_not_be_written_is_tried_again_by_itself(void **state)
{
    struct place *place = *state;
    AUTO_FREE char *in = mem_string(name_in(place, "3/in"));

    /* A folder that is not empty can't be replaced by a file. */
    assert_int_equal(mkdir(name_in(place, "3"), 0700), 0);
    close(open(in, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    write_once(place);
    assert_int_equal(warnings, 1);
    unlink(in);
    rmdir(name_in(place, "3"));
    uv_run(&place->loop, UV_RUN_ONCE); /* nothing is told to it */
    assert_holds(place, "3", "1\n");
    assert_false(uv_loop_alive(&place->loop));
    assert_int_equal(warnings, 1);
}

static void a_folder_in_others_hands_is_refused(void **state)
{
    struct place *place = *state;
    struct error err;
    char expected[ERROR_TEXT_SIZE];

    assert_int_equal(chmod(place->folder, 0777), 0);
    assert_int_equal(
        hpc_job_files_create(&place->loop, &port, "a", place->folder, &place->files, &err), -EPERM);
    snprintf(
        expected, sizeof(expected),
        "hpc-job-dir %s: every user can write there; expected one that only its owner can write",
        place->folder);
    assert_string_equal(err.text, expected);
    assert_int_equal(chmod(place->folder, 0700), 0);
    if (geteuid() != 0)
        return; /* only root can give it away */
    assert_int_equal(chown(place->folder, 65534, 65534), 0);
    assert_int_equal(
        hpc_job_files_create(&place->loop, &port, "a", place->folder, &place->files, &err), -EPERM);
    snprintf(expected, sizeof(expected),
             "hpc-job-dir %s: it belongs to user 65534; expected a folder of root or of the "
             "daemon's user",
             place->folder);
    assert_string_equal(err.text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_link_in_the_way_is_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_in_the_way_keeps_nobody_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_may_read_it_whatever_the_umask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_could_not_be_written_is_tried_again_by_itself, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_folder_in_others_hands_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
