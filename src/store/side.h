/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_SIDE_H
#define STORE_SIDE_H

/* side - opens the databases beside the journal; a daemon can work without their content
 *
 * A file that is damaged, is no database, or has a newer format is never changed or deleted: it is
 * renamed to NAME.db.damaged-SECONDS or NAME.db.newer-SECONDS, the log says so, and an empty
 * database takes its place. Of a damaged write-ahead log, a copy is kept under such a name, and
 * the changes before the damage count; after a restart of the machine, which may cut off a log, the
 * message alone has to do. tarn doctor and an alert name these files until an
 * administrator removes them.
 *
 * The format is in user_version; 0: of a version that had no number.
 */

#include <sqlite3.h>

#include "base/error.h"

enum side {
#define SIDE(ID, name, what) SIDE_##ID,
#include "store/side.def"
    SIDES
};

enum {
    SIDE_FORMAT = 1,
    SIDE_CHECKED_MAX = 8 << 20, /* bytes; tarn check looks at all of a larger one */
};

struct side_about {
    const char *name, *what;
};
extern const struct side_about side_about[SIDES];

struct side_plan {
    const char *path;   /* of the database */
    const char *schema; /* statements that make the tables that are not there */
    const char *probe;  /* a statement that the tables must fit */
};

/* Fails with the codes of sql_error() (store/sql.h), where it is not the fault of the database. */
int side_open(const struct side_plan *plan, sqlite3 **ret, struct error *err);

/* Look at all of it, and change nothing. Fails with -EBADMSG (it or its log is damaged),
 * -EPROTONOSUPPORT (of a newer version) and as side_open(). */
int side_check(const char *path, struct error *err);

/* It was found to be damaged later, and is closed. */
void side_put_aside(const char *path, const struct error *why);

/* Calls fn for each file of a state directory that was put aside; why: "damaged", "newer". */
typedef void side_aside_fn(void *user, const char *name, const char *why);
void side_each_aside(const char *dir, side_aside_fn *fn, void *user);

#endif
