/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/journal_private.h"
#include "store/sql.h"

/* ---- one daemon per state directory ----
 *
 * The lock is on the open file DIR/lock: the kernel releases it when the process ends, for any
 * reason. The file remains and has the pid for information; only the lock counts.
 */

/* Always the same length, so that a full disk has room for it the second time. */
enum { PID_LENGTH = 20 };

/* If a daemon is killed while it starts a job, the forked child holds the lock until it executes
 * the shim. */
enum { DEAD_HOLDER_TRIES = 100, DEAD_HOLDER_WAIT_US = 20000 };

static long holder_of(int fd)
{
    char text[PID_LENGTH + 1] = "";

    ssize_t length = pread(fd, text, PID_LENGTH, 0);
    return length > 0 ? strtol(text, NULL, 10) : 0;
}

static int set_lock(int fd)
{
    const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    for (int tries = 0; fcntl(fd, F_OFD_SETLK, &whole) < 0; tries++) {
        int code = -errno;
        long pid = holder_of(fd);
        bool is_dead = pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
        if ((code != -EAGAIN && code != -EACCES) || !is_dead || tries == DEAD_HOLDER_TRIES)
            return code;
        usleep(DEAD_HOLDER_WAIT_US);
    }
    return 0;
}

int journal_lock(const char *dir, int *ret_fd, struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/lock", dir);
    char text[PID_LENGTH + 1];

    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, -errno, "state %s: cannot be used: %s", dir, strerror(errno));
    int code = set_lock(fd);
    if (code < 0) {
        long pid = holder_of(fd);
        if (code != -EAGAIN && code != -EACCES)
            error_set(err, code, "state %s: cannot be locked: %s", dir, strerror(-code));
        else if (pid <= 0)
            code = error_set(err, -EBUSY, "state %s: another tarn daemon uses it", dir);
        else
            code =
                error_set(err, -EBUSY, "state %s: the tarn daemon with pid %ld uses it", dir, pid);
        close(fd);
        return code;
    }

    snprintf(text, sizeof(text), "%-*ld\n", PID_LENGTH - 1, (long)getpid());
    ssize_t written = pwrite(fd, text, PID_LENGTH, 0);
    (void)written; /* only words are lost */
    *ret_fd = fd;
    return 0;
}

/* ---- the database ---- */

static const char tables[] =
    "CREATE TABLE record(sequence INTEGER PRIMARY KEY, hash INTEGER NOT NULL, bytes BLOB NOT NULL)"
    " STRICT;"
    "CREATE TABLE blob(id INTEGER PRIMARY KEY, hash BLOB NOT NULL, codec INTEGER NOT NULL,"
    " size INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;"
    "CREATE INDEX blob_hash ON blob(hash);"
    "CREATE TABLE snapshot(sequence INTEGER PRIMARY KEY, size INTEGER NOT NULL,"
    " hash BLOB NOT NULL) STRICT;"
    "CREATE TABLE snapshot_part(id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,"
    " part INTEGER NOT NULL, codec INTEGER NOT NULL, size INTEGER NOT NULL, bytes BLOB NOT NULL,"
    " UNIQUE(sequence, part)) STRICT;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;";

/* The daemon has 30 MB for everything. */
static const char memory_settings[] =
    "PRAGMA cache_size = -2048; PRAGMA mmap_size = 0; PRAGMA trusted_schema = OFF";

/* The file has commands and environments, so only its owner may read it. SQLite gives its other
 * files the mode of this one. */
static int make_file(const char *dir, const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_set(err, -errno, "journal %s: %s", path, strerror(errno));
    close(fd);

    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 || fsync(dir_fd) < 0) {
        int code = error_set(err, -errno, "state %s: %s", dir, strerror(errno));
        if (dir_fd >= 0)
            close(dir_fd);
        return code;
    }
    close(dir_fd);
    return 0;
}

static int open_database(struct journal *journal, const char *vfs, const char *settings,
                         struct error *err)
{
    int flags = journal->is_writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;

    if (sqlite3_open_v2(journal->path, &journal->db,
                        flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs) != SQLITE_OK)
        return sql_error(journal->db, journal->path, err);
    sqlite3_busy_timeout(journal->db, 2000);
    return sql_exec(journal->db, journal->path, settings, err);
}

static int keep_wal_pages(void *user, sqlite3 *db, const char *name, int pages)
{
    struct journal *journal = user;

    (void)db, (void)name;
    journal->wal_pages = pages;
    return SQLITE_OK;
}

/* A write-ahead log lets readers in while we write, and costs one sync a commit. */
static int prepare_writer(struct journal *journal, struct error *err)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(journal->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL) !=
        SQLITE_OK)
        return sql_error(journal->db, journal->path, err);
    int step = sqlite3_step(statement);
    bool is_wal =
        step == SQLITE_ROW && string_equal((const char *)sqlite3_column_text(statement, 0), "wal");
    int code = step == SQLITE_ROW ? 0 : sql_error(journal->db, journal->path, err);
    sqlite3_finalize(statement);
    if (code < 0)
        return code;
    if (!is_wal)
        return error_set(err, -EOPNOTSUPP,
                         "journal %s: this file system cannot hold a write-ahead log; expected a "
                         "local one",
                         journal->path);
    sqlite3_wal_hook(journal->db, keep_wal_pages, journal); /* instead of automatic checkpoints */
    return sql_exec(journal->db, journal->path,
                    "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216", err);
}

