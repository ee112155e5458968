/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/https.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/credentials.h"
#include "io/net/dial.h"
#include "io/parts.h"

enum { LINE_SIZE = 1024 };

static const char scheme[] = "https://";

bool https_is_url(const char *text)
{
    return text && string_starts(text, scheme);
}

static int wrong(const char *given, struct error *err)
{
    return error_set(err, -EINVAL, "'%.80s': expected https://HOST[:PORT]", given);
}

/* The host, without the brackets of an address, and the port. */
static int split(const char *given, char **ret_host, char **ret_port, struct error *err)
{
    if (!https_is_url(given))
        return wrong(given, err);
    const char *from = given + strlen(scheme);
    size_t length = strlen(from);
    while (length > 0 && from[length - 1] == '/')
        length--;
    bool is_bracketed = from[0] == '[';
    const char *end = is_bracketed ? memchr(from, ']', length) : memchr(from, ':', length);
    const char *host_end = end ? end : from + length;
    const char *port = is_bracketed && end ? end + 1 : end;

    *ret_host = mem_string_of(from + is_bracketed, (size_t)(host_end - from) - is_bracketed);
    *ret_port = port && port < from + length && *port == ':'
                    ? mem_string_of(port + 1, (size_t)(from + length - port) - 1)
                    : mem_printf("%d", HTTPS_PORT_DEFAULT);
    bool is_good = (*ret_host)[0] && (!is_bracketed || end) && (*ret_port)[0] &&
                   (*ret_port)[strspn(*ret_port, "0123456789")] == '\0';
    for (const char *at = *ret_host; *at; at++)
        is_good &= isalnum((unsigned char)*at) || strchr(is_bracketed ? ".-_:%" : ".-_", *at);
    is_good &= (*ret_host)[0] != '-';
    if (is_good)
        return 0;
    free(*ret_host);
    free(*ret_port);
    *ret_host = *ret_port = NULL;
    return wrong(given, err);
}

/* "box:9443", "[::1]:9443" */
static char *join(const char *host, const char *port)
{
    return mem_printf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

int https_normalize(const char *given, char **ret, struct error *err)
{
    AUTO_FREE char *host = NULL, *port = NULL;

    int code = split(given, &host, &port, err);
    if (code < 0)
        return code;
    AUTO_FREE char *place = join(host, port);
    *ret = mem_printf("%s%s", scheme, place);
    return 0;
}

int https_open_with(const char *given, const char *fingerprint, const char *token,
                    struct https *ret, struct error *err)
{
    AUTO_FREE char *host = NULL, *port = NULL, *program = NULL;

    for (const char *at = token ? token : ""; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("_-", *at))
            return error_set(err, -EINVAL, "%s: this is no token; expected tarn_N_...", given);
    }
    int code = split(given, &host, &port, err);
    if (code == 0)
        code = part_find("tarn-tls", "src/cli/tls", &program, err);
    if (code < 0)
        return code;
    AUTO_FREE char *place = join(host, port);
    AUTO_FREE char *bearer =
        token ? mem_printf("Authorization: Bearer %s\r\n", token) : mem_string("");
    *ret = (struct https){
        .url = mem_printf("%s%s", scheme, place),
        .words = { TAKE(program), TAKE(host), TAKE(port), mem_string(fingerprint) },
        .headers = mem_printf("Host: %s\r\n%s", place, bearer),
    };
    explicit_bzero(bearer, strlen(bearer));
    return 0;
}

int https_open(const char *given, struct https *ret, struct error *err)
{
    const char *token = getenv("TARN_TOKEN"), *fingerprint = getenv("TARN_FINGERPRINT");
    struct credential known = { 0 };
    AUTO_FREE char *url = NULL;

    int code = https_normalize(given, &url, err);
    if (code < 0)
        return error_prefix(err, code, "TARN_HOST");
    bool has_token = token && token[0], has_fingerprint = fingerprint && fingerprint[0];
    code = credential_find(url, &known, err);
    if (code == 0 || (code == -ENOENT && has_token))
        code = https_open_with(url,
                               has_fingerprint     ? fingerprint
                               : known.fingerprint ? known.fingerprint
                                                   : "-",
                               has_token ? token : known.token, ret, err);
    credential_release(&known);
    return code;
}

static int read_line_of(char *const *argv, struct text *ret)
{
    char chunk[LINE_SIZE];
    ssize_t length;
    int fd = -1;

    int code = dial(&(struct dial_place){ .program = argv }, &fd);
    if (code < 0)
        return code;
    while ((length = read(fd, chunk, sizeof(chunk))) > 0 && ret->length < LINE_SIZE)
        text_add_bytes(ret, chunk, (size_t)length);
    close(fd);
    return 0;
}

int https_look(const char *given, struct https_look *ret, struct error *err)
{
    AUTO_FREE char *host = NULL, *port = NULL, *program = NULL;
    AUTO_RELEASE(text) struct text line = { 0 };

    *ret = (struct https_look){ 0 };
    int code = split(given, &host, &port, err);
    if (code == 0)
        code = part_find("tarn-tls", "src/cli/tls", &program, err);
    if (code < 0)
        return code;
    code = read_line_of((char *[]){ program, (char *)"--look", host, port, NULL }, &line);
    if (code < 0)
        return error_set(err, code, "%s: %s", program, strerror(-code));
    AUTO_FREE char *copy = text_take(&line);
    char *words = copy;
    words[strcspn(words, "\n")] = '\0';
    const char *fingerprint = strsep(&words, " ");
    if (!words || strcmp(fingerprint, "-") == 0)
        return error_set(err, -EHOSTUNREACH, "%s: %s", given, words ? words : "no answer");
    ret->url = mem_string(given);
    ret->fingerprint = mem_string(fingerprint);
    ret->trouble = strcmp(words, "trusted") == 0 ? NULL : mem_string(words);
    return 0;
}
