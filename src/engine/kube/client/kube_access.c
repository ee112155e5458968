/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/client/kube_access.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_plugin.h"
#include "io/file.h"
#include "wire/json.h"
#include "wire/yaml.h"

#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

enum {
    CONFIG_MAX = 4 << 20,
    TOKEN_MAX = 64 << 10,
    ANSWER_MAX = 1 << 20,
    TOKEN_FOR_S = 60,  /* a token file is read again then: it is renewed long before its end */
    EXEC_EARLY_S = 30, /* before the end that an exec plugin states */
    EXEC_FOR_S = 600,  /* if it states none */
};

struct kube_access {
    char *source; /* of messages: the kubeconfig */
    char *server, *namespace;
    char *ca, *certificate, *key; /* paths of PEM files; NULL: none */
    bool is_insecure;
    char *token, *token_file, *user, *password;
    json_t *exec; /* the plugin: command, args, env, apiVersion; NULL: none */
    char *header; /* as last made */
    char *reason; /* why there is no access; NULL: there is */
    time_t good_until;
};

void kube_access_destroy(struct kube_access *access)
{
    if (!access)
        return;
    char *const owned[] = { access->source,   access->server,      access->namespace,
                            access->ca,       access->certificate, access->key,
                            access->token,    access->token_file,  access->user,
                            access->password, access->header,      access->reason };

    for (size_t i = 0; i < COUNT_OF(owned); i++)
        free(owned[i]);
    json_decref(access->exec);
    free(access);
}

const char *kube_access_server(const struct kube_access *access)
{
    return access->server;
}

const char *kube_access_namespace(const struct kube_access *access)
{
    return access->namespace;
}

/* ---- kubeconfig ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && text[0] ? text : NULL;
}

/* libcurl reads PEM from files only: the decoded text becomes one that is nowhere on a disk. */
static int decode(const char *source, const char *key, const char *base64, char **ret_path,
                  struct error *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    AUTO_RELEASE(text) struct text text = { 0 };
    unsigned bits = 0, count = 0;

    for (const char *at = base64; *at && *at != '='; at++) {
        const char *digit = strchr(digits, *at);
        if (strchr(" \n\r\t", *at))
            continue;
        if (!digit)
            return error_set(err, -EINVAL, "%s: %s: expected base64", source, key);
        bits = bits << 6 | (unsigned)(digit - digits);
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        text_add_char(&text, (char)(bits >> count & 0xff));
    }
    int fd = memfd_create(key, MFD_CLOEXEC);
    if (fd < 0 || write(fd, text_string(&text), text.length) != (ssize_t)text.length)
        return error_set(err, -errno, "%s: %s: %s", source, key, strerror(errno));
    *ret_path = mem_printf("/proc/self/fd/%d", fd); /* open as long as this program runs */
    return 0;
}

/* KEY-data as PEM, or KEY as the path of a file, relative to the kubeconfig. */
static int read_pem(const struct kube_access *access, const json_t *object, const char *key,
                    char **ret_path, struct error *err)
{
    AUTO_FREE char *data_key = mem_printf("%s-data", key);
    const char *data = text_of(object, data_key), *file = text_of(object, key);
    const char *slash = strrchr(access->source, '/');

    if (data)
        return decode(access->source, data_key, data, ret_path, err);
    if (!file)
        return 0;
    *ret_path = file[0] == '/' || !slash
                    ? mem_string(file)
                    : mem_printf("%.*s/%s", (int)(slash - access->source), access->source, file);
    if (eaccess(*ret_path, R_OK) < 0)
        return error_set(err, -errno, "%s: %s: %s: %s", access->source, key, *ret_path,
                         strerror(errno));
    return 0;
}

static json_t *find_named(const json_t *config, const char *list, const char *name,
                          const char *inner)
{
    size_t i;
    json_t *item;

    json_array_foreach(json_object_get(config, list), i, item)
    {
        if (string_equal(text_of(item, "name"), name))
            return json_object_get(item, inner);
    }
    return NULL;
}

