/* SPDX-License-Identifier: Apache-2.0 */
#include "base/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void identity_set(struct identity *identity, enum identity_source source, const char *name,
                  uid_t uid, gid_t gid, uid_t owner)
{
    *identity = (struct identity){
        .source = source,
        .scope = SCOPE_ADMIN,
        .has_uid = true,
        .is_admin = uid == 0 || uid == owner,
        .uid = uid,
        .gid = gid,
    };
    if (name && name[0])
        snprintf(identity->name, sizeof(identity->name), "%s", name);
    else
        snprintf(identity->name, sizeof(identity->name), "%u", (unsigned)uid);
}

void identity_narrow(struct identity *identity, enum identity_scope scope, const char *queues)
{
    identity->scope = scope < identity->scope ? scope : identity->scope;
    free(identity->queues);
    identity->queues = queues && queues[0] ? mem_string(queues) : NULL;
    identity->is_admin &= identity->scope == SCOPE_ADMIN && !identity->queues;
}

void identity_release(struct identity *identity)
{
    free(identity->groups);
    free(identity->queues);
    *identity = IDENTITY_NONE;
}

static const char *const scope_names[SCOPES] = { "none", "read", "submit", "queues", "admin" };

DEFINE_NAMES(identity_source_name, enum identity_source, "unknown", "peer", "engine", "stored",
             "token", "proxy", "password")

const char *identity_scope_name(enum identity_scope scope)
{
    return scope_names[scope < SCOPES ? scope : SCOPE_NONE];
}

enum identity_scope identity_scope_find(const char *name)
{
    for (enum identity_scope i = SCOPE_READ; i < SCOPES; i++) {
        if (strcmp(scope_names[i], name) == 0)
            return i;
    }
    return SCOPE_NONE;
}

bool identity_owns(const struct identity *identity, uid_t uid)
{
    return identity->has_uid && identity->uid == uid;
}

bool identity_may(const struct identity *identity, uid_t uid)
{
    return identity->is_admin || identity_owns(identity, uid);
}
