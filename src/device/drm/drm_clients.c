/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/drm_clients.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/drm/drm.h"
#include "device/drm/drm_fdinfo.h"
#include "device/drm/sysfs.h"

enum { CLIENTS_MAX = 65536 };

struct drm_clients {
    char *root;
    usec_t (*now)(void);
    pthread_mutex_t lock;
    LIST(struct drm_client) found; /* of the last walk */
    uint64_t walk;                 /* its number; 0: there was none */
    usec_t walked;
};

struct drm_past {
    struct drm_client client;
    usec_t at;
};

struct drm_clients *drm_clients_create(const char *root, usec_t (*now)(void))
{
    struct drm_clients *clients = mem_zero(1, sizeof(*clients));

    clients->root = mem_string(root);
    clients->now = now ? now : drm_clock;
    pthread_mutex_init(&clients->lock, NULL);
    return clients;
}

void drm_clients_destroy(struct drm_clients *clients)
{
    if (!clients)
        return;
    pthread_mutex_destroy(&clients->lock);
    list_release(&clients->found);
    free(clients->root);
    free(clients);
}

void drm_seen_release(struct drm_seen *seen)
{
    free(seen->items);
    *seen = (struct drm_seen){ 0 };
}

/* ---- a walk ---- */

/* Files that are not of a graphics driver are most of them, and told apart by their names. */
static bool is_drm(const char *folder, const char *fd, bool *ret_is_card)
{
    AUTO_FREE char *link = mem_printf("%s/fd/%s", folder, fd);
    char target[64];
    ssize_t length = readlink(link, target, sizeof(target) - 1);

    if (length < 0)
        return false;
    target[length] = '\0';
    *ret_is_card = string_starts(target, "/dev/dri/card");
    return string_starts(target, "/dev/dri/");
}

/* A client that is open several times is one; opened as a card only counts when it always is. */
static void add(struct drm_clients *clients, const struct drm_client *client)
{
    for (size_t i = clients->found.count; i-- > 0;) {
        struct drm_client *known = &clients->found.items[i];
        if (known->id != client->id || strcmp(known->address, client->address) != 0)
            continue;
        known->is_card &= client->is_card;
        return;
    }
    if (clients->found.count < CLIENTS_MAX)
        list_add(&clients->found, *client);
}

static void walk_process(struct drm_clients *clients, const char *folder, uint32_t pid)
{
    AUTO_FREE char *infos = mem_printf("%s/fdinfo", folder);
    char **fds = sysfs_names(infos, "");

    for (char **fd = fds; *fd; fd++) {
        char text[DRM_FDINFO_SIZE];
        struct drm_client client;
        bool is_card = false;
        if (!is_drm(folder, *fd, &is_card) || !sysfs_text(infos, *fd, text, sizeof(text)) ||
            !drm_fdinfo_parse(text, &client))
            continue;
        client.pid = pid;
        client.is_card = is_card;
        add(clients, &client);
    }
    sysfs_names_free(fds);
}

static void walk(struct drm_clients *clients)
{
    AUTO_FREE char *proc = mem_printf("%s/proc", clients->root);
    char **pids = sysfs_names(proc, "");

    clients->found.count = 0;
    clients->walked = clients->now();
    clients->walk++;
    for (char **pid = pids; *pid; pid++) {
        AUTO_FREE char *folder = mem_printf("%s/%s", proc, *pid);
        char *end;
        unsigned long number = strtoul(*pid, &end, 10);
        if (*end == '\0' && number > 0 && number <= INT32_MAX)
            walk_process(clients, folder, (uint32_t)number);
    }
    sysfs_names_free(pids);
}

/* ---- of one device ---- */

static int64_t use_since(const struct drm_seen *seen, const struct drm_client *now, usec_t at)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        const struct drm_past *past = &seen->items[i];
        if (past->client.id == now->id && past->client.pid == now->pid)
            return drm_fdinfo_use(&past->client, now, at - past->at);
    }
    return PROBE_UNKNOWN;
}

/* Both may be unknown; what is known of one counts. */
static int64_t sum(int64_t a, int64_t b, int64_t most)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a > most - b ? most : a + b;
}

typedef LIST(struct probe_process) process_list;

static void add_process(process_list *processes, const struct drm_client *client, int64_t use)
{
    struct probe_process *to = NULL;

    for (size_t i = 0; i < processes->count && !to; i++) {
        if (processes->items[i].pid == client->pid)
            to = &processes->items[i];
    }
    if (!to) {
        struct probe_process process = { .pid = client->pid,
                                         .memory_bytes = PROBE_UNKNOWN,
                                         .use = PROBE_UNKNOWN,
                                         .instance = PROBE_UNKNOWN,
                                         .is_graphics = true };
        list_add(processes, process);
        to = &processes->items[processes->count - 1];
    }
    to->memory_bytes = sum(to->memory_bytes, client->memory_bytes, INT64_MAX);
    to->use = sum(to->use, use, READING_RATIO_ONE);
    to->is_graphics &= client->is_card;
}

/* Must be locked. */
static void take(struct drm_clients *clients, const char *address, struct drm_seen *seen,
                 process_list *processes)
{
    LIST(struct drm_past) now = { 0 };

    if (clients->walk == seen->walk)
        walk(clients);
    for (size_t i = 0; i < clients->found.count; i++) {
        const struct drm_client *client = &clients->found.items[i];
        if (strcmp(client->address, address) != 0)
            continue;
        add_process(processes, client, use_since(seen, client, clients->walked));
        list_add(&now, (struct drm_past){ *client, clients->walked });
    }
    free(seen->items);
    *seen = (struct drm_seen){ now.items, (uint32_t)now.count, clients->walk };
}

int drm_clients_of(struct drm_clients *clients, const char *address, struct drm_seen *seen,
                   struct probe_process **ret, uint32_t *ret_count, struct error *err)
{
    AUTO_FREE char *proc = mem_printf("%s/proc", clients->root);
    process_list processes = { 0 };

    if (access(proc, R_OK) < 0)
        return error_set(err, -ENOTSUP, "processes: %s cannot be read", proc);
    pthread_mutex_lock(&clients->lock);
    take(clients, address, seen, &processes);
    pthread_mutex_unlock(&clients->lock);
    *ret = processes.items;
    *ret_count = (uint32_t)processes.count;
    return 0;
}
