/* SPDX-License-Identifier: Apache-2.0 */
/* tarn-login: whether a password is that of an account of this machine, by PAM (service "tarn")
 *
 * Descriptor 3 brings USER, PASSWORD and ADDRESS, each with a NUL at its end, then the end of the
 * input. The answer is one line:
 *
 *   ok UID NAME     the password is right, and the account may log in
 *   no WORDS        anything else; WORDS are for the log of the daemon, not for the client
 *
 * The daemon runs it for each login (api/login/password_check.h), and kills it if it takes long. */
#include <pwd.h>
#include <security/pam_appl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINK = 3, REQUEST_MAX = 2048 };

struct request {
    char bytes[REQUEST_MAX];
    const char *user, *password, *address;
    bool is_told; /* the password: only the first question is for it */
};

static void keep_no_traces(void)
{
    const struct rlimit none = { 0, 0 };

    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}

/* The next of the strings, or NULL. */
static const char *take(const char **at, const char *end)
{
    const char *string = *at, *stop = memchr(string, '\0', (size_t)(end - string));

    if (!stop)
        return NULL;
    *at = stop + 1;
    return string;
}

static bool receive(struct request *request)
{
    size_t length = 0;
    ssize_t got;

    do {
        got = read(LINK, request->bytes + length, sizeof(request->bytes) - length);
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0 && length < sizeof(request->bytes));
    const char *at = request->bytes, *end = at + length;
    request->user = take(&at, end);
    request->password = request->user ? take(&at, end) : NULL;
    request->address = request->password ? take(&at, end) : NULL;
    return request->address && at == end;
}

/* One answer; false: it is a question that no browser has been asked. */
static bool reply_to(struct request *request, int style, struct pam_response *ret)
{
    if (style == PAM_TEXT_INFO || style == PAM_ERROR_MSG)
        return true;
    if (style != PAM_PROMPT_ECHO_OFF || request->is_told)
        return false;
    request->is_told = true;
    ret->resp = strdup(request->password);
    return ret->resp != NULL;
}

static int converse(int count, const struct pam_message **messages, struct pam_response **ret,
                    void *user)
{
    struct pam_response *replies =
        count > 0 && count <= PAM_MAX_NUM_MSG ? calloc((size_t)count, sizeof(*replies)) : NULL;

    for (int i = 0; replies && i < count; i++) {
        if (reply_to(user, messages[i]->msg_style, &replies[i]))
            continue;
        for (int k = 0; k < i; k++) {
            if (replies[k].resp)
                explicit_bzero(replies[k].resp, strlen(replies[k].resp));
            free(replies[k].resp);
        }
        free(replies);
        return PAM_CONV_ERR;
    }
    *ret = replies;
    return replies ? PAM_SUCCESS : PAM_BUF_ERR;
}

/* The daemon delays refusals, whatever their reason. */
static void without_delay(int status, unsigned delay_us, void *user)
{
    (void)status;
    (void)delay_us;
    (void)user;
}

static int set_items(pam_handle_t *pam, const struct request *request)
{
    void (*function)(int, unsigned, void *) = without_delay;
    void *delay;

    memcpy(&delay, &function, sizeof(delay));
    int code = pam_set_item(pam, PAM_FAIL_DELAY, delay);
    if (code == PAM_SUCCESS)
        code = pam_set_item(pam, PAM_RHOST, request->address);
    return code == PAM_SUCCESS ? pam_set_item(pam, PAM_TTY, "tarn") : code;
}

static int authenticate(pam_handle_t *pam, const struct request *request)
{
    int code = set_items(pam, request);

    if (code == PAM_SUCCESS)
        code = pam_authenticate(pam, PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK);
    return code == PAM_SUCCESS ? pam_acct_mgmt(pam, PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK) : code;
}

/* A module may have replaced the name. */
static void answer(pam_handle_t *pam, int code)
{
    const void *name = NULL;

    if (code == PAM_SUCCESS)
        code = pam_get_item(pam, PAM_USER, &name);
    const struct passwd *account = code == PAM_SUCCESS && name ? getpwnam(name) : NULL;
    if (account)
        dprintf(LINK, "ok %u %s\n", account->pw_uid, account->pw_name);
    else
        dprintf(LINK, "no %s\n", code == PAM_SUCCESS ? "no such account" : pam_strerror(pam, code));
}

int main(void)
{
    static struct request request;
    const struct pam_conv conversation = { converse, &request };
    pam_handle_t *pam = NULL;

    keep_no_traces();
    if (!receive(&request)) {
        dprintf(LINK, "no request; tarn serve --login pam runs this program\n");
        return 2;
    }
    int code = pam_start("tarn", request.user, &conversation, &pam);
    if (code == PAM_SUCCESS)
        code = authenticate(pam, &request);
    explicit_bzero(request.bytes, sizeof(request.bytes));
    answer(pam, code);
    pam_end(pam, code);
    return 0;
}