/* On a read-only file system SQLite cannot create the file that shares the log between processes.
 * No process can write there either: go without locks and keep the index of the log in memory. */
static int open_alone(struct journal *journal, struct error *err)
{
    sqlite3_close(TAKE(journal->db));
    int code = open_database(journal, "unix-none", "PRAGMA locking_mode = EXCLUSIVE", err);
    if (code < 0)
        return code;
    sqlite3_db_config(journal->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return sql_exec(journal->db, journal->path, memory_settings, err);
}

static int open_readable(struct journal *journal, struct error *err)
{
    if (access(journal->path, R_OK) < 0)
        return error_set(err, -errno, "journal %s: %s", journal->path,
                         errno == ENOENT ? "there is none" : strerror(errno));

    int64_t tables_count;
    int code = open_database(journal, NULL, memory_settings, err);
    if (code == 0)
        code = sql_number(journal->db, journal->path, "SELECT count(*) FROM sqlite_master",
                          &tables_count, err);
    int why = sqlite3_errcode(journal->db) & 0xff;
    if (code < 0 && (why == SQLITE_CANTOPEN || why == SQLITE_READONLY))
        code = open_alone(journal, err);
    return code;
}

static int create_tables(struct journal *journal, struct error *err)
{
    AUTO_FREE char *header =
        mem_printf("PRAGMA application_id = %d; PRAGMA user_version = %d;"
                   "INSERT INTO meta VALUES('needs', '%d'), ('tarn', '%s')",
                   JOURNAL_APPLICATION_ID, JOURNAL_FORMAT, JOURNAL_FORMAT, TARN_VERSION);

    int code = journal_begin(journal, err);
    if (code < 0)
        return code;
    code = sql_exec(journal->db, journal->path, tables, err);
    if (code == 0)
        code = sql_exec(journal->db, journal->path, header, err);
    return journal_end(journal, code, err);
}

/* A newer format is accepted if its writer recorded that our format can read it. */
static int check_format(struct journal *journal, int64_t format, struct error *err)
{
    AUTO_RELEASE(text) struct text needs = { 0 };
    AUTO_RELEASE(text) struct text tarn = { 0 };

    if (format <= JOURNAL_FORMAT)
        return 0;
    journal_meta_get(journal, "needs", &needs, NULL);
    journal_meta_get(journal, "tarn", &tarn, NULL);
    long needed = strtol(text_string(&needs), NULL, 10);
    if (needed >= 1 && needed <= JOURNAL_FORMAT)
        return 0;
    return error_set(err, -EPROTONOSUPPORT,
                     "journal %s: format %" PRId64
                     ", written by tarn %.40s; this tarn knows up to %d",
                     journal->path, format, tarn.length ? text_string(&tarn) : "of a later version",
                     JOURNAL_FORMAT);
}

/* Check that the file is a journal in a readable format. An empty file is a journal whose creation
 * was interrupted. */
static int check_file(struct journal *journal, bool *ret_is_empty, struct error *err)
{
    int64_t tables_count, application, format;

    int code = sql_number(journal->db, journal->path, "SELECT count(*) FROM sqlite_master",
                          &tables_count, err);
    if (code == 0)
        code = sql_number(journal->db, journal->path, "PRAGMA application_id", &application, err);
    if (code == 0)
        code = sql_number(journal->db, journal->path, "PRAGMA user_version", &format, err);
    if (code < 0)
        return code;

    *ret_is_empty = tables_count == 0 && application == 0;
    if (*ret_is_empty)
        return 0;
    if (application != JOURNAL_APPLICATION_ID)
        return error_set(err, -EBADMSG,
                         "journal %s: not a tarn journal: a database of another kind",
                         journal->path);
    return check_format(journal, format, err);
}

static int note(struct journal *journal, const char *key, const char *value, struct error *err)
{
    AUTO_RELEASE(text) struct text noted = { 0 };

    int code = journal_meta_get(journal, key, &noted, err);
    if (code == 0 && !string_equal(text_string(&noted), value))
        journal_meta_set(journal, key, value);
    return code;
}

/* The version, and that there is a mark: without it, a mark that was removed would look like that
 * of a journal which never had one. The database itself says so, since the log may be damaged. */
static int note_facts(struct journal *journal, struct error *err)
{
    int code = note(journal, "tarn", TARN_VERSION, err);

    if (code == 0)
        code = note(journal, "mark", "1", err);
    if (code < 0 || journal_batch_is_empty(journal))
        return code;
    code = journal_commit(journal, err);
    if (code == 0)
        journal_checkpoint(journal, 1);
    return code;
}

static int load_ends(struct journal *journal, struct error *err)
{
    int64_t last, last_blob;

    int code =
        sql_number(journal->db, journal->path, "SELECT max(sequence) FROM record", &last, err);
    if (code == 0)
        code = sql_number(journal->db, journal->path, "SELECT max(id) FROM blob", &last_blob, err);
    if (code < 0)
        return code;
    journal->last = (uint64_t)last;
    journal->last_blob = (uint64_t)last_blob;
    return 0;
}

static const char ways_out[] =
    "tarn restore restores a backup, tarn check --accept-loss continues without";

/* Records that were confirmed may be missing. The log keeps what it has: it may be repaired, and a
 * close must not remove it. */
static int keep_log(struct journal *journal)
{
    if (journal->db)
        sqlite3_db_config(journal->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return -EBADMSG;
}

static int refuse_loss(struct journal *journal, uint64_t mark, struct error *err)
{
    return error_set(err, keep_log(journal),
                     "journal %s: damaged: records %" PRIu64 " to %" PRIu64
                     " are missing, although they were durable: journal.db-wal or journal.db was "
                     "changed or removed; %s them",
                     journal->path, journal->last + 1, mark, ways_out);
}

/* Without the mark, records that are missing would not be noticed. */
static int refuse_mark(struct journal *journal, const char *why, struct error *err)
{
    return error_set(err, keep_log(journal),
                     "journal %s: damaged: whether durable records are missing cannot be told: %s; "
                     "put journal.last back, or: %s it",
                     journal->path, why, ways_out);
}

static int has_mark(struct journal *journal, bool *ret, struct error *err)
{
    AUTO_RELEASE(text) struct text noted = { 0 };

    int code = journal_meta_get(journal, "mark", &noted, err);
    *ret = noted.length > 0;
    return code;
}

static int check_loss(struct journal *journal, const char *dir, bool is_empty, bool accepts,
                      struct error *err)
{
    struct error why = { "" };
    bool is_expected = false;
    uint64_t mark = 0;

    /* In this order, because another process may write: the mark is there before it is noted, and
     * is behind the records. */
    int code = is_empty ? 0 : has_mark(journal, &is_expected, err);
    int found = mark_read(dir, &mark, &why);
    if (code == 0 && !is_empty)
        code = load_ends(journal, err);
    if (code < 0 || accepts)
        return code;
    if (found < 0)
        return refuse_mark(journal, why.text, err);
    if (found == 0 && is_expected)
        return refuse_mark(journal, "journal.last is missing", err);
    return journal->last < mark ? refuse_loss(journal, mark, err) : 0;
}

static int open_writer(struct journal *journal, const char *dir, bool accepts, struct error *err)
{
    bool is_empty;

    int code = journal_lock(dir, &journal->lock_fd, err);
    if (code == 0)
        code = make_file(dir, journal->path, err);
    if (code == 0)
        code = open_database(journal, NULL, memory_settings, err);
    /* Check first that the file is a journal: leave any other file unchanged. */
    if (code == 0)
        code = check_file(journal, &is_empty, err);
    if (code == 0)
        code = check_loss(journal, dir, is_empty, accepts, err);
    if (code == 0)
        code = prepare_writer(journal, err);
    if (code == 0 && is_empty)
        code = create_tables(journal, err);
    if (code == 0)
        code = mark_open(dir, journal->last, &journal->mark, err);
    return code == 0 ? note_facts(journal, err) : code;
}

static int open_reader(struct journal *journal, const char *dir, struct error *err)
{
    bool is_empty = false;

    int code = open_readable(journal, err);
    if (code == 0)
        code = check_file(journal, &is_empty, err);
    if (code < 0 && code != -ENOENT)
        return code;
    bool is_none = code < 0 || is_empty;
    code = check_loss(journal, dir, is_none, false, err);
    if (code == 0 && is_none)
        code = error_set(err, -ENOENT, "journal %s: there is none", journal->path);
    return code;
}

int journal_open(const char *dir, enum journal_mode mode, struct journal **ret, struct error *err)
{
    AUTO(journal) struct journal *journal = mem_zero(1, sizeof(*journal));

    journal->lock_fd = journal->mark.fd = -1;
    journal->is_writer = mode != JOURNAL_READ;
    journal->path = mem_printf("%s/journal.db", dir);
    int code = journal->is_writer ? open_writer(journal, dir, mode == JOURNAL_WRITE_WITH_LOSS, err)
                                  : open_reader(journal, dir, err);
    if (code < 0)
        return code;
    *ret = TAKE(journal);
    return 0;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(journal->statements[i]);
    sqlite3_close(journal->db);
    if (journal->lock_fd >= 0)
        close(journal->lock_fd);
    mark_close(&journal->mark);

    journal_discard(journal);
    text_release(&journal->batch.bytes);
    list_release(&journal->batch.records);
    list_release(&journal->batch.blobs);
    list_release(&journal->batch.metas);
    packer_release(&journal->packer);
    free(journal->path);
    free(journal);
}
