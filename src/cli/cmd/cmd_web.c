/* SPDX-License-Identifier: Apache-2.0 */
/* web: the web page, with a login that works once */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "io/file.h"

enum { PRINT };

const struct option_entry options_web[] = {
    [PRINT] = { "print", 0, NULL, "only print the address" },
    { 0 },
};

/* "9443", "*:9443" and "box:9443" as an address for a browser on this machine. */
static char *url_of(const json_t *listen)
{
    const char *address = field_text(listen, "address");
    const char *from = strstr(address, "://");
    const char *place = from ? from + 3 : address, *port = strrchr(place, ':');
    bool is_any = !port || string_starts(place, "*:");

    return mem_printf("%s://%s%s", field_is_true(listen, "tls") ? "https" : "http",
                      is_any ? "localhost:" : "", is_any && port ? port + 1 : place);
}

static bool has_display(void)
{
    return isatty(STDOUT_FILENO) && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
}

/* The address in an argument could be read by other users; so it is in a file that leads there. */
static void open_browser(const char *url)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct error err;
    pid_t pid;

    if (!runtime || runtime[0] != '/') {
        say("open the address in a browser");
        return;
    }
    AUTO_FREE char *path = mem_printf("%s/tarn-login.html", runtime);
    AUTO_FREE char *page = mem_printf(
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>tarn</title>\n",
        url);
    char *argv[] = { (char *)"xdg-open", path, NULL };
    if (file_replace(path, page, strlen(page), &err) < 0)
        say("%s", err.text);
    else if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
        say("no browser was found; open the address in one");
}

int run_web(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *daemon = NULL, *token = NULL;
    struct error err;

    int code = session_open(&session, &err);
    if (code == 0)
        code = session_get(&session, "/v1/daemon", &daemon, &err);
    const json_t *listen = json_object_get(daemon, "listen");
    if (code == 0 && !json_is_object(listen))
        code = error_set(&err, -ENOENT,
                         "the daemon serves no page; start it with: tarn serve --listen 9443");
    if (code == 0)
        code = session_send(&session, "POST", "/v1/tokens?login=1", NULL, &token, &err);
    if (code < 0)
        return complain(&err);
    AUTO_FREE char *base = url_of(listen);
    AUTO_FREE char *url = mem_printf("%s/#%s", base, field_text(token, "token"));
    if (field_is_true(listen, "tls"))
        say("the fingerprint of the certificate is %s", field_text(listen, "fingerprint"));
    printf("%s\n", url);
    if (!options->values[PRINT] && has_display())
        open_browser(url);
    else
        say("it logs in once, within a minute");
    return 0;
}
