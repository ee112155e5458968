/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/alert/alert_send.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/log.h"

enum way { WAY_COMMAND, WAY_WEBHOOK, WAY_MAIL, WAYS };

enum audience { ADMINISTRATORS, OWNERS, AUDIENCES };

enum { LOOK_MS = 200, PAUSE_S = 2, ALERT_OWNER_MAX = 63 };

static const char *const way_names[WAYS] = { "command", "webhook", "mail" };

struct letter {
    char *to, *server; /* server: of mail */
    char *sentence, *json;
    usec_t at; /* USEC_NEVER: none */
};

struct channel {
    enum way way;
    pthread_t thread;
    bool is_started, is_stopping, is_told; /* is_told: that it is full; until it is empty */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    LIST(struct letter) queue;
    usec_t delivering; /* the time of the letter that is on its way; USEC_NEVER: none */
    struct alert_counts counts;
    const struct alert_sender *sender;
};

struct alert_sender {
    struct channel channels[AUDIENCES * WAYS];
    void (*on_done)(void *user);
    void *user;
};

static struct channel *channel_of(struct alert_sender *sender, enum audience audience, enum way way)
{
    return &sender->channels[audience * WAYS + way];
}

static void release_letter(struct letter *letter)
{
    free(letter->to);
    free(letter->server);
    free(letter->sentence);
    free(letter->json);
}

static bool is_stopping(struct channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    bool is_it = channel->is_stopping;
    pthread_mutex_unlock(&channel->lock);
    return is_it;
}

/* ---- a command ---- */

