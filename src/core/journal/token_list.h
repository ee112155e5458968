/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOURNAL_TOKEN_LIST_H
#define CORE_JOURNAL_TOKEN_LIST_H

/* token_list - the access tokens that are neither revoked nor removed
 *
 * The scheduler does not read them. Of a secret, only the hash is kept.
 *
 * Owner: the list owns its tokens; what it returns is valid until the next put or remove
 */

#include "core/journal/event.h"

enum token_kind { TOKEN_ACCESS, TOKEN_LOGIN, TOKEN_SESSION, TOKEN_KINDS };

struct token_list {
    LIST(struct event_token) items; /* by number */
    uint64_t last;                  /* the highest number so far */
};

/* Add it, or replace the one with its number. Fails with -EBADMSG if the number was used before. */
int token_list_put(struct token_list *list, const struct event_token *token, struct error *err);
int token_list_remove(struct token_list *list, uint64_t id, struct error *err);
const struct event_token *token_list_find(const struct token_list *list, uint64_t id); /* or NULL */
void token_list_release(struct token_list *list);

#endif
