/* SPDX-License-Identifier: Apache-2.0 */
/* login, logout: the access token for a daemon at https://..., given, or in place of a password */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/credentials.h"
#include "cli/fields.h"
#include "cli/https.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "io/net/client.h"

enum { FINGERPRINT, USER, FROM_STDIN };
enum { SECRET_MAX = 600 };

const struct option_entry options_login[] = {
    [FINGERPRINT] = { "fingerprint", 0, "SHA256", "accept the certificate with this fingerprint" },
    [USER] = { "user", 0, "USER", "log in with the password of this user's account there" },
    [FROM_STDIN] = { "password-stdin", 0, NULL, "read the password from standard input" },
    { 0 },
};

/* The URL on the command line, or in $TARN_HOST. */
static int url_of(const struct options *options, char **ret, struct error *err)
{
    const char *host = getenv("TARN_HOST");
    const char *given = options->word_count > 0 ? options->words[0] : host;

    if (options->word_count > 1)
        return error_set(err, -EINVAL, "'%s': expected one URL", options->words[1]);
    if (!given || !given[0])
        return error_set(err, -EINVAL, "expected https://HOST[:PORT]");
    return https_normalize(given, ret, err);
}

/* A line of standard input, not shown while it is typed. False: there is none. */
static bool read_secret(const char *prompt, char *ret, size_t size)
{
    struct termios shown;
    bool is_terminal = tcgetattr(STDIN_FILENO, &shown) == 0;

    if (is_terminal) {
        struct termios hidden = shown;
        hidden.c_lflag &= ~(tcflag_t)ECHO;
        hidden.c_lflag |= ECHONL;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
        fputs(prompt, stderr);
    }
    bool has_line = fgets(ret, (int)size, stdin) != NULL;
    if (is_terminal)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    if (has_line)
        ret[strcspn(ret, "\r\n")] = '\0';
    return has_line && ret[0];
}

static bool is_accepted(void)
{
    char answer[16] = "";

    fputs("Is this the fingerprint that the daemon printed? [y/N] ", stderr);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* "-" for a certificate that this machine trusts. */
static int settle_fingerprint(const char *url, const char *expected, char **ret, struct error *err)
{
    struct https_look look = { 0 };

    int code = https_look(url, &look, err);
    if (code < 0)
        return code;
    if (expected && strcmp(expected, look.fingerprint) != 0)
        code = error_set(err, -EPERM, "%s has the fingerprint %s", url, look.fingerprint);
    else if (!expected && look.trouble) {
        talk("%s", look.trouble);
        talk("Its fingerprint is %s", look.fingerprint);
        if (!isatty(STDIN_FILENO))
            code = error_set(err, -EPERM, "compare the fingerprint, and pass it: --fingerprint %s",
                             look.fingerprint);
        else if (!is_accepted())
            code = error_set(err, -EPERM, "not logged in");
    }
    *ret = mem_string(expected || look.trouble ? look.fingerprint : "-");
    free(look.url);
    free(look.fingerprint);
    free(look.trouble);
    return code;
}

/* Who the token is for. */
static int ask_who(const struct credential *made, json_t **ret, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };

    setenv("TARN_HOST", made->url, 1);
    setenv("TARN_TOKEN", made->token, 1);
    setenv("TARN_FINGERPRINT", made->fingerprint, 1);
    int code = session_open(&session, err);
    return code < 0 ? code : session_get(&session, "/v1/whoami", ret, err);
}

static int read_token(struct credential *made, struct error *err)
{
    char token[SECRET_MAX] = "";

    if (!read_secret("Token: ", token, sizeof(token)))
        return error_set(err, -EINVAL,
                         "expected a token on standard input; tarn token create makes one on the "
                         "machine of the daemon");
    made->token = mem_string(token);
    explicit_bzero(token, sizeof(token));
    return 0;
}

/* POST the password, over a connection that the fingerprint vouches for. */
static int send_password(const struct credential *made, const struct text *body, json_t **ret,
                         struct error *err)
{
    struct client_reply reply;
    struct https https = { 0 };

