/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/net/peer.h"

static void the_kernel_says_who_is_at_the_other_end(void **state)
{
    (void)state;
    struct identity who;
    char name[IDENTITY_NAME_SIZE];
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(peer_identify(fds[0], geteuid(), &who, NULL), 0);
    assert_int_equal(who.source, IDENTITY_PEER);
    assert_true(who.has_uid && who.is_admin);
    assert_int_equal(who.uid, geteuid());
    assert_int_equal(who.gid, getegid());
    peer_name(geteuid(), name, NULL);
    assert_string_equal(who.name, name);
    identity_release(&who);
    close(fds[0]);
    close(fds[1]);
}

static void over_tcp_it_is_nobody(void **state)
{
    (void)state;
    struct identity who;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(peer_identify(fd, geteuid(), &who, NULL), 0);
    assert_int_equal(who.source, IDENTITY_NOBODY);
    assert_false(who.has_uid || who.is_admin);
    assert_int_equal(who.uid, (uid_t)-1);
    assert_string_equal(who.name, "");
    close(fd);
    assert_int_equal(peer_identify(-1, geteuid(), &who, NULL), 0);
    assert_int_equal(who.source, IDENTITY_NOBODY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_says_who_is_at_the_other_end),
        cmocka_unit_test(over_tcp_it_is_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
