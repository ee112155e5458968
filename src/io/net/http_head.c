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
    const char *next; /* where the next line begins if this one ends with CR LF; NULL: not known */
    const char *trouble;
};

static const char odd_line[] =
    "a line of the head has a NUL or CR, goes on in the next line, or does not end with CR LF";

/* This version of the library takes an LF alone for the end of a line, also in a body that comes in
 * chunks, of which this file sees no line; and it joins a line that goes on in the next one. Its
 * parser works in place: it puts NULs in the place of CR LF, so such a line is one that is not
 * followed at once by the next, or by the empty line. Later versions refuse these lines themselves
 * (http.c, MHD_OPTION_CLIENT_DISCIPLINE_LVL). */
static bool is_parsed_in_place(void)
{
    return strcmp(MHD_get_version(), "0.9.75") == 0;
}

/* A token of RFC 9110; so a blank before the colon is none. */
static bool is_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !memchr("!#$%&'*+-.^_`|~", name[i], 15))
            return false;
    }
    return length > 0;
}

static bool is_value(const char *value, size_t length)
{
    return !value || (!memchr(value, '\r', length) && !memchr(value, '\0', length));
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
    if (header == ENCODING && is_parsed_in_place())
        head->trouble = "Transfer-Encoding: expected a body with Content-Length";
    else if (header == ENCODING && strcasecmp(value, "chunked") != 0)
        head->trouble = "Transfer-Encoding: expected chunked";
}

static enum MHD_Result on_header(void *user, enum MHD_ValueKind kind, const char *name,
                                 size_t name_length, const char *value, size_t length)
{
    struct head *head = user;

    (void)kind;
    if (!name || !is_name(name, name_length))
        head->trouble = "a header whose name has characters that no name has";
    else if ((head->next && name != head->next) || !is_value(value, length))
        head->trouble = odd_line;
    if (head->next && value && value[length + 1] != '\0')
        head->trouble = odd_line;
    head->next = head->next && value ? value + length + 2 : NULL;
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

const char *http_head_trouble(struct MHD_Connection *connection, const char *version)
{
    struct head head = { .next = is_parsed_in_place() ? version + strlen(version) + 2 : NULL };

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, &head);
    if (!head.trouble && head.next && (head.next[0] != '\0' || head.next[1] != '\0'))
        head.trouble = odd_line;
    for (size_t i = 0; !head.trouble && i < SINGLE; i++) {
        if (head.counts[i] > 1)
            head.trouble = "a header is there twice: Host, Content-Length, Transfer-Encoding, "
                           "Authorization, Cookie, Origin and Content-Type may be there once";
    }
    if (!head.trouble && head.counts[LENGTH] > 0 && head.counts[ENCODING] > 0)
        head.trouble = "expected Content-Length or Transfer-Encoding, and not both";
    return head.trouble;
}
