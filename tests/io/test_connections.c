/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/net/connections.h"

static uint64_t network(const char *text)
{
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return network_of((const struct sockaddr *)&four);
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return network_of((const struct sockaddr *)&six);
}

static void a_network_is_an_address_or_the_first_half_of_one(void **state)
{
    (void)state;

    assert_int_equal(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff:ffff:ffff:ffff"));
    assert_int_not_equal(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
    assert_int_not_equal(network("192.0.2.1"), network("192.0.2.2"));
    assert_int_equal(network("::ffff:192.0.2.1"), network("192.0.2.1"));
}

enum { MANY = STRANGERS_MAX + 10 };

struct crowd {
    struct strangers strangers;
    struct stranger each[MANY];
    int ends[MANY];
};

/* The first `count` of them, each at time i; every `networks`-th is of the same network. */
static void gather(struct crowd *crowd, unsigned count, unsigned networks)
{
    for (unsigned i = 0; i < count; i++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        crowd->ends[i] = fds[1];
        crowd->each[i] = (struct stranger){ .fd = fds[0], .network = i % networks };
        strangers_add(&crowd->strangers, &crowd->each[i], 1000 + i);
    }
}

static bool is_shut(const struct crowd *crowd, unsigned i)
{
    char byte;

    return recv(crowd->ends[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static void disperse(struct crowd *crowd, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        strangers_remove(&crowd->strangers, &crowd->each[i]);
        close(crowd->each[i].fd);
        close(crowd->ends[i]);
    }
    assert_int_equal(crowd->strangers.count, 0);
    assert_null(crowd->strangers.first);
    assert_null(crowd->strangers.last);
}

static void the_oldest_of_a_network_leaves_when_there_are_too_many(void **state)
{
    static struct crowd crowd;
    (void)state;

    gather(&crowd, STRANGERS_NETWORK_MAX + 3, 1);
    for (unsigned i = 0; i < STRANGERS_NETWORK_MAX + 3; i++)
        assert_int_equal(is_shut(&crowd, i), i < 3);
    disperse(&crowd, STRANGERS_NETWORK_MAX + 3);
}

static void the_oldest_of_all_leaves_when_there_are_too_many(void **state)
{
    static struct crowd crowd;
    (void)state;

    gather(&crowd, MANY, MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(is_shut(&crowd, i), i < MANY - STRANGERS_MAX);
    disperse(&crowd, MANY);
}

static void a_known_peer_makes_room_and_has_no_deadline(void **state)
{
    static struct crowd crowd;
    (void)state;

    gather(&crowd, 3, 1);
    strangers_remove(&crowd.strangers, &crowd.each[1]);
    strangers_remove(&crowd.strangers, &crowd.each[1]);
    strangers_expire(&crowd.strangers, 1001);
    assert_true(is_shut(&crowd, 0));
    strangers_expire(&crowd.strangers, 1002);
    assert_false(is_shut(&crowd, 1));
    assert_true(is_shut(&crowd, 2));
    disperse(&crowd, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_an_address_or_the_first_half_of_one),
        cmocka_unit_test(the_oldest_of_a_network_leaves_when_there_are_too_many),
        cmocka_unit_test(the_oldest_of_all_leaves_when_there_are_too_many),
        cmocka_unit_test(a_known_peer_makes_room_and_has_no_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
