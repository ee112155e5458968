/* SPDX-License-Identifier: Apache-2.0 */
/* tarn-tls: one TLS connection over standard input and output
 *
 *   tarn-tls HOST PORT FINGERPRINT     "-": a certificate that this machine trusts for HOST
 *   tarn-tls --look HOST PORT          print the fingerprint, then "trusted" or what is wrong
 *
 * The client of tarn runs it for TARN_HOST=https://... (cli/https.h). What prevents the connection
 * is printed as a reply in HTTP, which the client shows to its user. */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "io/net/tls.h"

enum { CHUNK = 16 * 1024, CONNECT_TIMEOUT_MS = 10000, HASH_SIZE = 32, WORDS_SIZE = 512 };

static char trouble[WORDS_SIZE];

static bool fail(const char *format, ...) PRINTF(1, 2);
static bool fail(const char *format, ...)
{
    char words[WORDS_SIZE]; /* the arguments may include the last trouble */
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    memcpy(trouble, words, sizeof(trouble));
    for (char *at = trouble; *at; at++) {
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            *at = '\'';
    }
    return false;
}

/* ---- connecting ---- */

static int connect_one(const struct addrinfo *place)
{
    int one = 1, code = 0;
    socklen_t length = sizeof(code);

    int fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, place->ai_addr, place->ai_addrlen) < 0 && errno == EINPROGRESS) {
        struct pollfd news = { .fd = fd, .events = POLLOUT };
        code = poll(&news, 1, CONNECT_TIMEOUT_MS) == 1 ? 0 : ETIMEDOUT;
        if (code == 0)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length);
    } else
        code = 0;
    if (code == 0)
        return fd;
    close(fd);
    return -code;
}

static bool dial(const char *host, const char *port, int *ret)
{
    struct addrinfo wanted = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    int fd = -ECONNREFUSED;

    int code = getaddrinfo(host, port, &wanted, &found);
    if (code != 0)
        return fail("%s: %s", host, gai_strerror(code));
    for (const struct addrinfo *place = found; place && fd < 0; place = place->ai_next)
        fd = connect_one(place);
    freeaddrinfo(found);
    *ret = fd;
    return fd >= 0 || fail("%s port %s: %s", host, port, strerror(-fd));
}

static bool shake_hands(gnutls_session_t session)
{
    int code;

    gnutls_handshake_set_timeout(session, CONNECT_TIMEOUT_MS);
    do {
        struct pollfd news = {
            .fd = gnutls_transport_get_int(session),
            .events = gnutls_record_get_direction(session) ? POLLOUT : POLLIN,
        };
        code = gnutls_handshake(session);
        if (code == GNUTLS_E_AGAIN && poll(&news, 1, CONNECT_TIMEOUT_MS) == 0)
            code = GNUTLS_E_TIMEDOUT;
    } while (code < 0 && !gnutls_error_is_fatal(code));
    return code >= 0 || fail("TLS: %s", gnutls_strerror(code));
}

/* ---- the certificate ---- */

static void fingerprint_of(gnutls_session_t session, char ret[TLS_FINGERPRINT_SIZE])
{
    unsigned char hash[HASH_SIZE] = { 0 };
    unsigned count = 0;

    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    if (count > 0)
        gnutls_hash_fast(GNUTLS_DIG_SHA256, chain[0].data, chain[0].size, hash);
    strcpy(ret, "sha256:");
    for (size_t i = 0; i < HASH_SIZE; i++)
        snprintf(ret + 7 + 2 * i, 3, "%02x", hash[i]);
}

static bool is_trusted(gnutls_session_t session, const char *host)
{
    gnutls_datum_t words = { 0 };
    unsigned status = 0;

    int code = gnutls_certificate_verify_peers3(session, host, &status);
    if (code < 0)
        return fail("certificate of %s: %s", host, gnutls_strerror(code));
    if (status == 0)
        return true;
    gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0);
    while (words.size > 0 && words.data[words.size - 1] == ' ')
        words.size--;
    fail("certificate of %s: %.*s", host, (int)words.size, (const char *)words.data);
    gnutls_free(words.data);
    return false;
}

static bool check(gnutls_session_t session, const char *host, const char *expected)
{
    char found[TLS_FINGERPRINT_SIZE];

    if (strcmp(expected, "-") == 0)
        return is_trusted(session, host) ||
               fail("%s; tarn login https://%s can accept its fingerprint", trouble, host);
    fingerprint_of(session, found);
    return strcmp(found, expected) == 0 ||
           fail("the certificate of %s has changed: its fingerprint is %s. If it was renewed, run "
                "tarn login again; if not, somebody may be between you and the server",
                host, found);
}

