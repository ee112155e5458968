/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CONTRACT_OPERATION_H
#define API_CONTRACT_OPERATION_H

/* operation - the rows of routes.def: what the API offers, without the handlers
 *
 * Plain tables. api/routes.c dispatches by them; contract/openapi.h describes them.
 */

#include <stddef.h>
#include <stdint.h>

enum query_kind {
    QUERY_FLAG,
    QUERY_NUMBER,
    QUERY_WORDS,
    QUERY_TEXT,
    QUERY_NEEDED,
    QUERY_HEADER, /* not in the query, but a header of the request */
};

/* A parameter of a query. */
struct query_key {
    const char *key; /* NULL: the end of a list */
    enum query_kind kind;
    uint64_t least, most; /* of a number */
    const char *words;    /* "a, b" */
    const char *meaning;
};

enum path_kind { PATH_NAME, PATH_NUMBER, PATH_TASK };

/* A part of a path: "{job}". */
struct path_part {
    const char *name;
    enum path_kind kind;
    const char *meaning;
};

enum content {
    CONTENT_JSON,
    CONTENT_TAGGED, /* JSON with an ETag: a client that has it is told so (304) */
    CONTENT_TEXT,
    CONTENT_EVENTS,
    CONTENT_METRICS,
    CONTENT_DESCRIPTOR,
};

enum callers {
    CALLERS_ALL,
    CALLERS_OWNER,     /* of the job, and administrators; the use case checks it */
    CALLERS_PROPOSERS, /* administrators; with dry_run all */
    CALLERS_ADMINS,    /* the dispatcher checks it */
};

struct operation {
    const char *method, *path, *id;
    unsigned status; /* of a success */
    enum content content;
    const char *reply, *body; /* types (contract/schema.h) */
    enum callers callers;
    const char *refusal; /* for other callers, if the dispatcher checks them */
    const char *summary;
    const struct query_key *query;
};

extern const struct operation operations[];
extern const size_t operation_count;

extern const struct path_part path_parts[]; /* ends with a name of NULL */
/* path: at "{"; sets *ret_end to the place after "}". */
const struct path_part *path_part_at(const char *path, const char **ret_end);

/* NULL: it has no such key. */
const struct query_key *operation_key(const struct operation *operation, const char *key);

const char *content_type(enum content content); /* NULL: it is a descriptor */
const char *callers_meaning(enum callers callers);

/* A row of refusals.def. */
struct refusal_meaning {
    unsigned status;
    const char *name, *when;
};
extern const struct refusal_meaning refusal_meanings[]; /* ends with a name of NULL */

#endif
