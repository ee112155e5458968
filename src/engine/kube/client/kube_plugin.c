/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/client/kube_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/kube/client/kube_json.h"

#define INFO "KUBERNETES_EXEC_INFO"

enum { ANSWER_MAX = 1 << 20 };

typedef LIST(char *) word_list;

static void release_words(word_list *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    list_release(words);
}

/* "NAME=VALUE" replaces another value of that name. Takes the pair over. */
static void set_variable(word_list *environment, char *pair)
{
    size_t length = strcspn(pair, "=") + 1;
    size_t i = 0;

    while (i < environment->count && strncmp(environment->items[i], pair, length) != 0)
        i++;
    if (i == environment->count) {
        list_add(environment, pair);
        return;
    }
    free(environment->items[i]);
    environment->items[i] = pair;
}

static word_list environment_of(const json_t *exec)
{
    const char *version = kube_text(exec, "apiVersion");
    word_list environment = { 0 };
    json_t *item;
    size_t i;

    for (char **at = environ; *at; at++)
        set_variable(&environment, mem_string(*at));
    json_array_foreach(json_object_get(exec, "env"), i, item)
    {
        if (kube_text(item, "name")[0])
            set_variable(&environment,
                         mem_printf("%s=%s", kube_text(item, "name"), kube_text(item, "value")));
    }
    set_variable(&environment,
                 mem_printf(INFO "={\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"spec\":{"
                                 "\"interactive\":false}}",
                            version[0] ? version : "client.authentication.k8s.io/v1"));
    list_add(&environment, NULL);
    return environment;
}

static word_list words_of(const json_t *exec)
{
    word_list words = { 0 };
    json_t *item;
    size_t i;

    list_add(&words, mem_string(kube_text(exec, "command")));
    json_array_foreach(json_object_get(exec, "args"), i, item)
        list_add(&words, mem_string(json_is_string(item) ? json_string_value(item) : ""));
    list_add(&words, NULL);
    return words;
}

/* ret_output: the end of a pipe that has its standard output. Returns an errno. */
static int start(const json_t *exec, pid_t *ret_pid, int *ret_output)
{
    word_list words = words_of(exec), environment = environment_of(exec);
    posix_spawn_file_actions_t actions;
    int ends[2], code = pipe2(ends, O_CLOEXEC) < 0 ? errno : 0;

    if (code == 0) {
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        code =
            posix_spawnp(ret_pid, words.items[0], &actions, NULL, words.items, environment.items);
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        if (code != 0)
            close(ends[0]);
        *ret_output = ends[0];
    }
    release_words(&words);
    release_words(&environment);
    return code;
}

int kube_plugin_run(const json_t *exec, struct text *ret, struct error *err)
{
    const char *name = kube_text(exec, "command");
    char bytes[4096];
    int output = -1, status = 0;
    ssize_t count;
    pid_t pid;

    int code = start(exec, &pid, &output);
    if (code != 0)
        return error_set(err, -EACCES, "exec: %s: %s", name, strerror(code));
    while (ret->length < ANSWER_MAX) {
        count = read(output, bytes, sizeof(bytes));
        if (count <= 0 && !(count < 0 && errno == EINTR))
            break;
        text_add_bytes(ret, bytes, count > 0 ? (size_t)count : 0);
    }
    close(output);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return error_set(err, -EACCES, "exec: %s: %s", name, strerror(errno));
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status))
        return error_set(err, -EACCES, "exec: %s ended with status %d", name, WEXITSTATUS(status));
    return error_set(err, -EACCES, "exec: %s ended with signal %d", name, WTERMSIG(status));
}