static int read_cluster(struct kube_access *access, const json_t *cluster, struct error *err)
{
    const char *server = text_of(cluster, "server");

    if (!server || (!string_starts(server, "https://") && !string_starts(server, "http://")))
        return error_set(err, -EINVAL, "%s: server: expected https://HOST:PORT", access->source);
    access->server = mem_string(server);
    for (size_t length = strlen(access->server); access->server[length - 1] == '/'; length--)
        access->server[length - 1] = '\0';
    access->is_insecure = json_is_true(json_object_get(cluster, "insecure-skip-tls-verify"));
    if (text_of(cluster, "tls-server-name"))
        return error_set(err, -ENOTSUP, "%s: tls-server-name is not supported", access->source);
    return read_pem(access, cluster, "certificate-authority", &access->ca, err);
}

static int read_user(struct kube_access *access, const json_t *user, struct error *err)
{
    access->token = mem_string(text_of(user, "token"));
    access->token_file = mem_string(text_of(user, "tokenFile"));
    access->user = mem_string(text_of(user, "username"));
    access->password = mem_string(text_of(user, "password"));
    access->exec = json_incref(json_object_get(user, "exec"));
    if (json_object_get(user, "auth-provider"))
        return error_set(err, -ENOTSUP,
                         "%s: auth-provider: it was removed from Kubernetes; expected exec or a "
                         "token",
                         access->source);
    if (access->exec && !text_of(access->exec, "command"))
        return error_set(err, -EINVAL, "%s: exec: expected a command", access->source);
    int code = read_pem(access, user, "client-certificate", &access->certificate, err);
    return code < 0 ? code : read_pem(access, user, "client-key", &access->key, err);
}

static int read_kubeconfig(struct kube_access *access, const char *path, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(json) json_t *config = NULL;
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;

    access->source = mem_string(path);
    int code = file_read(path, CONFIG_MAX, &bytes, err);
    if (code == 0)
        code = yaml_parse(text_string(&bytes), bytes.length, path, &config, &lines, err);
    if (code < 0)
        return error_prefix(err, code, "kubeconfig");
    const char *name = text_of(config, "current-context");
    const json_t *context = name ? find_named(config, "contexts", name, "context") : NULL;
    if (!context)
        return error_set(err, -EINVAL, "%s: current-context: %s%s", path,
                         name ? "no context is named " : "it is missing", name ? name : "");
    const json_t *cluster = find_named(config, "clusters", text_of(context, "cluster"), "cluster");
    const json_t *user = find_named(config, "users", text_of(context, "user"), "user");
    if (!cluster)
        return error_set(err, -EINVAL, "%s: context %s: its cluster is not in the file", path,
                         name);
    const char *namespace = text_of(context, "namespace");
    access->namespace = mem_string(namespace ? namespace : "default");
    code = read_cluster(access, cluster, err);
    return code < 0 || !user ? code : read_user(access, user, err);
}

/* ---- in a pod ---- */

static int read_pod(struct kube_access *access, struct error *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    AUTO_RELEASE(text) struct text namespace = { 0 };
    bool is_ipv6 = host && strchr(host, ':');

    access->source = mem_string(POD_FOLDER);
    access->server = mem_printf("https://%s%s%s:%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "",
                                port ? port : "443");
    access->ca = mem_string(POD_FOLDER "/ca.crt");
    access->token_file = mem_string(POD_FOLDER "/token");
    int code = file_read(POD_FOLDER "/namespace", 256, &namespace, err);
    access->namespace = mem_string(code < 0 ? "default" : text_string(&namespace));
    access->namespace[strcspn(access->namespace, "\n")] = '\0';
    return 0;
}

static char *first_of(const char *paths)
{
    for (const char *at = paths; *at; at += *at == ':') {
        AUTO_FREE char *path = mem_string_of(at, strcspn(at, ":"));
        if (path[0] && eaccess(path, F_OK) == 0)
            return mem_string(path);
        at += strcspn(at, ":");
    }
    return NULL;
}