/* A descriptor that reads as the text; -1: there can be none. */
static int fd_of_text(const char *text)
{
    int fd = memfd_create("alert", MFD_CLOEXEC);

    if (fd < 0)
        return -1;
    if (write(fd, text, strlen(text)) == (ssize_t)strlen(text) && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

/* In a process group of its own, so that all of it can be ended. */
static int start_command(const struct letter *letter, int input, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char *const arguments[] = { letter->to, letter->sentence, NULL };

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int code = posix_spawn(ret_pid, letter->to, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -code;
}

/* Whether it ended by itself, in time. Only this thread reaps it, so its pid is not reused. */
static bool await_command(struct channel *channel, pid_t pid)
{
    struct pollfd ended = { .fd = pidfd_open(pid, 0), .events = POLLIN };
    bool is_over = false;

    for (int waited = 0; ended.fd >= 0 && waited < ALERT_DEADLINE_S * 1000 && !is_over;
         waited += LOOK_MS) {
        is_over = poll(&ended, 1, LOOK_MS) > 0;
        if (!is_over && is_stopping(channel))
            break;
    }
    if (ended.fd >= 0)
        close(ended.fd);
    return is_over;
}

static int run_command(struct channel *channel, const struct letter *letter, struct error *err)
{
    pid_t pid;
    int status = 0, input = fd_of_text(letter->json);

    if (input < 0)
        return error_set(err, -errno, "%s", strerror(errno));
    int code = start_command(letter, input, &pid);
    close(input);
    if (code < 0)
        return error_set(err, code, "%.200s: %s", letter->to, strerror(-code));
    bool is_over = await_command(channel, pid);
    if (!is_over)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!is_over)
        return error_set(err, -ETIMEDOUT, "%.200s: not done in time", letter->to);
    if (status != 0)
        return error_set(err, -EIO, "%.200s: ended with %d", letter->to,
                         WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}

/* ---- by libcurl ---- */

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return is_stopping(user); /* not 0: give it up */
}

static size_t on_answer(char *bytes, size_t size, size_t count, void *user)
{
    (void)bytes;
    (void)user;
    return size * count; /* discarded */
}

static int transfer(struct channel *channel, CURL *call, struct error *err)
{
    char words[CURL_ERROR_SIZE] = "";

    curl_easy_setopt(call, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(call, CURLOPT_TIMEOUT, (long)ALERT_DEADLINE_S);
    curl_easy_setopt(call, CURLOPT_ERRORBUFFER, words);
    curl_easy_setopt(call, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(call, CURLOPT_WRITEFUNCTION, on_answer);
    curl_easy_setopt(call, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(call, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(call, CURLOPT_XFERINFODATA, channel);
    CURLcode result = curl_easy_perform(call);
    curl_easy_setopt(call, CURLOPT_ERRORBUFFER, NULL);
    if (result == CURLE_OK)
        return 0;
    return error_set(err, -EIO, "%s", words[0] ? words : curl_easy_strerror(result));
}

static int post(struct channel *channel, const struct letter *letter, struct error *err)
{
    CURL *call = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    long status = 0;

    curl_easy_setopt(call, CURLOPT_URL, letter->to);
    curl_easy_setopt(call, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(call, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(call, CURLOPT_USERAGENT, "tarn/" TARN_VERSION);
    curl_easy_setopt(call, CURLOPT_POSTFIELDS, letter->json);
    int code = transfer(channel, call, err);
    curl_easy_getinfo(call, CURLINFO_RESPONSE_CODE, &status);
    if (code == 0 && (status < 200 || status > 299)) /* a redirection is not followed */
        code = error_set(err, -EIO, "the answer was %ld", status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(call);
    return code;
}

/* What is left of the text of a mail. */
struct reading_text {
    const char *at;
};

static size_t read_text(char *buffer, size_t size, size_t count, void *user)
{
    struct reading_text *left = user;
    size_t length = strnlen(left->at, size * count);

    memcpy(buffer, left->at, length);
    left->at += length;
    return length;
}

static void write_mail(const struct letter *letter, const char *sender, struct text *ret)
{
    time_t now = time(NULL);
    struct tm parts;
    char date[64];

    gmtime_r(&now, &parts);
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", &parts);
    text_printf(ret,
                "Date: %s\r\nFrom: tarn <%s>\r\nTo: %s\r\nSubject: %s\r\nMIME-Version: 1.0\r\n"
                "Content-Type: text/plain; charset=utf-8\r\nAuto-Submitted: auto-generated\r\n"
                "\r\n%s\r\n\r\n%s\r\n",
                date, sender, letter->to, letter->sentence, letter->sentence, letter->json);
}

static struct curl_slist *addresses_of(const char *names)
{
    struct curl_slist *list = NULL;

    for (const char *at = names; *at;) {
        size_t length = strcspn(at, ",");
        AUTO_FREE char *address = mem_printf("<%.*s>", (int)length, at);
        list = curl_slist_append(list, address);
        at += length + (at[length] == ',');
    }
    return list;
}

static int send_mail(struct channel *channel, const struct letter *letter, struct error *err)
{
    CURL *call = curl_easy_init();
    AUTO_RELEASE(text) struct text mail = { 0 };
    char host[65] = "", sender[80];

    gethostname(host, sizeof(host) - 1);
    snprintf(sender, sizeof(sender), "tarn@%s", host[0] ? host : "localhost");
    write_mail(letter, sender, &mail);
    struct reading_text left = { text_string(&mail) };
    struct curl_slist *recipients = addresses_of(letter->to);
    curl_easy_setopt(call, CURLOPT_URL, letter->server);
    curl_easy_setopt(call, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(call, CURLOPT_USE_SSL, (long)CURLUSESSL_TRY);
    curl_easy_setopt(call, CURLOPT_MAIL_FROM, sender);
    curl_easy_setopt(call, CURLOPT_MAIL_RCPT, recipients);
    curl_easy_setopt(call, CURLOPT_READFUNCTION, read_text);
    curl_easy_setopt(call, CURLOPT_READDATA, &left);
    curl_easy_setopt(call, CURLOPT_UPLOAD, 1L);
    int code = transfer(channel, call, err);
    curl_slist_free_all(recipients);
    curl_easy_cleanup(call);
    return code;
}

/* ---- a thread a way ---- */

static int try_once(struct channel *channel, const struct letter *letter, struct error *err)
{
    switch (channel->way) {
    case WAY_COMMAND:
        return run_command(channel, letter, err);
    case WAY_WEBHOOK:
        return post(channel, letter, err);
    case WAY_MAIL:
        return send_mail(channel, letter, err);
    case WAYS:
        break;
    }
    return -EINVAL;
}

/* The lock is held. */
static void pause_for(struct channel *channel, unsigned seconds)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += seconds;
    while (!channel->is_stopping &&
           pthread_cond_timedwait(&channel->wake, &channel->lock, &end) != ETIMEDOUT)
        continue;
}

/* The lock is held, but for the tries. */
static void deliver(struct channel *channel, const struct letter *letter)
{
    struct error err;
    int code = -EIO;

    for (unsigned i = 0; i < ALERT_TRIES && code < 0 && !channel->is_stopping; i++) {
        if (i > 0)
            pause_for(channel, PAUSE_S * i);
        pthread_mutex_unlock(&channel->lock);
        code = try_once(channel, letter, &err);
        if (code < 0)
            log_line(LOG_WARNING, "an alert was not sent by=%s try=%u reason='%s'",
                     way_names[channel->way], i + 1, err.text);
        pthread_mutex_lock(&channel->lock);
    }
    channel->counts.sent += code == 0;
    channel->counts.failed += code < 0;
}

static void *work(void *user)
{
    struct channel *channel = user;

    pthread_mutex_lock(&channel->lock);
    while (!channel->is_stopping) {
        if (channel->queue.count == 0) {
            channel->is_told = false;
            pthread_cond_wait(&channel->wake, &channel->lock);
            continue;
        }
        struct letter letter = channel->queue.items[0];
        list_remove(&channel->queue, 0);
        channel->delivering = letter.at;
        deliver(channel, &letter);
        if (!channel->is_stopping)
            channel->delivering = USEC_NEVER;
        if (letter.at != USEC_NEVER && channel->sender->on_done)
            channel->sender->on_done(channel->sender->user);
        release_letter(&letter);
    }
    pthread_mutex_unlock(&channel->lock);
    return NULL;
}

/* With all signals blocked: they are for the loop. */
static int start(struct channel *channel, struct error *err)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&channel->thread, NULL, work, channel);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    channel->is_started = code == 0;
    return code == 0 ? 0
                     : error_set(err, -code,
                                 "a thread for alerts cannot be created: %s; raise the limit of "
                                 "processes (ulimit -u, or TasksMax= of the unit)",
                                 strerror(code));
}

/* False: it is full. */
static bool enqueue(struct channel *channel, const struct letter *letter)
{
    pthread_mutex_lock(&channel->lock);
    bool has_room = channel->queue.count < ALERT_QUEUE_MAX;
    if (has_room) {
        list_add(&channel->queue, (struct letter){ .to = mem_string(letter->to),
                                                   .server = mem_string(letter->server),
                                                   .sentence = mem_string(letter->sentence),
                                                   .json = mem_string(letter->json),
                                                   .at = letter->at });
        pthread_cond_broadcast(&channel->wake);
    } else if (!channel->is_told) {
        log_line(LOG_WARNING, "alerts cannot be sent now, too many are waiting by=%s",
                 way_names[channel->way]);
        channel->is_told = true;
    }
    pthread_mutex_unlock(&channel->lock);
    return has_room;
}

static void count_dropped(struct channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    channel->counts.dropped++;
    pthread_mutex_unlock(&channel->lock);
}

int alert_sender_create(struct alert_sender **ret, struct error *err)
{
    struct alert_sender *sender = mem_zero(1, sizeof(*sender));
    int code = 0;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    for (size_t i = 0; i < COUNT_OF(sender->channels); i++) {
        struct channel *channel = &sender->channels[i];
        channel->way = (enum way)(i % WAYS);
        channel->delivering = USEC_NEVER;
        channel->sender = sender;
        pthread_mutex_init(&channel->lock, NULL);
        pthread_cond_init(&channel->wake, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(sender->channels) && code == 0; i++)
        code = start(&sender->channels[i], err);
    if (code < 0) {
        alert_sender_destroy(sender);
        return code;
    }
    *ret = sender;
    return 0;
}

void alert_sender_destroy(struct alert_sender *sender)
{
    if (!sender)
        return;
    for (size_t i = 0; i < COUNT_OF(sender->channels); i++) {
        struct channel *channel = &sender->channels[i];
        pthread_mutex_lock(&channel->lock);
        channel->is_stopping = true;
        pthread_cond_broadcast(&channel->wake);
        pthread_mutex_unlock(&channel->lock);
    }
    for (size_t i = 0; i < COUNT_OF(sender->channels); i++) {
        struct channel *channel = &sender->channels[i];
        if (channel->is_started)
            pthread_join(channel->thread, NULL);
        for (size_t k = 0; k < channel->queue.count; k++)
            release_letter(&channel->queue.items[k]);
        list_release(&channel->queue);
        pthread_cond_destroy(&channel->wake);
        pthread_mutex_destroy(&channel->lock);
    }
    free(sender);
}

/* True also when no way is configured. */
static bool send_to(struct alert_sender *sender, enum audience audience,
                    const struct watch_rules *rules, const char *const to[WAYS],
                    const char *sentence, const char *json, usec_t at)
{
    /* Only read from here on. */
    struct letter letter = { .sentence = (char *)sentence, .json = (char *)json, .at = at };
    bool has_taken[WAYS] = { false }, is_taken = false, is_wanted = false;

    letter.server =
        (char *)(rules->alert_mail_server[0] ? rules->alert_mail_server : "smtp://localhost");
    for (enum way way = 0; way < WAYS; way++) {
        letter.to = (char *)to[way];
        if (!to[way][0])
            continue;
        is_wanted = true;
        has_taken[way] = enqueue(channel_of(sender, audience, way), &letter);
        is_taken |= has_taken[way];
    }
    for (enum way way = 0; way < WAYS; way++) {
        if (is_taken && to[way][0] && !has_taken[way])
            count_dropped(channel_of(sender, audience, way));
    }
    return is_taken || !is_wanted;
}

bool alert_sender_send(struct alert_sender *sender, const struct watch_rules *rules,
                       const char *sentence, const char *json)
{
    const char *const to[WAYS] = { rules->alert_command, rules->alert_webhook, rules->alert_mail };

    return send_to(sender, ADMINISTRATORS, rules, to, sentence, json, USEC_NEVER);
}

/* A user without a name, or with one that is no part of an address, gets no mail. */
bool alert_sender_send_owner(struct alert_sender *sender, const struct watch_rules *rules,
                             const char *owner, const char *sentence, const char *json, usec_t at)
{
    bool has_address =
        rules->alert_owner_mail[0] && string_is_name(owner, ALERT_OWNER_MAX) && !strchr(owner, '@');
    AUTO_FREE char *address = mem_printf("%s%s%s", has_address ? owner : "", has_address ? "@" : "",
                                         has_address ? rules->alert_owner_mail : "");
    const char *const to[WAYS] = { rules->alert_owner_command, "", address };

    return send_to(sender, OWNERS, rules, to, sentence, json, at);
}

bool alert_sender_send_mail(struct alert_sender *sender, const struct watch_rules *rules,
                            const char *addresses, const char *sentence, const char *json,
                            usec_t at)
{
    const char *const to[WAYS] = { "", "", addresses };

    return send_to(sender, OWNERS, rules, to, sentence, json, at);
}

usec_t alert_sender_oldest(struct alert_sender *sender)
{
    usec_t oldest = USEC_NEVER;

    for (size_t i = 0; i < COUNT_OF(sender->channels); i++) {
        struct channel *channel = &sender->channels[i];
        pthread_mutex_lock(&channel->lock);
        oldest = channel->delivering < oldest ? channel->delivering : oldest;
        LIST_EACH (const struct letter, letter, &channel->queue)
            oldest = letter->at < oldest ? letter->at : oldest;
        pthread_mutex_unlock(&channel->lock);
    }
    return oldest;
}

void alert_sender_on_done(struct alert_sender *sender, void (*fn)(void *user), void *user)
{
    sender->on_done = fn;
    sender->user = user;
}

struct alert_counts alert_sender_counts(struct alert_sender *sender)
{
    struct alert_counts sum = { 0 };

    for (size_t i = 0; i < COUNT_OF(sender->channels); i++) {
        struct channel *channel = &sender->channels[i];
        pthread_mutex_lock(&channel->lock);
        sum.sent += channel->counts.sent;
        sum.failed += channel->counts.failed;
        sum.dropped += channel->counts.dropped;
        pthread_mutex_unlock(&channel->lock);
    }
    return sum;
}
