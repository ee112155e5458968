/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "io/folder.h"
#include "wire/job/pattern.h"

int job_folders_prepare(const char *state_dir, struct error *err)
{
    static const char *const names[] = { "logs", "data", "scripts", "gangs" };
    int code = 0;

    for (size_t i = 0; code == 0 && i < COUNT_OF(names); i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", state_dir, names[i]);
        code = folder_make(path, 0711, err);
    }
    return code;
}

/* The owner of a folder may put a link in its place. So below a user's own folder we only act
 * with that user's rights: the kernel then refuses what the user could not have done. */
static void become(const struct job_folders_query *query, bool is_user)
{
    if (!query->is_root)
        return;
    setfsgid(is_user ? query->job->gid : getegid());
    setfsuid(is_user ? query->job->uid : geteuid());
}

/* STATE/KIND/UID: its parent is ours, so it can be given away. */
static int enter_user_folder(const struct job_folders_query *query, const char *kind,
                             struct text *ret, int *ret_fd, struct error *err)
{
    AUTO_FREE char *above = mem_printf("%s/%s", query->state_dir, kind);
    AUTO_FREE char *name = mem_printf("%" PRIu32, query->job->uid);
    int parent;

    text_printf(ret, "%s/%s", above, name);
    int code = folder_open(above, &parent, err);
    if (code < 0)
        return code;
    code = folder_enter(parent, above, name, ret_fd, err);
    close(parent);
    if (code < 0 || !query->is_root ||
        fchownat(*ret_fd, "", query->job->uid, query->job->gid, AT_EMPTY_PATH) == 0)
        return code;
    code = error_set(err, -errno, "folder %s: %s", ret->bytes, strerror(errno));
    close(*ret_fd);
    return code;
}

/* What is below STATE/data/UID. */
struct data {
    const struct job_folders_query *query;
    const char *path; /* STATE/data/UID */
    int folder;
};

/* Path of the folder with a job's outputs, for the job and for the jobs that read them. */
static void out_path(const char *state_dir, const struct job *job, struct text *ret)
{
    text_printf(ret, "%s/data/%" PRIu32 "/%" PRIu64, state_dir, job->uid, job->id);
}

/* Outputs of an attempt that ended well are read-only (job_outputs.h): only one that may be written
 * can be moved. True: they were. */
static bool unseal(int folder, const char *name)
{
    struct stat info;

    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(info.st_mode) ||
        (info.st_mode & S_IWUSR) != 0)
        return false;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        fchmod(fd, 0700);
        close(fd);
    }
    return true;
}

static int move_to(const struct data *data, const char *name, int to, const char *number,
                   struct error *err)
{
    struct stat info;

    if (fstatat(to, number, &info, AT_SYMLINK_NOFOLLOW) == 0 ||
        renameat(data->folder, name, to, number) == 0)
        return 0;
    return errno == ENOENT ? folder_make_in(to, data->path, number, err)
                           : error_set(err, -errno, "outputs of the attempt before, %s/%s: %s",
                                       data->path, name, strerror(errno));
}

/* What an earlier attempt left is moved to ID.attempts/N, once: members that start later find it
 * there. A job that continues work that it has saved goes on with its outputs. */
static int put_aside(const struct data *data, const char *name, struct error *err)
{
    const struct job_run *run = data->query->job->run;
    AUTO_FREE char *attempts = mem_printf("%s.attempts", name);
    AUTO_FREE char *number = mem_printf("%" PRIu32, run->attempt - 1);
    int to;

    bool was_sealed = run->attempt > 1 && unseal(data->folder, name);
    if (run->attempt <= 1 || (run->attained > 0 && !was_sealed))
        return 0;
    int code = folder_enter(data->folder, data->path, attempts, &to, err);
    if (code < 0)
        return code;
    code = move_to(data, name, to, number, err);
    close(to);
    return code;
}

static int make_out(const struct data *data, struct job_folders *ret, struct error *err)
{
    AUTO_FREE char *name = mem_printf("%" PRIu64, data->query->job->id);
    int out;

    ret->out = mem_printf("%s/%s", data->path, name);
    int code = put_aside(data, name, err);
    if (code == 0)
        code = folder_enter(data->folder, data->path, name, &out, err);
    if (code < 0)
        return code;
    for (char **output = data->query->launch->outputs; code == 0 && *output; output++)
        code = folder_make_in(out, ret->out, *output, err);
    close(out);
    return code;
}

/* A link IN/PATH. */
struct place {
    int folder;
    const char *in;
};

