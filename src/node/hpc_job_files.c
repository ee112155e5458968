/* SPDX-License-Identifier: Apache-2.0 */
#include "node/hpc_job_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/state/state.h"
#include "io/log.h"

#define SCRATCH_NAME ".tarn-new"

struct file {
    uint32_t index;   /* of the GPU */
    struct text jobs; /* what stands in it; "": it is not there */
    struct text wanted;
};

struct hpc_job_files {
    struct node_port port;
    uv_timer_t soon;
    const char *node; /* this machine */
    char *folder;
    int fd;
    LIST(struct file) files;
    bool is_told; /* that it can't be written */
};

static struct file *claim(struct hpc_job_files *files, uint32_t index)
{
    for (size_t i = 0; i < files->files.count; i++) {
        if (files->files.items[i].index == index)
            return &files->files.items[i];
    }
    list_add(&files->files, (struct file){ .index = index });
    return &files->files.items[files->files.count - 1];
}

static void want(struct hpc_job_files *files, const struct job *job)
{
    const struct state *state = node_port_state(&files->port);
    const struct lease *lease = job->run->lease;
    AUTO_FREE char *line = mem_printf("%" PRIu64 "\n", job->id);

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        bool is_seen = false; /* members may share one */
        for (uint32_t k = 0; k < i; k++)
            is_seen |= lease->slices[k].device == lease->slices[i].device;
        bool is_here = strcmp(state->nodes.items[device->node].name, files->node) == 0;
        if (!is_seen && is_here && strcmp(device->vendor, "nvidia") == 0)
            text_add(&claim(files, device->index)->wanted, line);
    }
}

/* Write a new file and rename it: a link or a pipe of that name may belong to another program. */
static int put(struct hpc_job_files *files, const char *name, const struct text *bytes)
{
    unlinkat(files->fd, SCRATCH_NAME, 0);
    int fd =
        openat(files->fd, SCRATCH_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, bytes->bytes, bytes->length);
    int code = written == (ssize_t)bytes->length ? 0 : written < 0 ? -errno : -ENOSPC;
    if (code == 0 && fchmod(fd, 0644) < 0) /* whatever the umask is */
        code = -errno;
    close(fd);
    if (code == 0 && renameat(files->fd, SCRATCH_NAME, files->fd, name) < 0)
        code = -errno;
    if (code < 0)
        unlinkat(files->fd, SCRATCH_NAME, 0);
    return code;
}

static int settle(struct hpc_job_files *files, struct file *file)
{
    char name[16];
    int code = 0;

    if (strcmp(text_string(&file->jobs), text_string(&file->wanted)) == 0)
        return 0;
    snprintf(name, sizeof(name), "%" PRIu32, file->index);
    if (file->wanted.length > 0)
        code = put(files, name, &file->wanted);
    else if (unlinkat(files->fd, name, 0) < 0 && errno != ENOENT)
        code = -errno;
    if (code < 0)
        return code;
    text_clear(&file->jobs);
    text_add(&file->jobs, text_string(&file->wanted));
    return 0;
}

static void on_soon(uv_timer_t *timer)
{
    struct hpc_job_files *files = timer->data;
    int code = 0;

    for (size_t i = 0; i < files->files.count; i++)
        text_clear(&files->files.items[i].wanted);
    for (const struct job *job = node_port_state(&files->port)->first_active; job;
         job = job->run->active_next)
        want(files, job);
    for (size_t i = 0; i < files->files.count; i++) {
        int failed = settle(files, &files->files.items[i]);
        code = failed < 0 ? failed : code;
    }
    if (code < 0 && !files->is_told)
        log_line(LOG_WARNING, "the jobs of GPUs cannot be written folder=%s reason='%s'",
                 files->folder, strerror(-code));
    files->is_told = code < 0;
    if (code < 0)
        uv_timer_start(&files->soon, on_soon, HPC_JOB_FILES_RETRY_S * 1000, 0);
}

void hpc_job_files_changed(struct hpc_job_files *files)
{
    if (files)
        uv_timer_start(&files->soon, on_soon, 0, 0);
}

/* "3", "3.1" */
static bool is_ours(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    const char *rest = name + digits;

    if (digits == 0 || *rest == '\0')
        return digits > 0;
    return *rest == '.' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1);
}

static int empty(struct hpc_job_files *files, struct error *err)
{
    DIR *folder = opendir(files->folder);

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (is_ours(entry->d_name))
            unlinkat(files->fd, entry->d_name, 0);
    }
    if (!folder || faccessat(files->fd, ".", W_OK, AT_EACCESS) < 0) {
        int code = error_set(err, -errno, "hpc-job-dir %s: %s", files->folder, strerror(errno));
        if (folder)
            closedir(folder);
        return code;
    }
    closedir(folder);
    return 0;
}

/* In others' hands names could be swapped under ours. */
static int check_folder(int fd, const char *folder, struct error *err)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_set(err, -errno, "hpc-job-dir %s: %s", folder, strerror(errno));
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return error_set(err, -EPERM,
                         "hpc-job-dir %s: it belongs to user %u; expected a folder of root or of "
                         "the daemon's user",
                         folder, (unsigned)status.st_uid);
    if ((status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX))
        return error_set(err, -EPERM,
                         "hpc-job-dir %s: every user can write there; expected one that only its "
                         "owner can write",
                         folder);
    return 0;
}

int hpc_job_files_create(uv_loop_t *loop, const struct node_port *port, const char *node,
                         const char *folder, struct hpc_job_files **ret, struct error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_set(err, -errno, "hpc-job-dir %s: %s", folder, strerror(errno));
    int code = check_folder(fd, folder, err);
    if (code < 0) {
        close(fd);
        return code;
    }
    struct hpc_job_files *files = mem_zero(1, sizeof(*files));
    *files = (struct hpc_job_files){
        .port = *port, .node = node, .folder = mem_string(folder), .fd = fd
    };
    uv_timer_init(loop, &files->soon);
    files->soon.data = files;
    *ret = files;
    code = empty(files, err);
    if (code == 0)
        hpc_job_files_changed(files);
    return code;
}

static void on_closed(uv_handle_t *handle)
{
    struct hpc_job_files *files = handle->data;

    for (size_t i = 0; i < files->files.count; i++) {
        text_release(&files->files.items[i].jobs);
        text_release(&files->files.items[i].wanted);
    }
    list_release(&files->files);
    close(files->fd);
    free(files->folder);
    free(files);
}

void hpc_job_files_destroy(struct hpc_job_files *files)
{
    if (files)
        uv_close((uv_handle_t *)&files->soon, on_closed);
}
