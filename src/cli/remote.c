/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/https.h"
#include "cli/screen.h"

#define PERSIST "ControlPersist=600"

static const char scheme[] = "ssh://";

static const char *host(void)
{
    const char *given = getenv("TARN_HOST");

    return given && given[0] ? given : NULL;
}

bool remote_is_given(void)
{
    return host() != NULL;
}

void use_socket(const char *path)
{
    setenv("TARN_SOCKET", path, 1);
    unsetenv("TARN_HOST");
}

/* ---- the name ---- */

struct address {
    char *target; /* [USER@]HOST */
    char *port;   /* NULL: as ssh is configured */
    char *tarn;   /* the program there */
};

static void address_release(struct address *address)
{
    free(address->target);
    free(address->port);
    free(address->tarn);
}

/* ssh reads what starts with a dash as an option, and the shell there reads the program's name. */
static bool is_safe(const char *text, const char *more)
{
    if (!text[0] || text[0] == '-')
        return false;
    for (const char *at = text; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr(more, *at))
            return false;
    }
    return true;
}

static int read_address(const char *given, struct address *ret, struct error *err)
{
    if (!string_starts(given, scheme))
        return error_set(err, -EINVAL,
                         "TARN_HOST '%.80s': expected ssh://[USER@]HOST[:PORT] or "
                         "https://HOST[:PORT]",
                         given);
    const char *from = given + strlen(scheme), *slash = strchr(from, '/');
    size_t length = slash ? (size_t)(slash - from) : strlen(from);

    ret->target = mem_string_of(from, length);
    ret->tarn = mem_string(slash && slash[1] ? slash : "tarn");
    char *colon = strrchr(ret->target, ':');
    if (colon) {
        *colon = '\0';
        ret->port = mem_string(colon + 1);
    }
    const char *at = strchr(ret->target, '@');
    bool is_good = is_safe(ret->target, "@._-%") && (!at || is_safe(at + 1, "._-%")) &&
                   is_safe(ret->tarn, "/._-+") && (!ret->port || is_safe(ret->port, ""));
    return is_good
               ? 0
               : error_set(err, -EINVAL,
                           "TARN_HOST '%.80s': expected ssh://[USER@]HOST[:PORT][/PATH]", given);
}

/* ---- ssh ---- */

/* The socket of the shared login. Only this user can enter its folder. */
static int control_path(char **ret, struct error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *home = getenv("HOME");
    struct stat info;

    AUTO_FREE char *folder = runtime && runtime[0]
                                 ? mem_printf("%s/tarn", runtime)
                                 : mem_printf("%s/.ssh", home && home[0] ? home : "/root");
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "folder %s: %s", folder, strerror(errno));
    if (stat(folder, &info) < 0 || info.st_uid != geteuid() || (info.st_mode & 0022) != 0)
        return error_set(err, -EPERM, "folder %s: expected one that only this user can change",
                         folder);
    *ret = mem_printf("ControlPath=%s/tarn-%%C", folder);
    return 0;
}

static size_t add(char **words, size_t count, const char *word)
{
    words[count] = mem_string(word);
    return count + 1;
}

/* sh splits $TARN_SSH into words and passes the others on. */
static size_t begin(char **words, const char *control, const struct address *address)
{
    const char *own = getenv("TARN_SSH");
    size_t count = 0;

    if (own && own[0]) {
        count = add(words, count, "sh");
        count = add(words, count, "-c");
        count = add(words, count, "exec $TARN_SSH \"$@\"");
    }
    count = add(words, count, "ssh");
    count = add(words, count, "-o");
    count = add(words, count, control);
    if (address->port) {
        count = add(words, count, "-p");
        count = add(words, count, address->port);
    }
    return count;
}

static void release_words(char **words)
{
    for (size_t i = 0; i < REMOTE_WORDS_MAX; i++)
        free(words[i]);
}