    int code = https_open_with(made->url, made->fingerprint, NULL, &https, err);
    if (code < 0)
        return code;
    char *const words[] = { https.words[0], https.words[1], https.words[2], https.words[3], NULL };
    const struct dial_place place = { .name = https.url,
                                      .program = words,
                                      .headers = https.headers };
    AUTO(client) struct client *client = client_create(&place);
    const struct client_request request = {
        .method = "POST", .path = "/v1/login", .body = body->bytes, .length = body->length
    };
    code = client_call(client, &request, &reply, err);
    if (code == 0 && reply.status >= 400)
        code = refusal_read(reply.status, text_string(&reply.body), reply.body.length, err);
    else if (code == 0)
        code = json_parse(reply.body.bytes, reply.body.length, CLIENT_REPLY_MAX,
                          "answer of the daemon", ret, err);
    client_reply_release(&reply);
    for (size_t i = 0; i < HTTPS_WORDS; i++)
        free(https.words[i]);
    free(https.url);
    free(https.headers);
    return code;
}

static int trade_password(const char *user, const struct options *options, struct credential *made,
                          struct error *err)
{
    AUTO_FREE char *prompt = mem_printf("Password of %s at %s: ", user, made->url);
    char password[SECRET_MAX] = "";
    AUTO(json) json_t *reply = NULL;

    if (!options->values[FROM_STDIN] && !isatty(STDIN_FILENO))
        return error_set(
            err, -EINVAL,
            "standard input is no terminal; expected --password-stdin, which reads the "
            "password from it");
    prctl(PR_SET_DUMPABLE, 0); /* no core file has it */
    if (!read_secret(prompt, password, sizeof(password)))
        return error_set(err, -EINVAL, "expected a password on standard input");
    AUTO(json) json_t *wish = json_pack("{s:s, s:s}", "user", user, "password", password);
    AUTO_FREE char *bytes = wish ? json_dumps(wish, JSON_COMPACT) : NULL;
    const struct text body = { .bytes = bytes, .length = bytes ? strlen(bytes) : 0 };
    int code = bytes ? send_password(made, &body, &reply, err)
                     : error_set(err, -EINVAL, "the user or the password is not valid UTF-8");
    explicit_bzero(password, sizeof(password));
    if (bytes)
        explicit_bzero(bytes, strlen(bytes));
    if (code == 0)
        made->token = mem_string(field_text(reply, "token"));
    return code;
}

int run_login(const struct options *options)
{
    struct credential made = { 0 };
    const char *user = options->values[USER];
    AUTO(json) json_t *who = NULL;
    struct error err;

    if (options->values[FROM_STDIN] && !user)
        return usage_wrong("login", "--password-stdin: expected --user USER, too");
    int code = url_of(options, &made.url, &err);
    if (code < 0)
        return usage_wrong("login", "%s", err.text);
    code = settle_fingerprint(made.url, options->values[FINGERPRINT], &made.fingerprint, &err);
    if (code == 0)
        code = user ? trade_password(user, options, &made, &err) : read_token(&made, &err);
    if (code == 0)
        code = ask_who(&made, &who, &err);
    if (code == 0)
        code = credential_put(&made, &err);
    if (code == 0 && !reply_is_shown(who, made.url, options))
        say("logged in to %s as %s (%s); use it with TARN_HOST=%s", made.url,
            field_text(who, "user"), field_text(who, "scope"), made.url);
    credential_release(&made);
    return code < 0 ? complain(&err) : 0;
}

/* The token is of no more use to anybody. */
static int revoke_token(const char *url, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *who = NULL;

    setenv("TARN_HOST", url, 1);
    unsetenv("TARN_TOKEN");
    int code = session_open(&session, err);
    if (code == 0)
        code = session_get(&session, "/v1/whoami", &who, err);
    if (code < 0)
        return code;
    AUTO_FREE char *path = mem_printf("/v1/tokens/%" PRId64, field_number(who, "token"));
    return session_send(&session, "DELETE", path, NULL, NULL, err);
}

int run_logout(const struct options *options)
{
    struct credential known = { 0 };
    AUTO_FREE char *url = NULL;
    struct error err, trouble;

    int code = url_of(options, &url, &err);
    if (code < 0)
        return usage_wrong("logout", "%s", err.text);
    code = credential_find(url, &known, &err);
    credential_release(&known);
    if (code < 0)
        return complain(&err);
    int revoked = revoke_token(url, &trouble);
    code = credential_remove(url, &err);
    if (code < 0)
        return complain(&err);
    if (revoked < 0)
        say("the token is removed here, but could not be revoked: %s", trouble.text);
    say("logged out of %s", url);
    return revoked < 0;
}
