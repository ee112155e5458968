/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/bridge/bridge.h"
#include "cli/bridge/bridge_near.h"
#include "cli/fields.h"
#include "cli/screen.h"

/* ---- the daemon, started in the background ----
 *
 * It runs this program with `serve --notify-fd 3` in a new session; its log goes to
 * STATE/daemon.log. Descriptor 3 delivers "ready" or a line with the error. If two commands start a
 * daemon at the same time, both find the winner.
 */

static const char reply_source[] = "answer of the daemon";

enum { START_TIMEOUT_S = 60, START_OTHER_S = 5, START_LOG_LINES = 5 };
enum { NOTIFY_FD = 3, LOG_MAX = 4096, ANSWER_MAX = 4096 };
enum { RETRIES = 50, RETRY_MS = 200 };
enum { TIMEOUT_S_MAX = 86400 };

static int failed(const char *what, const char *path, struct error *err)
{
    int code = errno;

    return error_set(err, -code, "%s %s: %s", what, path, strerror(code));
}

/* The folder and those above it; what is made is for this user only. */
static int make_folders(const char *path, struct error *err)
{
    AUTO_FREE char *copy = mem_string(path);

    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return failed("folder", copy, err);
        *slash = '/';
    }
    if (mkdir(copy, 0700) < 0 && errno != EEXIST)
        return failed("folder", copy, err);
    return 0;
}

/* "~/.local/state/tarn" */
static char *short_path(const char *path)
{
    const char *home = getenv("HOME");
    size_t length = home ? strlen(home) : 0;

    if (length > 1 && strncmp(path, home, length) == 0 && path[length] == '/')
        return mem_printf("~%s", path + length);
    return mem_string(path);
}

/* The daemon starts in "/", so make the path of a file absolute. NULL stays NULL. */
static char *devices_from_here(const char *devices)
{
    static const char prefix[] = "recorded:";
    bool is_relative = devices && string_starts(devices, prefix) && devices[strlen(prefix)] != '/';
    AUTO_FREE char *path = is_relative ? realpath(devices + strlen(prefix), NULL) : NULL;

    return path ? mem_printf("%s%s", prefix, path) : mem_string(devices);
}

/* The log as its output and the pipe's end as descriptor 3, nothing else of ours. */
static _Noreturn void become_daemon(char *const argv[], int log_fd, int notify_fd)
{
    sigset_t none;

    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool is_ready = dup2(null_fd, STDIN_FILENO) >= 0 && dup2(log_fd, STDOUT_FILENO) >= 0 &&
                    dup2(log_fd, STDERR_FILENO) >= 0 && dup2(notify_fd, NOTIFY_FD) >= 0 &&
                    fcntl(NOTIFY_FD, F_SETFD, 0) == 0 && close_range(NOTIFY_FD + 1, ~0U, 0) == 0 &&
                    chdir("/") == 0;
    if (is_ready)
        execve("/proc/self/exe", argv, environ);
    dprintf(STDERR_FILENO, "/proc/self/exe: %s\n", strerror(errno));
    _exit(1);
}

static int spawn(const char *devices, int log_fd, int notify_fd)
{
    const char *args[] = { "tarn",  "serve", "--notify-fd", "3", devices ? "--devices" : NULL,
                           devices, NULL };
    char *argv[COUNT_OF(args)];

    memcpy(argv, args, sizeof(argv));
    pid_t pid = fork();
    if (pid == 0)
        become_daemon(argv, log_fd, notify_fd);
    return pid < 0 ? errno : 0;
}

/* Its first line, without the newline; as far as it came before the end or the time ran out. */
static void read_answer(int fd, struct text *answer)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    time_t until = time(NULL) + START_TIMEOUT_S;
    char chunk[256];

    while (answer->length < ANSWER_MAX && !strchr(text_string(answer), '\n')) {
        if (time(NULL) > until)
            return;
        if (poll(&wait, 1, 1000) <= 0)
            continue;
        ssize_t length = read(fd, chunk, sizeof(chunk));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return;
        text_add_bytes(answer, chunk, (size_t)length);
    }
    answer->bytes[strcspn(answer->bytes, "\n")] = '\0';
}

/* Whether another daemon holds the lock of the state. */
static bool is_locked(const char *state)
{
    AUTO_FREE char *path = mem_printf("%s/lock", state);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_taken = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return is_taken;
}

bool session_is_held(const struct session *session)
{
    AUTO_FREE char *path = mem_printf("%s/lock", session->paths.state);

    return access(path, R_OK | W_OK) < 0 || is_locked(session->paths.state);
}

