/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MCP_TOOL_H
#define DAEMON_MCP_TOOL_H

/* tool - the tools of tarn mcp, each a request of the API
 *
 * tools.def lists them. The arguments of a tool are the parameters of its operation's path and
 * query; if it has none, they are the keys of its body. A tool with a kind other than TOOL_READ
 * also takes "confirm" (guard.h).
 */

#include <jansson.h>
#include <stdbool.h>

#include "api/contract/operation.h"
#include "base/error.h"
#include "base/text.h"

enum tool_kind { TOOL_READ, TOOL_PREVIEWED, TOOL_DESTROYS };

struct tool {
    const char *name;
    const char *operation_id;
    enum tool_kind kind;
    const char *usual, *never, *description;
};

/* NULL: there is none, or it changes something and is_read_only. */
const struct tool *tool_find(const char *name, bool is_read_only);
/* All of them, as the protocol lists tools; new. */
json_t *tool_list(bool is_read_only);

/* What is sent to the daemon. Zeroed first; released with tool_request_release(). */
struct tool_request {
    const struct operation *operation;
    struct text path; /* with the query */
    char *body;       /* NULL: none */
};

/* arguments: an object, without "confirm". Fails with -EINVAL. */
int tool_request(const struct tool *tool, const json_t *arguments, struct tool_request *ret,
                 struct error *err);
void tool_request_release(struct tool_request *request);

#endif