/* The folder that an earlier attempt linked may be in the way: it is the same. */
static int link_to(const char *target, const struct place *place, const char *name,
                   struct error *err)
{
    if (symlinkat(target, place->folder, name) < 0 && errno != EEXIST)
        return error_set(err, -errno, "link %s/%s: %s", place->in, name, strerror(errno));
    return 0;
}

static int link_below(const char *target, const struct place *place, const char *folder,
                      const char *name, struct error *err)
{
    struct place below = { .in = place->in };

    int code = folder_enter(place->folder, place->in, folder, &below.folder, err);
    if (code < 0)
        return code;
    code = link_to(target, &below, name, err);
    close(below.folder);
    return code;
}

/* A matrix or an array has several, also when there is only one combination or index. */
static bool is_one_of_several(const struct job_folders_query *query, const struct group *stage)
{
    for (uint64_t id = stage->id + 1; id <= stage->last; id++) {
        const struct job *maker = state_job(query->state, id);
        if (!maker)
            continue;
        AUTO(launch) struct launch *launch = query->launch_of(query->user, maker);
        return maker->group != stage->id || (launch && launch->directory);
    }
    return false;
}

/* COMBINATION, INDEX or COMBINATION/INDEX. */
static int link_maker(const struct job_folders_query *query, const struct job *maker,
                      const char *target, const struct place *place, struct error *err)
{
    AUTO(launch) struct launch *launch = query->launch_of(query->user, maker);
    const struct group *array = state_group(query->state, maker->group);
    AUTO_FREE char *index = mem_printf("%" PRIu32, maker->index);
    const char *directory = launch && launch->directory ? launch->directory : NULL;

    if (directory && array && array->kind == GROUP_ARRAY)
        return link_below(target, place, directory, index, err);
    return link_to(target, place, directory ? directory : index, err);
}

/* One that makes NAME alone is linked as NAME; several as NAME/COMBINATION, NAME/INDEX or
 * NAME/COMBINATION/INDEX. */
static int link_input(const struct job_folders_query *query, const struct launch_input *input,
                      const struct place *in, struct error *err)
{
    const struct group *group = state_group(query->state, input->from);
    struct place place = *in;
    int code = 0;

    if (!group)
        return error_set(err, -ENOENT, "input %s: the stage that made it is forgotten",
                         input->name);
    bool has_several = is_one_of_several(query, group);
    if (has_several)
        code = folder_enter(in->folder, in->in, input->name, &place.folder, err);
    if (code < 0)
        return code;
    for (uint64_t id = group->id + 1; code == 0 && id <= group->last; id++) {
        const struct job *maker = state_job(query->state, id);
        AUTO_RELEASE(text) struct text target = { 0 };
        if (!maker)
            continue;
        out_path(query->state_dir, maker, &target);
        text_printf(&target, "/%s", input->name);
        code = has_several ? link_maker(query, maker, target.bytes, &place, err)
                           : link_to(target.bytes, &place, input->name, err);
    }
    if (has_several)
        close(place.folder);
    return code;
}

static int make_in(const struct data *data, struct job_folders *ret, struct error *err)
{
    const struct job_folders_query *query = data->query;
    AUTO_FREE char *name = mem_printf("%" PRIu64 ".in", query->job->id);
    struct place in;

    in.in = ret->in = mem_printf("%s/%s", data->path, name);
    int code = folder_enter(data->folder, data->path, name, &in.folder, err);
    if (code < 0)
        return code;
    for (size_t i = 0; code == 0 && i < query->launch->input_count; i++)
        code = link_input(query, &query->launch->inputs[i], &in, err);
    close(in.folder);
    return code;
}

/* A file in scripts/, its user's own; the cleaner removes it at the end. */
static int make_own(const struct job_folders_query *query, const char *path, const char *text,
                    mode_t mode, struct error *err)
{
    int code = file_replace(path, text, strlen(text), err);

    if (code == 0 && chmod(path, mode) < 0)
        code = error_set(err, -errno, "script %s: %s", path, strerror(errno));
    if (code == 0 && query->is_root && chown(path, query->job->uid, query->job->gid) < 0)
        code = error_set(err, -errno, "script %s: %s", path, strerror(errno));
    return code;
}

static int make_script(const struct job_folders_query *query, struct job_folders *ret,
                       struct error *err)
{
    ret->script = mem_printf("%s/scripts/%" PRIu64, query->state_dir, query->job->id);
    return make_own(query, ret->script, query->launch->script, 0500, err);
}

