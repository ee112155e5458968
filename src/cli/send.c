/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/send.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/secret_names.h"
#include "io/file.h"
#include "wire/config/config.h"
#include "wire/job/script_text.h"
#include "wire/job/sender.h"
#include "wire/job/submission.h"

#define DEVICES                                                                                    \
    {                                                                                              \
        "devices", 0, "DEVICES", "devices of a new daemon: synthetic:h100:4"                       \
    }
#define DRY_RUN                                                                                    \
    {                                                                                              \
        "dry-run", 0, NULL, "show what would happen, submit nothing"                               \
    }
#define IDS                                                                                        \
    {                                                                                              \
        "ids", 'q', NULL, "print the number of the job and nothing else"                           \
    }
#define PTY                                                                                        \
    {                                                                                              \
        "pty", 0, NULL, "run the job on a terminal; tarn attach returns to it"                     \
    }

enum { QUOTED_SIZE = 80 };

const struct option_entry options_run[] = {
    DEVICES,
    DRY_RUN,
    PTY,
    { "quiet", 'q', NULL, "print only the output of the job" },
    { "no-stdin", 0, NULL, "do not pass on standard input; the same as < /dev/null" },
    { 0 },
};
const struct option_entry options_submit[] = { DEVICES, DRY_RUN, PTY, IDS, { 0 } };

static bool is_own(const struct sending *sending, const char *word)
{
    return strcmp(word, "--dry-run") == 0 || strcmp(word, "--pty") == 0 ||
           strcmp(word, sending->is_followed ? "--no-stdin" : "--ids") == 0 ||
           strcmp(word, "-q") == 0 || strcmp(word, "--devices") == 0 ||
           string_starts(word, "--devices=");
}

/* One of our own at argv[*at], which moves on. */
static int take_own(struct sending *sending, int argc, char **argv, int *at, struct error *err)
{
    const char *word = argv[(*at)++];

    if (strcmp(word, "--dry-run") == 0) {
        sending->is_dry = true;
    } else if (strcmp(word, "-q") == 0 && sending->is_followed) {
        sending->sbatch.is_quiet = true;
    } else if (strcmp(word, "--ids") == 0 || strcmp(word, "-q") == 0) {
        sending->is_ids = true;
    } else if (strcmp(word, "--pty") == 0) {
        sending->has_terminal = true;
    } else if (strcmp(word, "--no-stdin") == 0) {
        sending->passes_stdin = false;
    } else if (word[strlen("--devices")] == '=') {
        sending->devices = strchr(word, '=') + 1;
    } else if (*at == argc) {
        return error_set(err, -EINVAL, "--devices: expected DEVICES after it");
    } else {
        sending->devices = argv[(*at)++];
    }
    return 0;
}

/* Slurm's options and ours may be mixed; each run of Slurm's is read at once. */
static int read_options(struct sending *sending, int argc, char **argv, int *ret_rest,
                        struct error *err)
{
    int at = 1;

    if (sending->sbatch.is_slurm) {
        int code = sbatch_parse_args(&sending->sbatch, argc, argv, 1, ret_rest, err);
        if (code == 0 && !sending->is_followed) /* sbatch, not srun */
            code = sbatch_parse_environment(&sending->sbatch, err);
        return code;
    }
    for (;;) {
        int until = at;

        while (until < argc && !is_own(sending, argv[until]) && strcmp(argv[until], "--") != 0)
            until++;
        if (until < argc && strcmp(argv[until], "--") == 0)
            until = argc;
        int code = sbatch_parse_args(&sending->sbatch, until, argv, at, ret_rest, err);
        if (code < 0 || *ret_rest < until || until == argc)
            return code;
        at = until;
        code = take_own(sending, argc, argv, &at, err);
        if (code < 0)
            return code;
    }
}

static int usage_failed(struct sending *sending, int code)
{
    sending->is_usage = true;
    return code;
}

static int set_words(json_t *job, const char *key, char **words, struct error *err)
{
    if (!*words)
        return 0;
    json_t *list = json_array();
    json_object_set_new(job, key, list);
    for (; *words; words++) {
        char clean[QUOTED_SIZE];
        if (json_array_append_new(list, json_string(*words)) == 0)
            continue;
        string_clean(clean, sizeof(clean), *words, strlen(*words));
        return error_set(err, -EINVAL,
                         "'%s': an argument that is not UTF-8; expected it in a script, or a "
                         "pattern like '*.txt'",
                         clean);
    }
    return 0;
}

