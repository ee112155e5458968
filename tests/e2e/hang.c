/* SPDX-License-Identifier: Apache-2.0 */
/* hang - name services that hang, and threads that cannot be created, in one process of a test
 *
 * To be preloaded. While the file $HANG_NAMES exists, look-ups of users and groups wait. While
 * $HANG_THREADS exists, pthread_create fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

static int is_there(const char *variable)
{
    const char *path = getenv(variable);

    return path && access(path, F_OK) == 0;
}

static void *real(const char *name)
{
    while (is_there("HANG_NAMES"))
        usleep(10000);
    return dlsym(RTLD_NEXT, name);
}

struct passwd *getpwuid(uid_t uid)
{
    return ((struct passwd * (*)(uid_t)) real("getpwuid"))(uid);
}

struct passwd *getpwnam(const char *name)
{
    return ((struct passwd * (*)(const char *)) real("getpwnam"))(name);
}

struct group *getgrnam(const char *name)
{
    return ((struct group * (*)(const char *)) real("getgrnam"))(name);
}

struct group *getgrgid(gid_t gid)
{
    return ((struct group * (*)(gid_t)) real("getgrgid"))(gid);
}

int getpwuid_r(uid_t uid, struct passwd *space, char *buffer, size_t size, struct passwd **ret)
{
    return ((int (*)(uid_t, struct passwd *, char *, size_t, struct passwd **))real("getpwuid_r"))(
        uid, space, buffer, size, ret);
}

int getpwnam_r(const char *name, struct passwd *space, char *buffer, size_t size,
               struct passwd **ret)
{
    return ((int (*)(const char *, struct passwd *, char *, size_t, struct passwd **))real(
        "getpwnam_r"))(name, space, buffer, size, ret);
}

int getgrnam_r(const char *name, struct group *space, char *buffer, size_t size, struct group **ret)
{
    return ((int (*)(const char *, struct group *, char *, size_t, struct group **))real(
        "getgrnam_r"))(name, space, buffer, size, ret);
}

int getgrgid_r(gid_t gid, struct group *space, char *buffer, size_t size, struct group **ret)
{
    return ((int (*)(gid_t, struct group *, char *, size_t, struct group **))real("getgrgid_r"))(
        gid, space, buffer, size, ret);
}

int getgrouplist(const char *name, gid_t gid, gid_t *groups, int *count)
{
    return ((int (*)(const char *, gid_t, gid_t *, int *))real("getgrouplist"))(name, gid, groups,
                                                                                count);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *user)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");

    return is_there("HANG_THREADS") ? EAGAIN : create(thread, attributes, run, user);
}