/* Another command may be starting a daemon. */
static bool finds_another(const struct paths *paths)
{
    const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

    for (int i = 0; i < START_OTHER_S * 50; i++) {
        if (paths_is_listening(paths->socket))
            return true;
        if (!is_locked(paths->state))
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* The last lines that it wrote to its log, where it died without a word. */
static int died(int log_fd, const char *log, off_t from, struct error *err)
{
    off_t end = lseek(log_fd, 0, SEEK_END);
    char bytes[LOG_MAX + 1];

    from = end - from > LOG_MAX ? end - LOG_MAX : from;
    ssize_t length = pread(log_fd, bytes, LOG_MAX, from);
    if (length <= 0)
        return error_set(err, -EIO, "the daemon could not be started, and wrote nothing to %s",
                         log);
    bytes[length] = '\0';
    char *at = bytes + length - 1;
    *at = '\0';
    for (int lines = 0; at > bytes && lines < START_LOG_LINES; at--)
        lines += at[-1] == '\n';
    return error_set(err, -EIO, "the daemon could not be started; the end of %s:\n%s", log,
                     at + (*at == '\n'));
}

static int start_and_listen(const struct paths *paths, const char *devices, int log_fd,
                            struct text *answer, struct error *err)
{
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    /* Relative variables would mean something else from the root. */
    if (getenv("TARN_STATE"))
        setenv("TARN_STATE", paths->state, 1);
    if (getenv("TARN_SOCKET"))
        setenv("TARN_SOCKET", paths->socket, 1);
    int code = spawn(devices, log_fd, pipe_fds[1]);
    close(pipe_fds[1]);
    if (code == 0)
        read_answer(pipe_fds[0], answer);
    close(pipe_fds[0]);
    if (code != 0)
        return error_set(err, -code, "the daemon could not be started: %s", strerror(code));
    return 0;
}

static int daemon_start(const struct paths *paths, const char *devices, struct error *err)
{
    AUTO_FREE char *log = mem_printf("%s/daemon.log", paths->state);
    AUTO_FREE char *shown = short_path(paths->state);
    AUTO_FREE char *here = devices_from_here(devices ? devices : getenv("TARN_DEVICES"));
    AUTO_RELEASE(text) struct text answer = { 0 };

    int code = make_folders(paths->state, err);
    if (code < 0)
        return code;
    int fd = open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed("log", log, err);
    off_t from = lseek(fd, 0, SEEK_END);
    code = start_and_listen(paths, here, fd, &answer, err);
    if (code == 0 && strcmp(text_string(&answer), "ready") == 0)
        say("started (%s; state in %s)",
            paths->is_machine_wide ? "for all users of this machine" : "this user only", shown);
    else if (code == 0 && !finds_another(paths))
        code = answer.length > 0 && answer.bytes[0]
                   ? error_set(err, -EIO, "the daemon could not be started: %s", answer.bytes)
                   : died(fd, log, from, err);
    close(fd);
    return code;
}

static void say_silence(const char *place, unsigned seconds)
{
    fprintf(stderr, "tarn: the daemon at %s has not answered for %u s; still waiting\n", place,
            seconds);
}

/* $TARN_TIMEOUT: how long a command waits for an answer. */
static int read_timeout(unsigned *ret, struct error *err)
{
    const char *text = getenv("TARN_TIMEOUT");
    char *end = NULL;
    unsigned long seconds = text ? strtoul(text, &end, 10) : CLIENT_TIMEOUT_S;

    if (text && (text[0] < '0' || text[0] > '9' || *end || seconds == 0 || seconds > TIMEOUT_S_MAX))
        return error_set(err, -EINVAL, "TARN_TIMEOUT '%.40s': expected 1 to %d seconds", text,
                         TIMEOUT_S_MAX);
    *ret = (unsigned)seconds;
    return 0;
}

static int open_client(struct session *session, const char *devices, struct error *err)
{
    struct dial_place place = { .name = session->paths.socket };

    if (remote_is_given()) {
        int code = remote_open(devices, &session->remote, err);
        if (code < 0)
            return code;
        place = session->remote.place;
    }
    struct client_patience patience = { .on_silence = say_silence };
    int code = read_timeout(&patience.timeout_s, err);
    if (code < 0)
        return code;
    session->client = client_create(&place);
    client_be_patient(session->client, &patience);
    return 0;
}

static void close_client(struct session *session)
{
    client_destroy(session->client);
    session->client = NULL;
    remote_release(&session->remote);
}

int session_open(struct session *session, struct error *err)
{
    *session = (struct session){ 0 };
    int code = paths_find(&session->paths, err);

    return code < 0 ? code : open_client(session, NULL, err);
}

bool session_is_remote(const struct session *session)
{
    return session->remote.name != NULL;
}

/* The proxy on the other machine starts it. */
static int start_remote(struct session *session, const char *devices, struct error *err)
{
    close_client(session);
    return open_client(session, devices ? devices : "", err);
}

/* What a job of this daemon will be given is no hardware. */
static void say_if_synthetic(struct session *session)
{
    AUTO(json) json_t *reply = NULL;
    const json_t *gpu;
    size_t i, real = 0;

    if (session_get(session, "/v1/gpus", &reply, NULL) < 0)
        return;
    const json_t *gpus = json_object_get(reply, "gpus");
    json_array_foreach(gpus, i, gpu) real += !field_is_true(gpu, "synthetic");
    if (json_array_size(gpus) > 0 && real == 0)
        say("no GPU was found on this machine: the GPUs are synthetic, and jobs get no device");
}

int session_start(struct session *session, const char *devices, struct error *err)
{
    if (session->remote.may_start)
        return 0;
    if (session_is_remote(session))
        return start_remote(session, devices, err);
    if (client_connect(session->client, NULL) == 0)
        return 0;
    int code = daemon_start(&session->paths, devices, err);
    if (code == 0)
        say_if_synthetic(session);
    return code;
}

void session_release(struct session *session)
{
    close_client(session);
    paths_release(&session->paths);
}

int refusal_read(long status, const char *body, size_t length, struct error *err)
{
    AUTO(json) json_t *reply = NULL;
    int code = status == 404 ? -ENOENT : status == 409 ? -EALREADY : -EREMOTEIO;
    const char *message = "";

    if (json_parse(body, length, CLIENT_REPLY_MAX, NULL, &reply, NULL) == 0) {
        const json_t *error = json_object_get(reply, "error");

        message = field_text(error, "message");
        if (strcmp(field_text(error, "code"), "too_many_connections") == 0)
            code = -EUSERS;
    }
    if (message[0])
        return error_set(err, code, "%s", message);
    return error_set(err, code, "the daemon refused, with HTTP status %ld", status);
}

static int nobody_there(const struct session *session, int code, struct error *err)
{
    if (code != -ENOENT && code != -ECONNREFUSED)
        return code;
    if (getenv("TARN_SOCKET"))
        return error_set(err, -ENODATA, "no daemon is running at %s; tarn up starts one",
                         session->paths.socket);
    return error_set(err, -ENODATA, "no daemon is running; tarn up starts one");
}

static int call_daemon(struct session *session, const struct client_request *request,
                       struct client_reply *ret, struct error *err)
{
    int code = client_call(session->client, request, ret, err);

    if (code < 0)
        return nobody_there(session, code, err);
    if (ret->status < 400)
        return 0;
    code = refusal_read(ret->status, text_string(&ret->body), ret->body.length, err);
    client_reply_release(ret);
    return code;
}

static void pause_between_tries(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = RETRY_MS * 1000000L }, NULL);
}

