/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/peer.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

void peer_name(uid_t uid, char name[IDENTITY_NAME_SIZE])
{
    const struct passwd *user = getpwuid(uid);

    if (user)
        snprintf(name, IDENTITY_NAME_SIZE, "%s", user->pw_name);
    else
        snprintf(name, IDENTITY_NAME_SIZE, "%u", (unsigned)uid);
}

char *peer_home(uid_t uid)
{
    const struct passwd *user = getpwuid(uid);

    return mem_string(user && user->pw_dir && user->pw_dir[0] == '/' ? user->pw_dir : "/");
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

void peer_identify(int fd, uid_t owner, struct identity *ret)
{
    struct ucred peer = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
    socklen_t length = sizeof(peer);
    char name[IDENTITY_NAME_SIZE];

    *ret = IDENTITY_NONE;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.uid == (uid_t)-1 ||
        peer.gid == (gid_t)-1)
        return;
    peer_name(peer.uid, name);
    identity_set(ret, IDENTITY_PEER, name, peer.uid, peer.gid, owner);
    add_groups(fd, ret);
}

bool peer_find(const char *name, uid_t *ret_uid)
{
    const struct passwd *user = getpwnam(name);

    if (user)
        *ret_uid = user->pw_uid;
    return user != NULL;
}

bool peer_assume(const char *name, uid_t uid, enum identity_source source, uid_t owner,
                 struct identity *ret)
{
    const struct passwd *user = getpwuid(uid);

    *ret = IDENTITY_NONE;
    if (!user || strcmp(user->pw_name, name) != 0)
        return false;
    identity_set(ret, source, name, uid, user->pw_gid, owner);
    return true;
}