/* What steps of the job that run at the same time have taken of it. */
static int make_steps(const struct job_folders_query *query, struct job_folders *ret,
                      struct error *err)
{
    ret->steps = mem_printf("%s/scripts/%" PRIu64 ".steps", query->state_dir, query->job->id);
    return make_own(query, ret->steps, "", 0600, err);
}

/* A job that is started more than once may continue from a checkpoint. */
static bool has_checkpoint(const struct job *job)
{
    return job->retry_max > 0 || job->is_preemptible || job_has_interval(job);
}

static int make_checkpoint(const struct data *data, struct job_folders *ret, struct error *err)
{
    AUTO_FREE char *name = mem_printf("%" PRIu64 ".checkpoint", data->query->job->id);

    ret->checkpoint = mem_printf("%s/%s", data->path, name);
    return folder_make_in(data->folder, data->path, name, err);
}

/* As the user, and without following a link: see become() and io/folder.h. */
static int make_data(const struct job_folders_query *query, struct job_folders *ret,
                     struct error *err)
{
    const struct launch *launch = query->launch;
    AUTO_RELEASE(text) struct text path = { 0 };
    struct data data = { .query = query };

    int code = enter_user_folder(query, "data", &path, &data.folder, err);
    if (code < 0)
        return code;
    data.path = path.bytes;
    become(query, true);
    if (launch->outputs[0] || launch->input_count > 0)
        code = make_out(&data, ret, err);
    if (code == 0 && launch->input_count > 0)
        code = make_in(&data, ret, err);
    if (code == 0 && has_checkpoint(query->job))
        code = make_checkpoint(&data, ret, err);
    become(query, false);
    close(data.folder);
    return code;
}

int job_folders_make(const struct job_folders_query *query, struct job_folders *ret,
                     struct error *err)
{
    const struct launch *launch = query->launch;
    int code = 0;

    *ret = (struct job_folders){ 0 };
    if (launch->outputs[0] || launch->input_count > 0 || has_checkpoint(query->job))
        code = make_data(query, ret, err);
    if (code == 0 && launch->script)
        code = make_script(query, ret, err);
    if (code == 0 && launch->tasks > 0)
        code = make_steps(query, ret, err);
    return code;
}

void job_folders_release(struct job_folders *folders)
{
    free(folders->out);
    free(folders->in);
    free(folders->checkpoint);
    free(folders->script);
    free(folders->steps);
}

/* Of a member; of one that is over the first node, as it is not known any more where it ran. */
static const char *node_of(const struct job_folders_query *query, uint32_t rank)
{
    const struct state *state = query->state;
    const struct lease *lease = job_is_active(query->job) ? query->job->run->lease : NULL;

    for (uint32_t place = 0; lease && place < lease->members_count; place++) {
        if (lease_rank(lease, place) == rank)
            return state->nodes.items[lease->members[place].node].name;
    }
    return state->nodes.count > 0 ? state->nodes.items[0].name : "";
}

static int expand(const struct job_folders_query *query, const char *pattern, uint32_t rank,
                  struct text *ret, struct error *err)
{
    const struct job *job = query->job;
    const struct group *group = state_group(query->state, job->group);
    bool is_task = group && group->kind == GROUP_ARRAY;
    struct pattern_values values = {
        .job = job->id,
        .array = is_task ? group->id : 0,
        .index = is_task ? job->index : 0,
        .rank = rank,
        .name = job->name,
        .user = state_user(query->state, job->user),
        .node = node_of(query, rank),
    };

    return pattern_expand(pattern, &values, ret, err);
}

int job_folders_output(const struct job_folders_query *query, uint32_t rank, bool is_error,
                       struct text *ret, struct error *err)
{
    const struct launch *launch = query->launch;
    const char *pattern = is_error && launch->error ? launch->error : launch->output;

    if (pattern) {
        int code = expand(query, pattern, rank, ret, err);
        /* The members of a gang would write over one another. */
        if (code == 0 && rank > 0 && !pattern_has_rank(pattern))
            text_printf(ret, ".%" PRIu32, rank);
        return code;
    }
    int folder;

    int code = enter_user_folder(query, "logs", ret, &folder, err);
    if (code == 0)
        close(folder);
    text_printf(ret, "/%" PRIu64, query->job->id);
    if (rank > 0)
        text_printf(ret, ".%" PRIu32, rank);
    text_add(ret, ".out");
    return code;
}

int job_folders_input(const struct job_folders_query *query, uint32_t rank, struct text *ret,
                      struct error *err)
{
    return expand(query, query->launch->input, rank, ret, err);
}
