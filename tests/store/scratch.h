/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STORE_SCRATCH_H
#define TESTS_STORE_SCRATCH_H

/* scratch - a directory for one test, and what the tests of the store do with it */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "store/journal.h"

/* A new directory below TMPDIR; free its name. */
static inline char *scratch_create(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = mem_printf("%s/tarn-store-XXXXXX", base ? base : "/tmp");

    assert_non_null(mkdtemp(dir));
    return dir;
}

/* The directory, its files, and the name. */
static inline void scratch_destroy(char *dir)
{
    DIR *files = opendir(dir);

    for (struct dirent *file = files ? readdir(files) : NULL; file; file = readdir(files)) {
        AUTO_FREE char *path = mem_printf("%s/%s", dir, file->d_name);
        unlink(path);
    }
    if (files)
        closedir(files);
    rmdir(dir);
    free(dir);
}

static inline struct journal *journal_of(const char *dir, enum journal_mode mode)
{
    struct journal *journal = NULL;
    struct error err = { "" };

    if (journal_open(dir, mode, &journal, &err) < 0)
        fail_msg("%s", err.text);
    return journal;
}

static inline void commit(struct journal *journal)
{
    struct error err = { "" };

    if (journal_commit(journal, &err) < 0)
        fail_msg("%s", err.text);
}

/* Statements on the file, as another program would. */
static inline void meddle(const char *dir, const char *statements)
{
    AUTO_FREE char *path = mem_printf("%s/journal.db", dir);
    char *message = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, statements, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", statements, message);
    sqlite3_close(db);
}

/* "name: text" of what was expected, with DIR standing for the directory. */
static inline void assert_words(const struct error *err, const char *dir, const char *expected)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    for (const char *s = err->text; *s; s++) {
        if (string_starts(s, dir)) {
            text_add(&words, "DIR");
            s += strlen(dir) - 1;
        } else {
            text_add_char(&words, *s);
        }
    }
    assert_string_equal(text_string(&words), expected);
}

#endif
