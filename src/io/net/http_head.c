/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/http_head.h"

#include <ctype.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

/* What says who sends how much to whom: none of it may be there twice. */
static const char *const single[] = { "Host",          "Content-Length", "Transfer-Encoding",
                                      "Authorization", "Cookie",         "Origin",
                                      "Content-Type" };
enum { HOST, LENGTH, ENCODING, SINGLE = COUNT_OF(single) };

struct head {
    unsigned counts[SINGLE];
    const char *trouble;
};

/* A token of RFC 9110; so a blank before the colon is none. */
static bool is_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !memchr("!#$%&'*+-.^_`|~", name[i], 15))
            return false;
    }
    return length > 0;
}

static bool is_number(const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)value[i]))
            return false;
    }
    return length > 0;
}

static void look(struct head *head, size_t header, const char *value, size_t length)
{
    head->counts[header]++;
    if (header == LENGTH && !is_number(value, length))
        head->trouble = "Content-Length: expected a number";
    if (header == ENCODING && strcasecmp(value, "chunked") != 0)
        head->trouble = "Transfer-Encoding: expected chunked";
}

static enum MHD_Result on_header(void *user, enum MHD_ValueKind kind, const char *name,
                                 size_t name_length, const char *value, size_t length)
{
    struct head *head = user;

    (void)kind;
    if (!name || !is_name(name, name_length))
        head->trouble = "a header whose name has characters that no name has";
    for (size_t i = 0; !head->trouble && value && i < SINGLE; i++) {
        if (strcasecmp(name, single[i]) == 0)
            look(head, i, value, length);
    }
    return head->trouble ? MHD_NO : MHD_YES;
}

struct counting {
    const char *name;
    unsigned count;
};

static enum MHD_Result count(void *user, enum MHD_ValueKind kind, const char *name,
                             const char *value)
{
    struct counting *counting = user;

    (void)kind;
    (void)value;
    counting->count += strcasecmp(name, counting->name) == 0;
    return MHD_YES;
}

unsigned http_head_count(struct MHD_Connection *connection, const char *name)
{
    struct counting counting = { .name = name };

    MHD_get_connection_values(connection, MHD_HEADER_KIND, count, &counting);
    return counting.count;
}

const char *http_head_trouble(struct MHD_Connection *connection)
{
    struct head head = { .trouble = NULL };

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, &head);
    for (size_t i = 0; !head.trouble && i < SINGLE; i++) {
        if (head.counts[i] > 1)
            head.trouble = "a header is there twice: Host, Content-Length, Transfer-Encoding, "
                           "Authorization, Cookie, Origin and Content-Type may be there once";
    }
    if (!head.trouble && head.counts[LENGTH] > 0 && head.counts[ENCODING] > 0)
        head.trouble = "expected Content-Length or Transfer-Encoding, and not both";
    return head.trouble;
}
