/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tree_set_up(void **state)
{
    char *root = mem_string("/tmp/tarn-tree-XXXXXX");

    *state = root;
    return mkdtemp(root) ? 0 : -1;
}

int tree_tear_down(void **state)
{
    AUTO_FREE char *command = mem_printf("rm -r '%s'", (const char *)*state);
    int code = system(command);

    free(*state);
    return code;
}

/* All folders on the way to the last name. */
static void make_folders(const char *path)
{
    AUTO_FREE char *name = mem_string(path);

    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(name, 0700) < 0)
            assert_int_equal(errno, EEXIST);
        *slash = '/';
    }
}

void tree_put(const char *root, const char *path, const char *content)
{
    AUTO_FREE char *name = mem_printf("%s%s", root, path);

    make_folders(name);
    FILE *file = fopen(name, "w");
    if (!file)
        fail_msg("%s: %s", name, strerror(errno));
    fputs(content, file);
    fclose(file);
}

void tree_remove(const char *root, const char *path)
{
    AUTO_FREE char *command = mem_printf("rm -r '%s%s'", root, path);

    assert_int_equal(system(command), 0);
}

static void link_to(const char *root, const char *path, const char *target, bool is_made)
{
    AUTO_FREE char *name = mem_printf("%s%s", root, path);

    make_folders(name);
    if (symlink(target, name) < 0)
        fail_msg("%s: %s", name, strerror(errno));
    if (!is_made)
        return;
    *strrchr(name, '/') = '\0';
    AUTO_FREE char *folder = mem_printf("%s/%s/", name, target);
    for (char *s = strstr(folder, "/../"); s; s = strstr(folder, "/../")) {
        char *before = s;
        while (before > folder && before[-1] != '/')
            before--;
        memmove(before, s + 4, strlen(s + 4) + 1);
    }
    make_folders(folder);
}

static void unescape(char *s)
{
    char *to = s;

    for (; *s; s++) {
        if (*s == '\\' && s[1]) {
            s++;
            *to++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
        } else
            *to++ = *s;
    }
    *to = '\0';
}

static void take_line(const char *root, char *line, char *folder, size_t size)
{
    char *is = strstr(line, " = "), *to = strstr(line, " -> ");

    if (line[0] == '#' || line[0] == '\0')
        return;
    if (line[0] == '[') {
        snprintf(folder, size, "%.*s", (int)strcspn(line + 1, "]"), line + 1);
        return;
    }
    if (strncmp(line, "=> ", 3) == 0) {
        link_to(root, folder, line + 3, true);
        return;
    }
    if (!is && !to)
        fail_msg("tree: %s", line);
    *(is ? is : to) = '\0';
    AUTO_FREE char *path = mem_printf("%s/%s", folder, line);
    if (is) {
        unescape(is + 3);
        tree_put(root, path, is + 3);
    } else
        link_to(root, path, to + 4, false);
}

void tree_make(const char *root, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s.tree", getenv("TARN_TEST_TREES"), name);
    char line[8192], folder[256] = "";
    FILE *file = fopen(path, "r");

    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        take_line(root, line, folder, sizeof(folder));
    }
    fclose(file);
}
