/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_WHATIF_REQUEST_H
#define WIRE_WHATIF_REQUEST_H

/* whatif_request - a hypothetical change, as POST /v1/whatif takes it
 *
 * It is checked here as far as it stands for itself: whether machines, jobs and queues are there
 * is the caller's business.
 *
 * Owner:       the caller of whatif_parse; documents are references into what was parsed
 * On failure:  "whatif: KEY: words"; no ret_ parameter was written
 * Limits:      below
 * Spec:        doc/spec/05-api.md, "What if"
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "core/job/request.h"

enum {
    WHATIF_LIST_MAX = 64, /* of each kind of change */
    WHATIF_SUBMIT_MAX = 100,
    WHATIF_NODES_MAX = 1000,   /* machines in one group */
    WHATIF_NODE_GPUS_MAX = 64, /* of one machine */
    WHATIF_GPUS_MAX = 10000,   /* of all groups */
    WHATIF_SHOWN_MAX = 100000, /* jobs in the answer */
    WHATIF_SHOWN = 100,
};

/* "2:h100:8", "2:h100:8:spot" */
struct whatif_nodes {
    uint32_t count, gpus;
    char model[REQUEST_MODEL_SIZE]; /* lower case */
    bool is_spot;
    char type[REQUEST_NAME_SIZE]; /* of `node_types`; "": one with such GPUs, if there is any */
};

struct whatif {
    struct whatif_nodes nodes[WHATIF_LIST_MAX];
    size_t node_count;
    const json_t *drain, *remove, *cancel, *set; /* lists of strings, or NULL */
    const json_t *submit;                        /* a list of documents, or NULL */
    const json_t *config;                        /* a whole configuration, or NULL */
    uint32_t shown;
    json_t *document; /* holds them */
};

int whatif_parse(json_t *document, struct whatif **ret, struct error *err);
void whatif_destroy(struct whatif *whatif); /* NULL is fine */
DEFINE_AUTO(whatif)

int whatif_nodes_parse(const char *text, struct whatif_nodes *ret, struct error *err);

#endif
