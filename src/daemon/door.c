/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/log.h"
#include "io/net/http.h"
#include "io/net/tls.h"
#include "io/parts.h"

enum { SECRET_MIN = 16, SECRET_MAX = 4096 };

static const char plain[] = "http://", encrypted[] = "https://";

static bool is_loopback(int fd)
{
    struct sockaddr_storage address = { 0 };
    socklen_t length = sizeof(address);
    const struct sockaddr_in *four = (const void *)&address;
    const struct sockaddr_in6 *six = (const void *)&address;

    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return false;
    return address.ss_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
                                         : ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int listen_at(struct door *door, const char *address, struct error *err)
{
    bool is_plain = string_starts(address, plain), names_it = string_starts(address, encrypted);

    door->port.is_tls = !is_plain;
    int code = http_listen_tcp(address + (is_plain   ? strlen(plain)
                                          : names_it ? strlen(encrypted)
                                                     : 0),
                               &door->fd, err);
    if (code == 0 && is_plain && !is_loopback(door->fd))
        code = error_set(err, -EINVAL,
                         "'%s': without TLS only an address of this machine itself, like "
                         "http://127.0.0.1:9080",
                         address);
    return code < 0 ? error_prefix(err, code, "listen") : 0;
}

static int open_tls(const struct door_options *options, const char *state_dir, struct error *err)
{
    AUTO_FREE char *certificate = mem_printf("%s/tls.pem", state_dir);
    AUTO_FREE char *key = mem_printf("%s/tls.key", state_dir);

    if (!options->certificate != !options->key)
        return error_set(err, -EINVAL,
                         "listen: expected both --tls-cert and --tls-key, or neither");
    if (options->certificate)
        return tls_load(options->certificate, options->key, err);
    int code = tls_make(certificate, key, err);
    return code < 0 ? code : tls_load(certificate, key, err);
}

static int split_hosts(struct door *door, const char *names, struct error *err)
{
    size_t count = 0;

    door->names = mem_string(names ? names : "");
    for (char *rest = door->names; rest && rest[0];) {
        if (count == DOOR_HOSTS_MAX)
            return error_set(err, -EINVAL, "--host: more than %d names", DOOR_HOSTS_MAX);
        door->hosts[count++] = strsep(&rest, ",");
    }
    door->port.hosts = (const char *const *)door->hosts;
    return 0;
}

static int read_secret(struct door *door, const char *path, struct error *err)
{
    struct stat info;

    if (!path)
        return error_set(err, -EINVAL, "--proxy: expected --proxy-secret FILE, too");
    int code = file_read(path, SECRET_MAX, &door->secret, err);
    if (code < 0)
        return error_prefix(err, code, "--proxy-secret");
    if (stat(path, &info) < 0 || (info.st_mode & 0077) != 0)
        return error_set(err, -EPERM, "--proxy-secret %s: others can read it; try: chmod 600 %s",
                         path, path);
    while (door->secret.length > 0 && strchr("\r\n", door->secret.bytes[door->secret.length - 1]))
        door->secret.bytes[--door->secret.length] = '\0';
    if (door->secret.length < SECRET_MIN)
        return error_set(err, -EINVAL, "--proxy-secret %s: expected at least %d characters", path,
                         SECRET_MIN);
    return 0;
}

static int trust_proxy(const struct door_options *options, struct door *door, struct error *err)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    if (!options->proxy)
        return 0;
    if (inet_pton(AF_INET, options->proxy, bytes) != 1 &&
        inet_pton(AF_INET6, options->proxy, bytes) != 1)
        return error_set(err, -EINVAL, "--proxy '%.80s': expected an IP address", options->proxy);
    int code = read_secret(door, options->proxy_secret, err);
    if (code < 0)
        return code;
    door->port.proxy_from = options->proxy;
    door->port.proxy_secret = text_string(&door->secret);
    door->port.proxy_header = options->proxy_header ? options->proxy_header : "X-Forwarded-User";
    return 0;
}

/* Without a file of its own, PAM would take the rules for "other". */
static int check_service(struct error *err)
{
    static const char *const places[] = { "/etc/pam.d/tarn", "/usr/lib/pam.d/tarn" };

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (access(places[i], R_OK) == 0)
            return 0;
    }
    return error_set(
        err, -ENOENT,
        "--login pam: there is no %s, which says how PAM checks a password; the Debian "
        "package installs one, and the source has dist/debian/tarn.pam",
        places[0]);
}

/* A password must not get into a core file of this process. */
static int take_passwords(const struct door_options *options, struct door *door, struct error *err)
{
    if (!options->login)
        return 0;
    if (strcmp(options->login, "pam") != 0)
        return error_set(err, -EINVAL, "--login '%.40s': expected pam", options->login);
    int code = part_find("tarn-login", "src/daemon/login", &door->login, err);
    if (code < 0)
        return error_prefix(err, code, "--login pam: this tarn was built without libpam");
    code = check_service(err);
    if (code == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
        code = error_set(err, -errno, "--login pam: %s", strerror(errno));
    if (code == 0 && geteuid() != 0)
        log_line(LOG_WARNING, "without root, only the password of this user can be checked");
    door->port.login = door->login;
    return code;
}

static void announce(const char *address, bool is_tls)
{
    char fingerprint[TLS_FINGERPRINT_SIZE] = "none";

    if (is_tls)
        tls_fingerprint(fingerprint);
    log_line(LOG_INFO, "listening address=%s fingerprint=%s", address, fingerprint);
}

int door_open(const struct door_options *options, const char *state_dir, struct door *ret,
              struct error *err)
{
    *ret = (struct door){ .fd = -1 };
    if (!options->address)
        return options->login ? error_set(err, -EINVAL, "--login: expected --listen, too") : 0;
    int code = listen_at(ret, options->address, err);
    if (code == 0 && ret->port.is_tls)
        code = open_tls(options, state_dir, err);
    if (code == 0)
        code = split_hosts(ret, options->hosts, err);
    if (code == 0)
        code = trust_proxy(options, ret, err);
    if (code == 0)
        code = take_passwords(options, ret, err);
    if (code < 0) {
        door_release(ret);
        return code;
    }
    ret->port.address = options->address;
    announce(options->address, ret->port.is_tls);
    return 0;
}

void door_release(struct door *door)
{
    if (door->fd >= 0)
        close(door->fd);
    door->fd = -1;
    free(door->names);
    if (door->secret.length > 0)
        explicit_bzero(door->secret.bytes, door->secret.length);
    text_release(&door->secret);
    free(door->login);
    door->names = door->login = NULL;
}