bool session_tries_again(int code, const struct error *why, unsigned *tries)
{
    if (code != -EUSERS || *tries == RETRIES)
        return false;
    if (++*tries == 1)
        say("%s; trying again", why->text);
    pause_between_tries();
    return true;
}

int session_call(struct session *session, const struct client_request *request,
                 struct client_reply *ret, struct error *err)
{
    struct error why = { "" };
    unsigned tries = 0;
    int code;

    do
        code = call_daemon(session, request, ret, &why);
    while (session_tries_again(code, &why, &tries));
    return code < 0 ? error_set(err, code, "%s", why.text) : code;
}

static int exchange(struct session *session, const struct client_request *request, json_t **ret,
                    struct error *err)
{
    struct client_reply reply;

    int code = session_call(session, request, &reply, err);
    if (code < 0)
        return code;
    if (ret)
        code = json_parse(text_string(&reply.body), reply.body.length, CLIENT_REPLY_MAX,
                          reply_source, ret, err);
    client_reply_release(&reply);
    return code;
}

int session_send(struct session *session, const char *method, const char *path, const json_t *body,
                 json_t **ret, struct error *err)
{
    AUTO_FREE char *bytes = body ? json_dumps(body, JSON_COMPACT) : NULL;

    return exchange(
        session,
        &(struct client_request){
            .method = method, .path = path, .body = bytes, .length = bytes ? strlen(bytes) : 0 },
        ret, err);
}

/* ---- a submission ---- */

/* The daemon may have accepted it. */
static bool is_lost(int code)
{
    return code == -EIO || code == -ECONNRESET || code == -EPIPE;
}

static int may_be_accepted(int code, struct error *err)
{
    struct error why = *err;

    return error_set(err, code, "%s; the submission may have been accepted: see tarn ls", why.text);
}

int session_submit(struct session *session, const char *path, const json_t *body, json_t **ret,
                   struct error *err)
{
    AUTO_FREE char *bytes = json_dumps(body, JSON_COMPACT);
    uint64_t key[2] = { 0 };

