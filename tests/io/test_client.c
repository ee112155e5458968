/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a server that says prepared bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/net/client.h"

enum { REQUEST_BYTES = 4096 };

struct server {
    char path[64];
    int fd;
    pid_t pid;
};

static int start(void **state)
{
    struct server *server = mem_zero(1, sizeof(*server));
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(server->path, sizeof(server->path), "/tmp/tarn-client.%d", (int)getpid());
    unlink(server->path);
    memcpy(address.sun_path, server->path, strlen(server->path));
    server->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(server->fd, 8), 0);
    *state = server;
    return 0;
}

static int stop(void **state)
{
    struct server *server = *state;
    int status = 0;

    close(server->fd);
    unlink(server->path);
    if (server->pid > 0)
        waitpid(server->pid, &status, 0);
    free(server);
    return status;
}

/* Answers each request on one connection with the next of these, then closes it. */
static void serve(struct server *server, const char *const *replies)
{
    server->pid = fork();
    if (server->pid != 0)
        return;
    int fd = accept(server->fd, NULL, NULL);
    for (; *replies; replies++) {
        char request[REQUEST_BYTES];

        if (read(fd, request, sizeof(request)) <= 0)
            _exit(1);
        for (const char *byte = *replies; *byte; byte++) {
            /* A byte at a time: any of them may end a read. The client may have had enough. */
            if (send(fd, byte, 1, MSG_NOSIGNAL) != 1)
                _exit(0);
        }
    }
    _exit(0);
}

static const struct client_request get = { .method = "GET", .path = "/x" };

static void a_connection_takes_call_after_call(void **state)
{
    struct server *server = *state;
    AUTO(client)
    struct client *client = client_create(&(struct dial_place){ .name = server->path });
    struct client_reply reply;
    struct error err;

    serve(server, (const char *[]){ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none",
                                    "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "2\r\ntw\r\n1\r\no\r\n0\r\n\r\n",
                                    NULL });
    assert_int_equal(client_connect(client, &err), 0);
    assert_int_equal(client_call(client, &get, &reply, &err), 0);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.bytes, "one");
    client_reply_release(&reply);
    assert_int_equal(client_call(client, &get, &reply, &err), 0);
    assert_int_equal(reply.status, 404);
    assert_string_equal(reply.body.bytes, "two");
    client_reply_release(&reply);
}

static void a_reply_that_breaks_off_is_a_failure(void **state)
{
    static const struct {
        const char *reply, *words;
    } cases[] = {
        { "", "it closed the connection without a reply" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\non", "stream ended at an unexpected time" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\non",
          "stream ended at an unexpected time" },
        { "no\r\n", "invalid constant string" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client_reply reply;
        struct error err;
        void *one = NULL;

        (void)state;
        assert_int_equal(start(&one), 0);
        struct server *server = one;
        AUTO(client)
        struct client *client = client_create(&(struct dial_place){ .name = server->path });
        serve(server, (const char *[]){ cases[i].reply, NULL });
        assert_int_equal(client_call(client, &get, &reply, &err), -EIO);
        assert_non_null(strstr(err.text, cases[i].words));
        assert_int_equal(stop(&one), 0);
    }
}

static void without_a_server_it_says_so(void **state)
{
    AUTO(client)
    struct client *client = client_create(&(struct dial_place){ .name = "/tmp/tarn-client.none" });
    struct client_stream stream;
    struct client_reply reply;
    struct error err;
    (void)state;

    assert_int_equal(client_call(client, &get, &reply, &err), -ENOENT);
    assert_string_equal(err.text, "daemon at /tmp/tarn-client.none: No such file or directory");
    client_stream_open(client, "/x", &stream);
    assert_int_equal(client_wait(client, 60000, &err), 0); /* at once: it is over already */
    assert_true(stream.is_over);
    assert_int_equal(stream.code, -ENOENT);
    client_stream_close(&stream);
}

static void a_stream_brings_events_until_it_ends(void **state)
{
    struct server *server = *state;
    AUTO(client)
    struct client *client = client_create(&(struct dial_place){ .name = server->path });
    struct client_stream stream;
    struct client_event event;
    struct error err;

    serve(server, (const char *[]){ "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
                                    ": alive\n\nevent: job\ndata: 1\n\ndata: 2\n\n",
                                    NULL });
    client_stream_open(client, "/x", &stream);
    while (!stream.is_over)
        assert_int_equal(client_wait(client, 60000, &err), 0);
    assert_int_equal(stream.code, 0);
    assert_int_equal(stream.status, 200);
    assert_true(client_event_take(&stream, &event));
    assert_string_equal(event.name, "job");
    assert_string_equal(event.data, "1");
    client_event_release(&event);
    assert_true(client_event_take(&stream, &event));
    assert_string_equal(event.name, "message");
    client_event_release(&event);
    assert_false(client_event_take(&stream, &event));
    client_stream_close(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_connection_takes_call_after_call, start, stop),
        cmocka_unit_test(a_reply_that_breaks_off_is_a_failure),
        cmocka_unit_test(without_a_server_it_says_so),
        cmocka_unit_test_setup_teardown(a_stream_brings_events_until_it_ends, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
