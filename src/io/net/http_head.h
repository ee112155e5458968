/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_NET_HTTP_HEAD_H
#define IO_NET_HTTP_HEAD_H

/* http_head - whether the head of a request can be read in one way only
 *
 * A proxy may read an ambiguous head otherwise than this server: where one of them sees the end of
 * a request, the other one sees the beginning of the next (request smuggling), and it would come
 * with the identity of another user.
 */

struct MHD_Connection;

/* NULL: it can; else what is wrong, without characters that JSON would have to escape. version: as
 * the handler of the library is given it. */
const char *http_head_trouble(struct MHD_Connection *connection, const char *version);
/* How often a header is there. */
unsigned http_head_count(struct MHD_Connection *connection, const char *name);

#endif