static int run(char *const *words, bool is_quiet, struct error *err)
{
    posix_spawn_file_actions_t actions;
    int status = 0;
    pid_t pid;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (is_quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int code = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
        return error_set(err, -code, "%s: %s", words[0], strerror(code));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EHOSTUNREACH;
}

/* Held while one logs in: of commands that begin at the same time, the others use that login. */
static int take_turn(const char *control)
{
    const char *path = strchr(control, '=') + 1;
    AUTO_FREE char *lock = mem_printf("%.*s/tarn-login", (int)(strrchr(path, '/') - path), path);

    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
        ;
    return fd;
}

/* In the foreground, because ssh may ask for a password; then ssh stays in the background. */
static int log_in(const char *control, const struct address *address, struct error *err)
{
    int turn = take_turn(control);
    char *check[REMOTE_WORDS_MAX] = { 0 }, *login[REMOTE_WORDS_MAX] = { 0 };
    size_t count = begin(check, control, address);

    count = add(check, count, "-O");
    count = add(check, count, "check");
    add(check, count, address->target);
    count = begin(login, control, address);
    count = add(login, count, "-fNTM");
    count = add(login, count, "-o");
    count = add(login, count, PERSIST);
    add(login, count, address->target);
    int code = run(check, true, err);
    if (code == -EHOSTUNREACH)
        code = run(login, false, err);
    release_words(check);
    release_words(login);
    if (turn >= 0)
        close(turn);
    return code == -EHOSTUNREACH ? error_set(err, code, "ssh cannot log in to %s; try: ssh %s",
                                             address->target, address->target)
                                 : code;
}

/* One word of a command line for the shell on the other machine. */
static void add_quoted(struct text *line, const char *word)
{
    text_add(line, line->length > 0 ? " '" : "'");
    for (; *word; word++) {
        if (*word == '\'')
            text_add(line, "'\\''");
        else
            text_add_char(line, *word);
    }
    text_add_char(line, '\'');
}

static bool asks_for_help(char *const *words)
{
    for (; *words && strcmp(*words, "--") != 0; words++) {
        if (strcmp(*words, "--help") == 0 || strcmp(*words, "-h") == 0)
            return true;
    }
    return false;
}

bool remote_takes(char *const *words)
{
    static const char *const names[] = { "backup", "check", "doctor", "replay", "restore", NULL };
    static const char *const by_ssh[] = { "backup", "check",   "doctor", "down",
                                          "replay", "restore", "up",     NULL };

    return remote_is_given() && !asks_for_help(words) &&
           string_is_in(words[0], https_is_url(host()) ? names : by_ssh);
}

static int ssh_exec(char *const *argv)
{
    AUTO_RELEASE(text) struct text line = { 0 };
    char *words[REMOTE_WORDS_MAX] = { 0 };
    AUTO_FREE char *control = NULL;
    struct address address = { 0 };
    struct error err;

    int code = read_address(host(), &address, &err);
    if (code == 0)
        code = control_path(&control, &err);
    if (code == 0)
        code = log_in(control, &address, &err);
    if (code < 0)
        return complain(&err);
    size_t count = begin(words, control, &address);
    count = add(words, count, isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? "-t" : "-T");
    count = add(words, count, "-q"); /* not "Connection to box closed." */
    count = add(words, count, address.target);
    add_quoted(&line, address.tarn);
    for (; *argv; argv++)
        add_quoted(&line, *argv);
    add(words, count, text_string(&line));
    execvp(words[0], words);
    say("%s: %s", words[0], strerror(errno));
    return 1;
}

int remote_exec(char *const *argv)
{
    if (https_is_url(host())) {
        say("%s: not over HTTPS; run it on the machine of the daemon, or use "
            "TARN_HOST=ssh://[USER@]HOST",
            argv[0]);
        return 1;
    }
    return ssh_exec(argv);
}

static void fill_words(struct remote *remote, const char *control, const struct address *address,
                       const char *devices)
{
    AUTO_FREE char *start = NULL;
    size_t count = begin(remote->words, control, address);

    count = add(remote->words, count, "-T");
    count = add(remote->words, count, "-o");
    count = add(remote->words, count, "BatchMode=yes");
    count = add(remote->words, count, address->target);
    count = add(remote->words, count, address->tarn);
    count = add(remote->words, count, "proxy");
    if (devices)
        count = add(remote->words, count, "--start");
    if (devices && devices[0]) {
        start = mem_printf("--devices=%s", devices);
        add(remote->words, count, start);
    }
}

static int ssh_open(const char *devices, struct remote *ret, struct error *err)
{
    struct address address = { 0 };
    AUTO_FREE char *control = NULL;

    int code = read_address(host(), &address, err);
    if (code == 0 && devices && devices[0] && !is_safe(devices, "/:.,_-+"))
        code = error_set(err, -EINVAL, "--devices '%.80s': not for a daemon of another machine",
                         devices);
    if (code == 0)
        code = control_path(&control, err);
    if (code == 0)
        code = log_in(control, &address, err);
    if (code == 0) {
        ret->may_start = devices != NULL;
        fill_words(ret, control, &address, devices);
        ret->name = mem_printf("%s%s", scheme, address.target);
        ret->place = (struct dial_place){ .name = ret->name, .program = ret->words };
    }
    address_release(&address);
    return code;
}

static int over_https(const char *devices, struct remote *ret, struct error *err)
{
    struct https https = { 0 };

    if (devices && devices[0])
        return error_set(err, -EINVAL, "--devices '%.80s': not for a daemon of another machine",
                         devices);
    int code = https_open(host(), &https, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < HTTPS_WORDS; i++)
        ret->words[i] = https.words[i];
    ret->may_start = true; /* it runs, or there is nobody to ask */
    ret->name = https.url;
    ret->headers = https.headers;
    ret->place =
        (struct dial_place){ .name = ret->name, .program = ret->words, .headers = ret->headers };
    return 0;
}

int remote_open(const char *devices, struct remote *ret, struct error *err)
{
    *ret = (struct remote){ 0 };
    return https_is_url(host()) ? over_https(devices, ret, err) : ssh_open(devices, ret, err);
}

void remote_release(struct remote *remote)
{
    release_words(remote->words);
    free(remote->name);
    free(remote->headers);
    *remote = (struct remote){ 0 };
}
