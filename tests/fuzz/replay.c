/* SPDX-License-Identifier: Apache-2.0 */

/* replay - runs a fuzz target over the files of a corpus, as an ordinary test
 *
 * replay DIRECTORY: the target itself aborts on what must not be.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "fuzz.h"

enum { INPUT_MAX = 8 << 20 };

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file) {
        perror(path);
        return -1;
    }
    uint8_t *bytes = mem_zero(INPUT_MAX, 1);
    size_t size = fread(bytes, 1, INPUT_MAX, file);
    fclose(file);
    /* A block of exactly that size, so that the sanitizer sees a read past its end. */
    bytes = mem_resize(bytes, size ? size : 1, 1);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    int count = 0;

    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    if (!directory) {
        fprintf(stderr, "usage: replay DIRECTORY\n");
        return 2;
    }
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_FREE char *path = mem_printf("%s/%s", argv[1], entry->d_name);
        if (run_file(path) < 0)
            return 1;
        count++;
    }
    closedir(directory);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
