/* SPDX-License-Identifier: Apache-2.0 */
#include "base/identity.h"

#include <stdio.h>

void identity_set(struct identity *identity, enum identity_source source, const char *name,
                  uid_t uid, gid_t gid, uid_t owner)
{
    *identity = (struct identity){
        .source = source,
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

bool identity_owns(const struct identity *identity, uid_t uid)
{
    return identity->has_uid && identity->uid == uid;
}

bool identity_may(const struct identity *identity, uid_t uid)
{
    return identity->is_admin || identity_owns(identity, uid);
}
