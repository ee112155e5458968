/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/cgroup.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/local/shim_launch.h"
#include "io/file.h"
#include "shim/shim_order.h"

enum {
    PROC_BYTES_MAX = 1024 * 1024,
    CPU_PERIOD_US = 100000,
    CPU_QUOTA_US_MIN = 1000, /* the kernel takes no less */
    WORDS_MAX = 64,
    MAKE_TRIES = 3,
};

/* True when list, whose words stand between separators, has this word. */
static bool list_has(const char *list, const char *separators, const char *word)
{
    size_t length = strlen(word);

    while (*list != '\0') {
        list += strspn(list, separators);
        size_t size = strcspn(list, separators);
        if (size == length && strncmp(list, word, length) == 0)
            return true;
        list += size;
    }
    return false;
}

/* Split one line at spaces, in place; returns the number of words. */
static size_t words_split(char *line, char **words)
{
    size_t count = 0;
    char *rest = line;
    char *word;

    while (count < WORDS_MAX && (word = strsep(&rest, " ")) != NULL) {
        if (*word != '\0')
            words[count++] = word;
    }
    return count;
}

/* "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate" */
static bool mount_line(char *line, const char *controller, const char **ret_root,
                       const char **ret_path)
{
    char *words[WORDS_MAX];
    size_t dash = 6;

    size_t count = words_split(line, words);
    while (dash < count && strcmp(words[dash], "-") != 0)
        dash++;
    if (dash + 3 >= count)
        return false;
    bool is_v2 = strcmp(words[dash + 1], "cgroup2") == 0;
    bool is_v1 = strcmp(words[dash + 1], "cgroup") == 0;
    if (controller[0] == '\0' ? !is_v2 : !is_v1 || !list_has(words[dash + 3], ",", controller))
        return false;
    *ret_root = words[3];
    *ret_path = words[4];
    return true;
}

/* "4:memory:/user.slice" or, for v2, "0::/user.slice": the path of our group. */
static bool self_line(char *line, const char *controller, const char **ret_path)
{
    char *rest = line;

    const char *number = strsep(&rest, ":");
    const char *names = strsep(&rest, ":");
    if (!number || !names || !rest || rest[0] != '/')
        return false;
    if (controller[0] == '\0' ? names[0] != '\0' : !list_has(names, ",", controller))
        return false;
    *ret_path = rest;
    return true;
}

/* Our group seen from the mount, which may show only a part of the tree (root). */
static char *own_folder(const char *mount, const char *root, const char *group)
{
    size_t length = strlen(root);

    if (length > 1 && strncmp(group, root, length) == 0 &&
        (group[length] == '/' || group[length] == '\0'))
        group += length;
    if (strcmp(group, "/") == 0 || strncmp(group, "/..", 3) == 0)
        group = "";
    return mem_printf("%s%s", mount, group);
}

void cgroup_find_mount(const char *mountinfo, const char *self, const char *controller,
                       struct cgroup_mount *ret)
{
    AUTO_FREE char *mounts = mem_string(mountinfo);
    AUTO_FREE char *groups = mem_string(self);
    const char *root = NULL, *path = NULL, *group = NULL;
    char *rest = mounts, *line;

    *ret = (struct cgroup_mount){ 0 };
    /* The last mount is the one that is seen. */
    while ((line = strsep(&rest, "\n")) != NULL)
        mount_line(line, controller, &root, &path);
    rest = groups;
    while (!group && (line = strsep(&rest, "\n")) != NULL)
        self_line(line, controller, &group);
    if (!path || !group)
        return;
    ret->path = mem_string(path);
    ret->own = own_folder(path, root, group);
}

void cgroup_mount_release(struct cgroup_mount *mount)
{
    mem_resize(mount->path, 0, 1);
    mem_resize(mount->own, 0, 1);
    *mount = (struct cgroup_mount){ 0 };
}

static bool may_write(const char *folder)
{
    AUTO_FREE char *processes = mem_printf("%s/cgroup.procs", folder);

    return access(folder, W_OK) == 0 && access(processes, W_OK) == 0;
}

/* Moving a process needs the right to write the group above both places, so the highest group
 * that is ours serves longest: it stays when the session that started us is gone. */
static char *user_base(const struct cgroup_mount *mount)
{
    char *base = mem_string(mount->own);
    size_t top = strlen(mount->path);

    if (!may_write(base)) {
        mem_resize(base, 0, 1);
        return NULL;
    }
    while (strlen(base) > top) {
        char *slash = strrchr(base, '/');

        *slash = '\0';
        if (may_write(base))
            continue;
        *slash = '/';
        break;
    }
    return base;
}