/* The one of the program, until it ends. */
static gnutls_certificate_credentials_t credentials;
static gnutls_session_t opened;

static bool open_session(const char *host, const char *port)
{
    int fd = -1;

    if (!dial(host, port, &fd))
        return false;
    gnutls_certificate_allocate_credentials(&credentials);
    gnutls_certificate_set_x509_system_trust(credentials);
    gnutls_init(&opened, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    gnutls_priority_set_direct(opened, TLS_PRIORITIES, NULL);
    gnutls_credentials_set(opened, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_server_name_set(opened, GNUTLS_NAME_DNS, host, strlen(host));
    gnutls_transport_set_int(opened, fd);
    return shake_hands(opened);
}

/* ---- copying ---- */

struct lane {
    char bytes[CHUNK];
    size_t length, done;
    bool is_over;
};

static bool is_later(ssize_t code)
{
    return code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED;
}

/* From standard input to the server. */
static void send_some(gnutls_session_t session, struct lane *lane)
{
    if (lane->length == 0) {
        ssize_t length = read(STDIN_FILENO, lane->bytes, CHUNK);
        lane->is_over = length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR);
        lane->length = length > 0 ? (size_t)length : 0;
    }
    while (lane->done < lane->length) {
        ssize_t length =
            gnutls_record_send(session, lane->bytes + lane->done, lane->length - lane->done);
        if (length < 0) {
            lane->is_over |= !is_later(length);
            return;
        }
        lane->done += (size_t)length;
    }
    lane->length = lane->done = 0;
}

/* From the server to standard output. */
static void receive_some(gnutls_session_t session, struct lane *lane)
{
    if (lane->length == 0) {
        ssize_t length = gnutls_record_recv(session, lane->bytes, CHUNK);
        lane->is_over = length == 0 || (length < 0 && !is_later(length));
        lane->length = length > 0 ? (size_t)length : 0;
    }
    while (lane->done < lane->length) {
        ssize_t length = write(STDOUT_FILENO, lane->bytes + lane->done, lane->length - lane->done);
        if (length < 0) {
            lane->is_over |= errno != EAGAIN && errno != EINTR;
            return;
        }
        lane->done += (size_t)length;
    }
    lane->length = lane->done = 0;
}

static void copy(gnutls_session_t session)
{
    static struct lane out, in;
    int socket = gnutls_transport_get_int(session);

    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    while (!out.is_over && !in.is_over) {
        struct pollfd news[] = {
            { .fd = out.length > 0 ? -1 : STDIN_FILENO, .events = POLLIN },
            { .fd = in.length > 0 ? STDOUT_FILENO : -1, .events = POLLOUT },
            { .fd = socket,
              .events = (short)((in.length > 0 ? 0 : POLLIN) | (out.length > 0 ? POLLOUT : 0)) },
        };
        bool has_more = in.length == 0 && gnutls_record_check_pending(session) > 0;

        if (poll(news, 3, has_more ? 0 : -1) < 0 && errno != EINTR)
            return;
        if (news[0].revents || (news[2].revents & POLLOUT))
            send_some(session, &out);
        if (has_more || news[1].revents || (news[2].revents & (POLLIN | POLLHUP | POLLERR)))
            receive_some(session, &in);
    }
    gnutls_bye(session, GNUTLS_SHUT_WR);
}

/* ---- the two ways to call it ---- */

static int look(const char *host, const char *port)
{
    char fingerprint[TLS_FINGERPRINT_SIZE];

    if (!open_session(host, port)) {
        printf("- %s\n", trouble);
        return 1;
    }
    fingerprint_of(opened, fingerprint);
    printf("%s %s\n", fingerprint, is_trusted(opened, host) ? "trusted" : trouble);
    return 0;
}

static int refuse(void)
{
    printf("HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
           "Connection: close\r\n\r\n{\"error\":{\"code\":\"unreachable\",\"message\":\"%s\"}}",
           strlen("{\"error\":{\"code\":\"unreachable\",\"message\":\"\"}}") + strlen(trouble),
           trouble);
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 4 && strcmp(argv[1], "--look") == 0)
        return look(argv[2], argv[3]);
    if (argc != 4) {
        fprintf(stderr, "tarn-tls: expected HOST PORT FINGERPRINT, or --look HOST PORT\n");
        return 2;
    }
    if (!open_session(argv[1], argv[2]) || !check(opened, argv[1], argv[3]))
        return refuse();
    copy(opened);
    return 0;
}
