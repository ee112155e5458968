/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_MCP_TOOL_CALL_H
#define DAEMON_MCP_TOOL_CALL_H

/* tool_call - calls tools: sends their requests to the daemon, and previews actions
 *
 * The connection is made by the first call, and again after a failure. Order of calls: zeroed,
 * tool_call*, release.
 */

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/session.h"
#include "daemon/mcp/guard.h"
#include "daemon/mcp/tool.h"

enum { TOOL_REPLY_MAX = 256 << 10 }; /* more is of no use to the reader */

struct tool_caller {
    struct session session;
    bool is_open;
    struct guard guard;
};

/* reply: the text of the daemon, or what the action would do and its confirmation. */
int tool_call(struct tool_caller *caller, const struct tool *tool, const json_t *arguments,
              struct text *reply, struct error *err);
void tool_caller_release(struct tool_caller *caller);

#endif