static void made_note(struct cgroup *cgroup, const char *path)
{
    assert(cgroup->made_count < COUNT_OF(cgroup->made));
    cgroup->made[cgroup->made_count++] = mem_string(path);
}

/* BASE/tarn/KEY, or NULL when it can't be made. Paths go into records with spaces between. */
static char *folder_below(struct cgroup *cgroup, const char *base, const char *key)
{
    if (strlen(base) > CGROUP_PATH_MAX || strpbrk(base, " ,=\t\n\\") != NULL)
        return NULL;
    AUTO_FREE char *above = mem_printf("%s/tarn", base);
    AUTO_FREE char *folder = mem_printf("%s/%s", above, key);

    /* Another daemon that stops may remove the folder above in between. */
    for (int tries = 0; tries < MAKE_TRIES; tries++) {
        if (folder_make(above, 0755, NULL) == 0 && folder_make(folder, 0755, NULL) == 0) {
            made_note(cgroup, above);
            made_note(cgroup, folder);
            return TAKE(folder);
        }
    }
    return NULL;
}

static bool folder_has(const char *folder, const char *file, const char *word)
{
    AUTO_FREE char *path = mem_printf("%s/%s", folder, file);
    AUTO_RELEASE(text) struct text text = { 0 };

    return file_read(path, PROC_BYTES_MAX, &text, NULL) == 0 &&
           list_has(text_string(&text), " \n", word);
}

/* A controller has to be let through at every level down to the members. */
static bool controller_enable(const char *base, const char *key, const char *name)
{
    const char *below[] = { "", "/tarn", "/tarn/" };

    for (size_t i = 0; i < COUNT_OF(below); i++) {
        AUTO_FREE char *folder = mem_printf("%s%s%s", base, below[i], i == 2 ? key : "");
        AUTO_FREE char *control = mem_printf("%s/cgroup.subtree_control", folder);
        AUTO_FREE char *value = mem_printf("+%s", name);

        if (folder_has(folder, "cgroup.subtree_control", name))
            continue;
        if (file_put(control, value, NULL) < 0)
            return false;
    }
    return true;
}

/* The number in a file, if it is less; "max" is none. */
static int64_t less_of(int64_t least, const char *path)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    int64_t count = file_read(path, PROC_BYTES_MAX, &text, NULL) == 0
                        ? strtoll(text_string(&text), NULL, 10)
                        : 0;

    return count > 0 && count < least ? count : least;
}

/* A quarter of what there is for all, here and in the groups above: a job that makes processes
 * without end fails alone. */
static int64_t share_of_pids(const char *folder)
{
    AUTO_FREE char *above = mem_string(folder);
    int64_t least = INT64_MAX;

    least = less_of(least, "/proc/sys/kernel/pid_max");
    least = less_of(least, "/proc/sys/kernel/threads-max");
    for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
        AUTO_FREE char *path = mem_printf("%s/pids.max", above);

        least = less_of(least, path);
        *slash = '\0';
    }
    return least == INT64_MAX ? 0 : least < 4 ? 1 : least / 4;
}

static void detect_tree(struct cgroup *cgroup, const struct cgroup_mount *mount, const char *key,
                        bool is_root)
{
    AUTO_FREE char *base = is_root ? mem_string(mount->path) : user_base(mount);

    if (!base)
        return;
    AUTO_FREE char *tree = folder_below(cgroup, base, key);
    if (!tree)
        return;
    AUTO_FREE char *kill = mem_printf("%s/cgroup.kill", tree);
    cgroup->lacks_kill = access(kill, W_OK) < 0;
    if (cgroup->lacks_kill)
        return;
    cgroup->has_memory = controller_enable(base, key, "memory");
    cgroup->has_cpu = controller_enable(base, key, "cpu");
    if (controller_enable(base, key, "pids"))
        cgroup->pids_max = share_of_pids(tree);
    cgroup->tree = TAKE(tree);
}

static char *detect_v1(struct cgroup *cgroup, const char *mountinfo, const char *self,
                       const char *controller, const char *key)
{
    struct cgroup_mount mount;
    char *folder = NULL;

    cgroup_find_mount(mountinfo, self, controller, &mount);
    if (mount.own && may_write(mount.own))
        folder = folder_below(cgroup, mount.own, key);
    cgroup_mount_release(&mount);
    return folder;
}

