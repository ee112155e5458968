/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "io/names.h"

int peer_name(uid_t uid, char name[IDENTITY_NAME_SIZE], struct error *err)
{
    const struct name_entry *user;
    int code = names_user(uid, &user, err);

    if (code == 0)
        snprintf(name, IDENTITY_NAME_SIZE, "%s", user->name);
    else
        snprintf(name, IDENTITY_NAME_SIZE, "%u", (unsigned)uid);
    return code == -ENOENT ? 0 : code;
}

char *peer_home(uid_t uid)
{
    const struct name_entry *user;

    return mem_string(names_user(uid, &user, NULL) == 0 && user->home[0] == '/' ? user->home : "/");
}

static void add_groups(int fd, struct identity *identity)
{
    socklen_t size = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE)
        return;
    identity->groups = mem_zero(1, size);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, identity->groups, &size) == 0)
        identity->group_count = size / sizeof(identity->groups[0]);
}

int peer_identify(int fd, uid_t owner, struct identity *ret, struct error *err)
{
    struct ucred peer = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
    socklen_t length = sizeof(peer);
    char name[IDENTITY_NAME_SIZE];

    *ret = IDENTITY_NONE;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid == (uid_t)-1 ||
        peer.gid == (gid_t)-1)
        return 0;
    int code = peer_name(peer.uid, name, err);
    identity_set(ret, IDENTITY_PEER, name, peer.uid, peer.gid, owner);
    add_groups(fd, ret);
    return peer.uid == 0 ? 0 : code;
}

int peer_find(const char *name, uid_t *ret_uid, struct error *err)
{
    const struct name_entry *user;
    int code = names_user_called(name, &user, err);

    if (code == 0)
        *ret_uid = user->number;
    return code;
}

int peer_assume(const char *name, uid_t uid, enum identity_source source, uid_t owner,
                struct identity *ret, struct error *err)
{
    const struct name_entry *user = NULL;
    int code = names_user(uid, &user, err);

    *ret = IDENTITY_NONE;
    if (code == 0 && strcmp(user->name, name) != 0)
        code = error_set(err, -ENOENT, "user %u is not called '%s' any more", (unsigned)uid, name);
    if (code < 0)
        return code;
    identity_set(ret, source, name, uid, user->gid, owner);
    ret->group_count = user->group_count;
    ret->groups = mem_zero(user->group_count + 1, sizeof(ret->groups[0]));
    memcpy(ret->groups, user->groups, user->group_count * sizeof(ret->groups[0]));
    return 0;
}