int kube_access_open(const char *path, struct kube_access **ret, struct error *err)
{
    const char *paths = getenv("KUBECONFIG"), *home = getenv("HOME");
    AUTO_FREE char *own = home ? mem_printf("%s/.kube/config", home) : NULL, *found = NULL;
    AUTO(kube_access) struct kube_access *made = mem_zero(1, sizeof(*made));
    int code;

    if (path[0])
        found = mem_string(path);
    else if (paths && paths[0] && !(found = first_of(paths)))
        return error_set(err, -ENOENT, "KUBECONFIG=%s: no such file", paths);
    if (!found && getenv("KUBERNETES_SERVICE_HOST") && eaccess(POD_FOLDER "/token", R_OK) == 0) {
        code = read_pod(made, err);
    } else {
        if (!found && own && eaccess(own, R_OK) == 0)
            found = mem_string(own);
        if (!found)
            return error_set(err, -ENOENT,
                             "no cluster: expected kube.kubeconfig in the configuration, "
                             "KUBECONFIG, ~/.kube/config, or a pod with a service account");
        code = read_kubeconfig(made, found, err);
    }
    if (code == 0)
        *ret = TAKE(made);
    return code;
}

struct kube_access *kube_access_refuse(const struct error *why)
{
    struct kube_access *made = mem_zero(1, sizeof(*made));

    made->server = mem_string("");
    made->namespace = mem_string("default");
    made->reason = mem_string(why->text);
    return made;
}

/* ---- credentials ---- */

void kube_access_apply(const struct kube_access *access, void *easy)
{
    if (access->is_insecure) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (access->ca)
        curl_easy_setopt(easy, CURLOPT_CAINFO, access->ca);
    if (access->certificate)
        curl_easy_setopt(easy, CURLOPT_SSLCERT, access->certificate);
    if (access->key)
        curl_easy_setopt(easy, CURLOPT_SSLKEY, access->key);
    if (access->user) {
        curl_easy_setopt(easy, CURLOPT_USERNAME, access->user);
        curl_easy_setopt(easy, CURLOPT_PASSWORD, access->password ? access->password : "");
    }
}

/* "2030-01-31T08:00:00Z" */
static time_t read_time(const char *text)
{
    struct tm tm = { 0 };

    return text && strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

static int run_plugin(struct kube_access *access, struct error *err)
{
    AUTO_RELEASE(text) struct text answer = { 0 };
    AUTO(json) json_t *credential = NULL;

    int code = kube_plugin_run(access->exec, &answer, err);
    if (code < 0)
        return error_prefix(err, code, "%s", access->source);
    code = json_parse(text_string(&answer), answer.length, ANSWER_MAX,
                      text_of(access->exec, "command"), &credential, err);
    if (code < 0)
        return code;
    const json_t *given = json_object_get(credential, "status");
    const char *token = text_of(given, "token");
    if (!token)
        return error_set(err, -EACCES, "%s: exec: %s gave no token; certificates are not supported",
                         access->source, text_of(access->exec, "command"));
    time_t end = read_time(text_of(given, "expirationTimestamp"));
    access->good_until = end > 0 ? end - EXEC_EARLY_S : time(NULL) + EXEC_FOR_S;
    free(access->header);
    access->header = mem_printf("Authorization: Bearer %.*s", (int)strcspn(token, "\r\n "), token);
    return 0;
}

static int read_token_file(struct kube_access *access, struct error *err)
{
    AUTO_RELEASE(text) struct text token = { 0 };

    int code = file_read(access->token_file, TOKEN_MAX, &token, err);
    if (code < 0)
        return error_prefix(err, -EACCES, "token");
    free(access->header);
    access->header = mem_printf("Authorization: Bearer %.*s",
                                (int)strcspn(text_string(&token), "\r\n "), text_string(&token));
    access->good_until = time(NULL) + TOKEN_FOR_S;
    return 0;
}

int kube_access_header(struct kube_access *access, const char **ret, struct error *err)
{
    int code = 0;

    if (access->reason)
        return error_set(err, -ENOENT, "%s; correct it and start tarn again", access->reason);
    if (access->header && time(NULL) < access->good_until) {
        *ret = access->header;
        return 0;
    }
    if (access->exec) {
        code = run_plugin(access, err);
    } else if (access->token_file) {
        code = read_token_file(access, err);
    } else if (access->token && !access->header) {
        access->header = mem_printf("Authorization: Bearer %.*s",
                                    (int)strcspn(access->token, "\r\n "), access->token);
    }
    if (code == 0)
        *ret = access->header;
    return code;
}

void kube_access_renew(struct kube_access *access)
{
    access->good_until = 0;
}