/* Whether a device filter program can be loaded: try "r0 = 1; exit". */
static bool can_fence(void)
{
    struct bpf_insn program[] = {
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 },
        { .code = BPF_JMP | BPF_EXIT },
    };
    union bpf_attr attributes = { 0 };

    attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attributes.insns = (unsigned long long)(uintptr_t)program;
    attributes.insn_cnt = COUNT_OF(program);
    attributes.license = (unsigned long long)(uintptr_t) "Apache-2.0";
    int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

void cgroup_detect(struct cgroup *cgroup, const char *key, bool is_root)
{
    AUTO_RELEASE(text) struct text mountinfo = { 0 };
    AUTO_RELEASE(text) struct text self = { 0 };
    struct cgroup_mount mount;

    *cgroup = (struct cgroup){ 0 };
    if (file_read("/proc/self/mountinfo", PROC_BYTES_MAX, &mountinfo, NULL) < 0 ||
        file_read("/proc/self/cgroup", PROC_BYTES_MAX, &self, NULL) < 0)
        return;
    cgroup_find_mount(text_string(&mountinfo), text_string(&self), "", &mount);
    if (mount.path)
        detect_tree(cgroup, &mount, key, is_root);
    cgroup_mount_release(&mount);
    if (!cgroup->has_memory)
        cgroup->memory =
            detect_v1(cgroup, text_string(&mountinfo), text_string(&self), "memory", key);
    if (!cgroup->has_cpu)
        cgroup->cpu = detect_v1(cgroup, text_string(&mountinfo), text_string(&self), "cpu", key);
    if (cgroup->pids_max == 0)
        cgroup->pids = detect_v1(cgroup, text_string(&mountinfo), text_string(&self), "pids", key);
    if (cgroup->pids)
        cgroup->pids_max = share_of_pids(cgroup->pids);
    cgroup->can_fence = is_root && cgroup->tree && can_fence();
    if (is_root && !cgroup->can_fence)
        cgroup->devices =
            detect_v1(cgroup, text_string(&mountinfo), text_string(&self), "devices", key);
}

void cgroup_release(struct cgroup *cgroup, bool may_remove)
{
    while (cgroup->made_count > 0) {
        char *path = cgroup->made[--cgroup->made_count];

        if (may_remove)
            rmdir(path);
        mem_resize(path, 0, 1);
    }
    mem_resize(cgroup->tree, 0, 1);
    mem_resize(cgroup->memory, 0, 1);
    mem_resize(cgroup->cpu, 0, 1);
    mem_resize(cgroup->pids, 0, 1);
    mem_resize(cgroup->devices, 0, 1);
    *cgroup = (struct cgroup){ 0 };
}

static void folder_sweep(const char *folder, bool (*is_kept)(void *user, const char *member),
                         void *user)
{
    struct dirent *entry;

    DIR *stream = folder ? opendir(folder) : NULL;
    if (!stream)
        return;
    while ((entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || is_kept(user, entry->d_name))
            continue;
        AUTO_FREE char *path = mem_printf("%s/%s", folder, entry->d_name);
        rmdir(path);
    }
    closedir(stream);
}

void cgroup_sweep(const struct cgroup *cgroup, bool (*is_kept)(void *user, const char *member),
                  void *user)
{
    folder_sweep(cgroup->tree, is_kept, user);
    folder_sweep(cgroup->memory, is_kept, user);
    folder_sweep(cgroup->cpu, is_kept, user);
    folder_sweep(cgroup->pids, is_kept, user);
    folder_sweep(cgroup->devices, is_kept, user);
}

static int64_t bytes_of(int64_t mib)
{
    return mib > INT64_MAX / (1024 * 1024) ? INT64_MAX : mib * 1024 * 1024;
}

static int64_t quota_us(int64_t cpu_milli)
{
    int64_t milli_max = INT64_MAX / CPU_PERIOD_US;
    int64_t quota = (cpu_milli > milli_max ? milli_max : cpu_milli) * CPU_PERIOD_US / 1000;

    return quota < CPU_QUOTA_US_MIN ? CPU_QUOTA_US_MIN : quota;
}

static void add_memory(const struct cgroup *cgroup, const char *folder, int64_t mib,
                       struct text *order)
{
    int64_t bytes = bytes_of(mib);