/* The file's own name, as far as a job may be called so. */
static void set_name(json_t *job, const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *name = mem_string(slash ? slash + 1 : path);

    if (strlen(name) > SUBMISSION_NAME_MAX)
        name[SUBMISSION_NAME_MAX] = '\0';
    for (char *s = name; *s; s++) {
        char letter[2] = { *s, '\0' };
        if (*s != '-' && !string_is_name(letter, 1))
            *s = '_';
    }
    if (!json_object_get(job, "name") && string_is_name(name, SUBMISSION_NAME_MAX))
        json_object_set_new(job, "name", json_string(name));
}

/* A pipeline that has no name is called after its file. */
static void set_pipeline_name(json_t *document, const char *path)
{
    AUTO_FREE char *name = mem_string(path);
    char *dot = strrchr(name, '.');

    if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
        *dot = '\0';
    if (json_object_get(document, "stages"))
        set_name(document, name);
}

/* Whether a shell would find a program of this name. */
static bool is_program(const char *name)
{
    const char *path = getenv("PATH");
    AUTO_FREE char *copy = mem_string(path ? path : "/usr/bin:/bin");
    char *rest = copy;

    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    while (rest) {
        AUTO_FREE char *file = mem_printf("%s/%s", strsep(&rest, ":"), name);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* A script runs as a copy: by this path it finds the files beside it. */
static void set_script_path(json_t *job, const char *path)
{
    AUTO_FREE char *here = getcwd(NULL, 0);

    path += string_starts(path, "./") ? strlen("./") : 0;
    AUTO_FREE char *whole =
        path[0] == '/' ? mem_string(path) : mem_printf("%s/%s", here ? here : "", path);
    if (strlen(whole) <= SUBMISSION_PATH_MAX)
        json_object_set_new(job, "script_path", json_string(whole));
}

static int read_script(struct sending *sending, const char *path, char **args, struct error *err)
{
    AUTO_RELEASE(text) struct text script = { 0 };
    const char *source = path ? path : "standard input";

    int code = file_read(path ? path : "/dev/stdin", SBATCH_SCRIPT_MAX, &script, err);
    if (code < 0)
        return code;
    if (!string_starts(text_string(&script), "#!")) {
        if (path && is_program(path) && !sending->sbatch.is_slurm) {
            code = set_words(sending->sbatch.job, "command", args - 1, err);
            return code < 0 ? code : sbatch_finish(&sending->sbatch, err);
        }
        return error_set(err, -EINVAL,
                         "%s: not a script: expected #! and an interpreter on its first line; or "
                         "write -- INTERPRETER %s",
                         source, path ? path : "FILE");
    }
    code = sbatch_parse_script(&sending->sbatch, script.bytes, script.length, source, err);
    if (code == 0)
        code = sbatch_finish(&sending->sbatch, err);
    if (code < 0)
        return code;
    script_text_put(sending->sbatch.job, script.bytes, script.length);
    code = set_words(sending->sbatch.job, "args", args, err);
    if (code < 0)
        return code;
    if (path) {
        set_name(sending->sbatch.job, path);
        set_script_path(sending->sbatch.job, path);
    }
    return 0;
}

/* sbatch /dev/stdin ARGS <<EOF, sbatch <(generate) */
static bool is_stream(const struct stat *info)
{
    return S_ISFIFO(info->st_mode) || S_ISCHR(info->st_mode);
}

/* The program to run: a command after "--", else a script, or a program in PATH. */
static int read_words(struct sending *sending, char **words, bool is_command, struct error *err)
{
    struct stat info;

    if (sending->sbatch.wrap && words[0])
        return usage_failed(sending, error_set(err, -EINVAL,
                                               "'%.40s': unexpected beside --wrap; expected a "
                                               "script or --wrap COMMAND, not both",
                                               words[0]));
    if (sending->sbatch.wrap)
        return sbatch_finish(&sending->sbatch, err);
    if (!words[0] && !is_command && sending->takes_stdin && !isatty(STDIN_FILENO))
        return read_script(sending, NULL, words, err);
    if (!words[0])
        return usage_failed(sending, error_set(err, -EINVAL,
                                               "nothing to run: expected a script, -f FILE, "
                                               "--wrap COMMAND or -- COMMAND"));
    if (!is_command && stat(words[0], &info) == 0 &&
        (S_ISREG(info.st_mode) || (sending->sbatch.is_slurm && is_stream(&info))))
        return read_script(sending, words[0], words + 1, err);
    if (!is_command && (!is_program(words[0]) || sending->sbatch.is_slurm))
        return error_set(err, -ENOENT, "%s: no such script; to run it as a command, write -- %s",
                         words[0], words[0]);
    int code = set_words(sending->sbatch.job, "command", words, err);
    return code < 0 ? code : sbatch_finish(&sending->sbatch, err);
}

/* The options of a command line win over the keys of a file. */
static void merge(json_t *document, json_t *job)
{
    json_t *env = json_object_get(document, "env"), *more = json_object_get(job, "env");

    if (json_is_object(env) && json_is_object(more)) {
        json_object_update(env, more);
        json_object_del(job, "env");
    }
    json_object_update(document, job);
}

/* Paths in a job file are relative to the file; those of a command to the working directory. */
static char *starting_place(const char *file)
{
    char *path = file && strcmp(file, "-") != 0 ? realpath(file, NULL) : NULL;

    if (!path)
        return getcwd(NULL, 0);
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
    return path;
}

/* Where Slurm's job was submitted. */
static void add_slurm(json_t *document)
{
    json_t *slurm = json_object_get(document, "slurm");
    AUTO_FREE char *here = getcwd(NULL, 0);
    char host[HOST_NAME_MAX + 1] = "";

    if (!slurm)
        return;
    if (gethostname(host, sizeof(host)) == 0 && host[0])
        json_object_set_new(slurm, "SLURM_SUBMIT_HOST", json_string(host));
    if (here)
        json_object_set_new(slurm, "SLURM_SUBMIT_DIR", json_string(here));
}

/* Directories and environment of this machine mean nothing on another one. */
static void add_sender(json_t *document, json_t *notes, const char *file)
{
    AUTO_RELEASE(text) struct text left_out = { 0 };

    if (remote_is_given())
        return;
    AUTO_FREE char *here = starting_place(file);

    if (here && here[0] == '/')
        json_object_set_new(document, "sender_cwd", json_string(here));
    sender_add_own(document);
    add_slurm(document);
    if (strcmp(field_text(document, "export"), "none") == 0)
        return;
    json_t *env = json_object();
    for (char **variable = environ; *variable; variable++) {
        const char *equals = strchr(*variable, '=');

        if (!equals || equals == *variable || string_starts(*variable, "TARN_") ||
            string_starts(*variable, "SLURM_"))
            continue;
        AUTO_FREE char *name = mem_string_of(*variable, (size_t)(equals - *variable));
        bool is_text = string_is_utf8(name, strlen(name));
        if (is_text && json_object_set_new(env, name, json_string(equals + 1)) == 0)
            continue;
        text_printf(&left_out, "%s%s", left_out.length > 0 ? ", " : "", is_text ? name : "?");
    }
    if (left_out.length > 0)
        json_array_append_new(notes,
                              json_sprintf("environment: %s: not UTF-8, left out", left_out.bytes));
    json_object_set_new(document, "sender_env", env);
}

/* The kind of the terminal is that of this machine. */
static void add_term(json_t *document)
{
    const char *term = getenv("TERM");
    json_t *env = json_object_get(document, "env");

    if (!term || !term[0] || (env && (!json_is_object(env) || json_object_get(env, "TERM"))))
        return;
    if (!env) {
        env = json_object();
        json_object_set_new(document, "env", env);
    }
    json_object_set_new(env, "TERM", json_string(term));
}

/* Of a pattern, as far as no job has to run to know it. */
static int check_output_folder(const char *name, const char *pattern, const char *cwd,
                               struct error *err)
{
    const char *slash = pattern ? strrchr(pattern, '/') : NULL;
    struct stat info;

    if (!slash || slash == pattern)
        return 0;
    AUTO_FREE char *given = mem_string_of(pattern, (size_t)(slash - pattern));
    AUTO_FREE char *folder = given[0] == '/' ? mem_string(given) : mem_printf("%s/%s", cwd, given);
    if (strchr(given, '%') || (given[0] != '/' && !cwd))
        return 0;
    int code = stat(folder, &info) < 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (code == 0 || code == EACCES) /* another user's, perhaps: the daemon will say */
        return 0;
    return error_set(err, -code, "%s: %s: %s; expected an existing directory", name, folder,
                     strerror(code));
}

/* A folder may be made by what the job waits for; else it has to be there. */
static int check_folders(const struct submission *submission, struct error *err)
{
    for (size_t i = 0; i < submission->stage_count && !submission->schedule; i++) {
        const struct stage_draft *stage = &submission->stages[i];

        for (size_t k = 0; k < stage->job_count && stage->need_count == 0; k++) {
            const struct job_draft *job = &stage->jobs[k];
            struct stat info;

            if (!job->cwd || job->depend_count > 0 || remote_is_given())
                continue;
            int code = stat(job->cwd, &info) < 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
            if (code != 0)
                return error_set(err, -code, "working directory %s: %s", job->cwd, strerror(code));
            code = check_output_folder("output", job->output, job->cwd, err);
            if (code == 0)
                code = check_output_folder("error", job->error, job->cwd, err);
            if (code < 0)
                return code;
        }
    }
    return 0;
}

/* Report all errors of the file here, with their lines, before starting a daemon. */
static int check(const json_t *document, const struct yaml_lines *lines, const char *source,
                 struct error *err)
{
    AUTO(submission) struct submission *submission = NULL;

    int code = submission_parse(document, lines, source, &submission, err);
    return code < 0 ? code : check_folders(submission, err);
}

/* What is typed on a terminal goes there with --pty only: a job in the background must not read it.
 */
static bool has_stdin(void)
{
    struct stat info;

    if (fstat(STDIN_FILENO, &info) < 0 || isatty(STDIN_FILENO))
        return false;
    int mode = fcntl(STDIN_FILENO, F_GETFL);
    bool is_null = S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
    return mode >= 0 && (mode & O_ACCMODE) != O_WRONLY && !is_null && !S_ISDIR(info.st_mode);
}

static bool is_one_job(const json_t *document)
{
    return !json_object_get(document, "stages") && !json_object_get(document, "array") &&
           !json_object_get(document, "matrix") && !json_object_get(document, "schedule");
}

/* Whether the job reads our terminal or standard input. */
static int set_attach(struct sending *sending, struct error *err)
{
    json_t *document = sending->document;
    const char *file = sending->sbatch.file;

    if (sending->has_terminal && !is_one_job(document))
        return usage_failed(sending, error_set(err, -EINVAL,
                                               "--pty: expected one job, not an array, a matrix, "
                                               "a pipeline or a schedule"));
    if (sending->has_terminal && sending->is_followed &&
        (!isatty(STDIN_FILENO) || sending->sbatch.is_json))
        return usage_failed(sending,
                            error_set(err, -EINVAL,
                                      isatty(STDIN_FILENO)
                                          ? "--pty: expected no --json"
                                          : "--pty: standard input is not a terminal; tarn submit "
                                            "--pty and tarn attach start it without one"));
    if (sending->has_terminal) {
        json_object_set_new(document, "attach", json_string("terminal"));
        if (remote_is_given())
            add_term(document);
    } else if (sending->passes_stdin && is_one_job(document) &&
               !json_object_get(document, "input") && !json_object_get(document, "attach") &&
               !(file && strcmp(file, "-") == 0) && has_stdin())
        json_object_set_new(document, "attach", json_string("stdin"));
    return 0;
}

static int read_file(struct sending *sending, struct error *err)
{
    const char *path = sending->sbatch.file;
    bool is_stdin = strcmp(path, "-") == 0;
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;

    int code = file_read(is_stdin ? "/dev/stdin" : path, YAML_SIZE_MAX, &text, err);
    if (code == 0)
        code = sbatch_finish(&sending->sbatch, err);
    if (code == 0)
        code = yaml_parse(text_string(&text), text.length, path, &sending->document, &lines, err);
    if (code < 0)
        return code;
    if (!json_is_object(sending->document))
        return check(sending->document, lines, path, err);
    merge(sending->document, sending->sbatch.job);
    set_pipeline_name(sending->document, path);
    add_sender(sending->document, sending->sbatch.notes, is_stdin ? NULL : path);
    code = set_attach(sending, err);
    if (code < 0)
        return code;
    return check(sending->document, lines, path, err);
}

static int read_all(struct sending *sending, int argc, char **argv, struct error *err)
{
    int rest = argc;

    int code = read_options(sending, argc, argv, &rest, err);
    if (code < 0)
        return usage_failed(sending, code);
    if (sending->sbatch.is_help)
        return 0;
    if (sending->sbatch.socket)
        use_socket(sending->sbatch.socket);
    sending->is_dry = sending->is_dry || sending->sbatch.is_test;
    sending->is_ids = sending->is_ids || sending->sbatch.is_parsable;
    if (sending->sbatch.file && rest < argc)
        return usage_failed(
            sending, error_set(err, -EINVAL, "'%.60s': expected nothing beside -f", argv[rest]));
    if (sending->sbatch.file)
        return read_file(sending, err);
    bool is_command = rest > 1 && strcmp(argv[rest - 1], "--") == 0;
    code = read_words(sending, argv + rest, is_command, err);
    if (code < 0)
        return code;
    sending->document = json_incref(sending->sbatch.job);
    add_sender(sending->document, sending->sbatch.notes, NULL);
    code = set_attach(sending, err);
    return code < 0 ? code : check(sending->document, NULL, NULL, err);
}

int sending_read(struct sending *sending, int argc, char **argv, struct error *err)
{
    bool is_run = strcmp(argv[0], "run") == 0;

    *sending = (struct sending){ .takes_stdin = strcmp(argv[0], "submit") == 0,
                                 .is_followed = is_run,
                                 .passes_stdin = is_run };
    sbatch_init(&sending->sbatch);
    return read_all(sending, argc, argv, err);
}

int sending_read_slurm(struct sending *sending, int argc, char **argv, bool is_srun,
                       bool has_terminal, struct error *err)
{
    *sending = (struct sending){ .takes_stdin = !is_srun,
                                 .is_followed = is_srun,
                                 .passes_stdin = is_srun,
                                 .has_terminal = has_terminal };
    sbatch_init(&sending->sbatch);
    sending->sbatch.is_slurm = true;
    return read_all(sending, argc, argv, err);
}

void sending_set_name(struct sending *sending, const char *name)
{
    if (!sending->sbatch.file)
        set_name(sending->document, name);
}

void sending_release(struct sending *sending)
{
    json_decref(sending->document);
    sbatch_release(&sending->sbatch);
    *sending = (struct sending){ 0 };
}

static void say_notes(const json_t *notes)
{
    const json_t *note;
    size_t i;

    json_array_foreach(notes, i, note)
    {
        if (json_is_string(note))
            say("%s", value_text(note));
    }
}

int sending_post(const struct sending *sending, struct session *session, json_t **ret_reply,
                 struct error *err)
{
    int code = session_start(session, sending->devices, err);

    if (code == 0)
        code = sending->is_dry
                   ? session_send(session, "POST", "/v1/jobs?dry_run=1", sending->document,
                                  ret_reply, err)
                   : session_submit(session, "/v1/jobs", sending->document, ret_reply, err);
    if (code < 0)
        return code;
    secret_names_say(json_object_get(sending->document, "sender_env"));
    say_notes(sending->sbatch.notes);
    say_notes(json_object_get(*ret_reply, "notes"));
    return 0;
}

json_t *sending_when(const struct sending *sending, struct session *session)
{
    json_t *when = NULL;
    struct error ignored;

    if (session_send(session, "POST", "/v1/when", sending->document, &when, &ignored) < 0)
        return NULL;
    return when;
}

int config_file_read(const char *path, json_t **ret, struct error *err)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(config) struct config *config = NULL;
    AUTO(json) json_t *document = NULL;

    int code = file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, YAML_SIZE_MAX, &text, err);
    if (code == 0)
        code = yaml_parse(text_string(&text), text.length, path, &document, &lines, err);
    if (code == 0 && json_is_null(document)) /* a file that was not written yet, not a decision */
        code = error_set(err, -EINVAL, "%s: it is empty; {} is the default configuration", path);
    if (code == 0)
        code = config_parse(document, lines, path, &config, err);
    if (code < 0)
        return code;
    *ret = config_to_json(config);
    return 0;
}