    bool is_named = getrandom(key, sizeof(key), 0) == (ssize_t)sizeof(key);
    AUTO_FREE char *header =
        mem_printf("Idempotency-Key: %016" PRIx64 "%016" PRIx64 "\r\n", key[0], key[1]);
    const struct client_request request = { .method = "POST",
                                            .path = path,
                                            .body = bytes,
                                            .length = strlen(bytes),
                                            .headers = is_named ? header : NULL };
    struct error later = { "" };
    int code = exchange(session, &request, ret, err);
    if (code == -ETIMEDOUT)
        return may_be_accepted(code, err);
    if (!is_named || !is_lost(code))
        return code;
    say("%s; trying again", err->text);
    for (int i = 0; i < RETRIES; i++) {
        pause_between_tries();
        int again = exchange(session, &request, ret, &later);
        if (is_lost(again) || again == -ENODATA)
            continue;
        *err = later;
        return again == -ETIMEDOUT ? may_be_accepted(again, err) : again;
    }
    return may_be_accepted(code, err);
}

int session_get(struct session *session, const char *path, json_t **ret, struct error *err)
{
    return session_send(session, "GET", path, NULL, ret, err);
}

/* ---- a list ---- */

/* Of the object at bytes; 0: its end has not come. */
static size_t item_length(const char *bytes, size_t length)
{
    bool in_string = false;
    size_t depth = 0;

    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];

        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']') && --depth == 0)
            return i + 1;
    }
    return 0;
}

/* Takes the items that are complete out of the body. What is no list as expected, or no JSON,
 * stays, for the parser of the whole reply. */
static void take_items(void *user, struct text *body)
{
    const struct session_list *list = user;
    char head[64];
    size_t from = (size_t)snprintf(head, sizeof(head), "{\"%s\":[", list->key);
    size_t at = from;

    if (!string_starts(text_string(body), head))
        return;
    while (body->bytes[at] == '{') {
        size_t length = item_length(body->bytes + at, body->length - at);
        char next = length > 0 ? body->bytes[at + length] : '\0';
        json_t *item = NULL;

        if ((next != ',' && next != ']') ||
            json_parse(body->bytes + at, length, CLIENT_REPLY_MAX, reply_source, &item, NULL) < 0)
            break;
        list->on_item(list->user, item);
        json_decref(item);
        at += length + (next == ',');
    }
    memmove(body->bytes + from, body->bytes + at, body->length - at + 1);
    body->length -= at - from;
}

int session_get_list(struct session *session, const char *path, struct session_list *list,
                     json_t **ret, struct error *err)
{
    return exchange(session,
                    &(struct client_request){
                        .method = "GET", .path = path, .on_body = take_items, .user = list },
                    ret, err);
}

static int enter_once(struct session *session, const char *path, int *ret_fd, struct error *err)
{
    bool is_far = session_is_remote(session);
    struct client_reply reply;
    int fd = -1;

    int code = is_far ? client_upgrade(session->client, path, BRIDGE_PROTOCOL, &reply, &fd, err)
                      : client_take_descriptor(session->client, path, &reply, &fd, err);
    if (code < 0)
        return nobody_there(session, code, err);
    if (reply.status >= 400)
        code = refusal_read(reply.status, text_string(&reply.body), reply.body.length, err);
    client_reply_release(&reply);
    if (code == 0 && is_far)
        return bridge_near_start(fd, ret_fd, err);
    *ret_fd = fd;
    return code;
}

int session_enter(struct session *session, const char *path, int *ret_fd, struct error *err)
{
    struct error why = { "" };
    unsigned tries = 0;
    int code;

    do
        code = enter_once(session, path, ret_fd, &why);
    while (session_tries_again(code, &why, &tries));
    return code < 0 ? error_set(err, code, "%s", why.text) : code;
}

int session_ask(const char *method, const char *path, const json_t *body, json_t **ret)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;

    int code = session_open(&session, &err);
    if (code == 0)
        code = session_send(&session, method, path, body, ret, &err);
    return code < 0 ? complain(&err) : 0;
}

int session_ask_list(const char *path, struct session_list *list, json_t **ret)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;

    int code = session_open(&session, &err);
    if (code == 0)
        code = session_get_list(&session, path, list, ret, &err);
    return code < 0 ? complain(&err) : 0;
}

void reply_print(const json_t *reply)
{
    json_print(reply, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}

bool reply_is_shown(const json_t *reply, const char *id, const struct options *options)
{
    if (options->is_json)
        reply_print(reply);
    else if (options->is_quiet)
        printf("%s\n", id);
    return options->is_json || options->is_quiet;
}
