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
#include "io/net/http.h"

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

enum { MANY = 1000 };

struct crowd {
    struct connections connections;
    struct connection each[MANY];
    int ends[MANY];
    unsigned count;
};

/* One more, which came `count` ms after 1000. */
static struct connection *come(struct crowd *crowd, uint64_t key)
{
    struct connection *connection = &crowd->each[crowd->count];
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    crowd->ends[crowd->count] = fds[1];
    *connection = (struct connection){ .fd = fds[0], .key = key };
    connections_add(&crowd->connections, connection, 1000 + crowd->count);
    crowd->count++;
    return connection;
}

static enum claim come_as(struct crowd *crowd, enum holder_kind kind, uint64_t key)
{
    return connections_claim(&crowd->connections, come(crowd, 99), kind, key);
}

static bool is_shut(const struct crowd *crowd, unsigned i)
{
    char byte;

    return recv(crowd->ends[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static void disperse(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->count; i++) {
        connections_remove(&crowd->connections, &crowd->each[i]);
        close(crowd->each[i].fd);
        close(crowd->ends[i]);
    }
    assert_null(crowd->connections.first);
    assert_null(crowd->connections.last);
}

static void the_oldest_of_a_network_leaves_when_there_are_too_many(void **state)
{
    static struct crowd crowd;
    const unsigned most = connection_limits[HOLDER_STRANGER].each;
    (void)state;

    while (crowd.count < most + 3)
        come(&crowd, 1);
    for (unsigned i = 0; i < crowd.count; i++)
        assert_int_equal(is_shut(&crowd, i), i < 3);
    disperse(&crowd);
}

static void the_oldest_of_all_leaves_when_there_are_too_many(void **state)
{
    static struct crowd crowd;
    const unsigned most = connection_limits[HOLDER_STRANGER].all;
    (void)state;

    while (crowd.count < most + 10)
        come(&crowd, crowd.count);
    for (unsigned i = 0; i < crowd.count; i++)
        assert_int_equal(is_shut(&crowd, i), i < 10);
    disperse(&crowd);
}

static void a_known_peer_makes_room_and_has_no_deadline(void **state)
{
    static struct crowd crowd;
    (void)state;

    for (unsigned i = 0; i < 4; i++)
        come(&crowd, 1);
    assert_int_equal(connections_claim(&crowd.connections, &crowd.each[1], HOLDER_USER, 1),
                     CLAIM_HELD);
    connection_extend(&crowd.each[3], 1010);
    connections_expire(&crowd.connections, 1001);
    assert_true(is_shut(&crowd, 0));
    connections_expire(&crowd.connections, 1009);
    assert_false(is_shut(&crowd, 1));
    assert_true(is_shut(&crowd, 2));
    assert_false(is_shut(&crowd, 3));
    disperse(&crowd);
}

/* Whatever one user does, there is room for the next one, and for an administrator. */
static void a_user_has_a_part_of_the_connections_only(void **state)
{
    static struct crowd crowd;
    const unsigned most = connection_limits[HOLDER_USER].each;
    (void)state;

    for (unsigned i = 0; i < most; i++)
        assert_int_equal(come_as(&crowd, HOLDER_USER, 7), CLAIM_HELD);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(come_as(&crowd, HOLDER_USER, 7), CLAIM_HOLDER_FULL);
    for (unsigned i = 0; i < most; i++)
        assert_false(is_shut(&crowd, i)); /* nor does it lose what it has */
    assert_int_equal(come_as(&crowd, HOLDER_USER, 8), CLAIM_HELD);
    assert_int_equal(come_as(&crowd, HOLDER_ADMIN, 7), CLAIM_HELD);
    connections_remove(&crowd.connections, &crowd.each[0]);
    assert_int_equal(come_as(&crowd, HOLDER_USER, 7), CLAIM_HELD);
    connections_add(&crowd.connections, &crowd.each[0], 0);
    disperse(&crowd);
}

/* Those without room stay strangers, and these are bounded. */
static void all_users_together_leave_room_to_administrators(void **state)
{
    static struct crowd crowd;
    const unsigned most = connection_limits[HOLDER_USER].all;
    (void)state;

    for (unsigned i = 0; i < most; i++)
        assert_int_equal(come_as(&crowd, HOLDER_USER, i), CLAIM_HELD);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(come_as(&crowd, HOLDER_USER, i), CLAIM_KIND_FULL);
    assert_int_equal(come_as(&crowd, HOLDER_ADMIN, 7), CLAIM_HELD);
    assert_int_equal(come_as(&crowd, HOLDER_OWNER, 7), CLAIM_HELD);
    assert_true(connection_limits[HOLDER_STRANGER].all + most +
                    connection_limits[HOLDER_ADMIN].all <
                HTTP_CONNECTIONS_MAX);
    disperse(&crowd);
}

/* As those of a proxy are, which serves many users. */
static void a_connection_is_the_holders_of_its_last_request(void **state)
{
    static struct crowd crowd;
    const unsigned most = connection_limits[HOLDER_USER].each;
    (void)state;

    for (unsigned i = 0; i < most; i++)
        assert_int_equal(come_as(&crowd, HOLDER_USER, 7), CLAIM_HELD);
    struct connection *first = &crowd.each[0];
    assert_int_equal(connections_claim(&crowd.connections, first, HOLDER_USER, 7), CLAIM_HELD);
    assert_int_equal(connections_claim(&crowd.connections, first, HOLDER_USER, 8), CLAIM_HELD);
    assert_int_equal(come_as(&crowd, HOLDER_USER, 7), CLAIM_HELD);
    assert_int_equal(connections_claim(&crowd.connections, first, HOLDER_USER, 7),
                     CLAIM_HOLDER_FULL);
    assert_int_equal(first->key, 8);
    disperse(&crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_an_address_or_the_first_half_of_one),
        cmocka_unit_test(the_oldest_of_a_network_leaves_when_there_are_too_many),
        cmocka_unit_test(the_oldest_of_all_leaves_when_there_are_too_many),
        cmocka_unit_test(a_known_peer_makes_room_and_has_no_deadline),
        cmocka_unit_test(a_user_has_a_part_of_the_connections_only),
        cmocka_unit_test(all_users_together_leave_room_to_administrators),
        cmocka_unit_test(a_connection_is_the_holders_of_its_last_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
