/* SPDX-License-Identifier: Apache-2.0 */

/* bench_journal DIR - how fast the journal is there, a line a figure, with its budget */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "store/journal.h"

enum { RECORDS = 200000, BATCH = 100, SINGLES = 2000 };

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(int code, const struct error *err)
{
    if (code == 0)
        return;
    fprintf(stderr, "bench_journal: %s\n", err->text);
    exit(1);
}

static bool report(const char *name, double value, const char *unit, double budget, bool is_max)
{
    bool ok = is_max ? value <= budget : value >= budget;

    printf("%-32s %12.3f %-10s budget %10.3f %s\n", name, value, unit, budget,
           ok ? "ok" : "MISSED");
    return ok;
}

static int count(void *user, const struct journal_record *record, struct error *err)
{
    (void)err;
    *(size_t *)user += record->length;
    return 0;
}

static double append(struct journal *journal, bool with_blobs)
{
    struct error err = { "" };
    char record[64] = "", blob[200] = "";
    double start = seconds();

    for (int i = 0; i < RECORDS; i++) {
        snprintf(record, sizeof(record), "record %d %d", i, with_blobs);
        journal_append(journal, record, sizeof(record));
        if (with_blobs) {
            snprintf(blob, sizeof(blob), "blob %d", i);
            journal_blob_add(journal, blob, sizeof(blob));
        }
        if (i % BATCH == BATCH - 1)
            must(journal_commit(journal, &err), &err);
    }
    return RECORDS / (seconds() - start);
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static bool commit_singles(struct journal *journal)
{
    static double took[SINGLES];
    struct error err = { "" };

    for (int i = 0; i < SINGLES; i++) {
        double start = seconds();
        journal_append(journal, "one record, as an event has it", 30);
        must(journal_commit(journal, &err), &err);
        took[i] = (seconds() - start) * 1000;
    }
    qsort(took, SINGLES, sizeof(took[0]), compare);
    bool ok = report("journal-commit-p50", took[SINGLES / 2], "ms", 1, true);
    return report("journal-commit-p99", took[SINGLES * 99 / 100], "ms", 5, true) && ok;
}

int main(int argc, char **argv)
{
    AUTO(journal) struct journal *journal = NULL;
    struct error err = { "" };
    size_t bytes = 0;
    bool ok = true;

    if (argc != 2) {
        fprintf(stderr, "usage: bench_journal DIR\n");
        return 2;
    }
    must(journal_open(argv[1], JOURNAL_WRITE, &journal, &err), &err);
    ok &= report("journal-append", append(journal, false), "records/s", 20000, false);

    double start = seconds();
    must(journal_read(journal, 1, count, &bytes, &err), &err);
    ok &= report("journal-read-200000", seconds() - start, "s", 0.3, true);

    ok &= report("journal-append-with-blobs", append(journal, true), "records/s", 20000, false);
    ok &= commit_singles(journal);

    char *snapshot = mem_zero(1, 32 << 20);
    for (size_t i = 0; i < 32 << 20; i++)
        snapshot[i] = (char)(i * i >> 11);
    start = seconds();
    must(journal_snapshot_save(journal, 1, snapshot, 32 << 20, &err), &err);
    ok &= report("journal-snapshot-32MiB", seconds() - start, "s", 0.5, true);
    mem_resize(snapshot, 0, 1);
    return ok ? 0 : 1;
}