    if (cgroup->has_memory) {
        launch_add(order, ORDER_WRITE, "%s/memory.max=%" PRId64, folder, bytes);
        launch_add(order, ORDER_TRY_WRITE, "%s/memory.swap.max=0", folder);
        launch_add(order, ORDER_TRY_WRITE, "%s/memory.oom.group=1", folder);
        launch_add(order, ORDER_OOM, "%s/memory.events", folder);
        return;
    }
    launch_add(order, ORDER_WRITE, "%s/memory.limit_in_bytes=%" PRId64, folder, bytes);
    launch_add(order, ORDER_TRY_WRITE, "%s/memory.memsw.limit_in_bytes=%" PRId64, folder, bytes);
    launch_add(order, ORDER_OOM, "%s/memory.oom_control", folder);
}

static void add_cpu(const struct cgroup *cgroup, const char *folder, int64_t milli,
                    struct text *order)
{
    int64_t quota = quota_us(milli);

    if (cgroup->has_cpu) {
        launch_add(order, ORDER_WRITE, "%s/cpu.max=%" PRId64 " %d", folder, quota, CPU_PERIOD_US);
        return;
    }
    launch_add(order, ORDER_WRITE, "%s/cpu.cfs_period_us=%d", folder, CPU_PERIOD_US);
    launch_add(order, ORDER_WRITE, "%s/cpu.cfs_quota_us=%" PRId64, folder, quota);
}

/* A v1 group: made, joined, and named to the cleaner. */
static char *add_group(const char *above, const char *member, struct text *order, struct text *note)
{
    char *folder = mem_printf("%s/%s", above, member);

    launch_add(order, ORDER_MKDIR, "%s", folder);
    launch_add(order, ORDER_JOIN, "%s", folder);
    text_printf(note, " dir=%s", folder);
    return folder;
}

static void add_fence(const struct cgroup *cgroup, const char *member,
                      const struct engine_launch *launch, struct text *order, struct text *note)
{
    AUTO_FREE char *folder =
        cgroup->can_fence ? NULL : add_group(cgroup->devices, member, order, note);

    for (uint32_t i = 0; i < launch->denied_count; i++) {
        const struct engine_device *device = &launch->denied[i];
        if (folder)
            launch_add(order, ORDER_WRITE, "%s/devices.deny=c %" PRIu32 ":%" PRIu32 " rwm", folder,
                       device->major, device->minor);
        else
            launch_add(order, ORDER_DENY, "%" PRIu32 ":%" PRIu32, device->major, device->minor);
    }
}

void cgroup_add(const struct cgroup *cgroup, const char *member, const struct engine_launch *launch,
                struct text *order, struct text *note, struct engine_isolation *ret_isolation)
{
    AUTO_FREE char *tree = cgroup->tree ? mem_printf("%s/%s", cgroup->tree, member) : NULL;
    bool wants_memory = launch->memory_mib > 0 && (cgroup->has_memory || cgroup->memory);
    bool wants_cpu = launch->cpu_milli > 0 && (cgroup->has_cpu || cgroup->cpu);
    bool can_deny = cgroup->can_fence || cgroup->devices;

    *ret_isolation = (struct engine_isolation){
        .processes = tree ? ISOLATION_ISOLATED : ISOLATION_WATCHED,
        .memory = wants_memory ? ISOLATION_ISOLATED : ISOLATION_ACCOUNTED,
        .cpu = wants_cpu ? ISOLATION_ISOLATED : ISOLATION_ACCOUNTED,
        .gpu = launch->is_fenced && can_deny ? ISOLATION_ISOLATED : ISOLATION_ACCOUNTED,
    };
    if (tree) {
        launch_add(order, ORDER_MKDIR, "%s", tree);
        launch_add(order, ORDER_INTO, "%s", tree);
        launch_add(order, ORDER_KILL, "%s", tree);
        text_printf(note, " kill=%s", tree);
    }
    if (cgroup->pids_max > 0) {
        AUTO_FREE char *folder =
            cgroup->pids ? add_group(cgroup->pids, member, order, note) : mem_string(tree);
        launch_add(order, ORDER_WRITE, "%s/pids.max=%" PRId64, folder, cgroup->pids_max);
    }
    if (wants_memory) {
        AUTO_FREE char *folder =
            cgroup->has_memory ? mem_string(tree) : add_group(cgroup->memory, member, order, note);
        add_memory(cgroup, folder, launch->memory_mib, order);
    }
    if (wants_cpu) {
        AUTO_FREE char *folder =
            cgroup->has_cpu ? mem_string(tree) : add_group(cgroup->cpu, member, order, note);
        add_cpu(cgroup, folder, launch->cpu_milli, order);
    }
    if (launch->denied_count > 0 && can_deny)
        add_fence(cgroup, member, launch, order, note);
}
