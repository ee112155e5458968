/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

/* world - a machine with GPUs that is played: the whole daemon in it, on clocks, a driver, and an
 * engine of ours
 *
 * The daemon is the real one, with its journal on disk. What differs is below it: clocks that a
 * step moves by a second (world_clock.c), the stub driver, asked in the same thread
 * (world_sampler.c), and an engine whose processes are rows in a table (world_engine.c). All of
 * that is in memory that children share, so a daemon can be killed anywhere, and the next one finds
 * the world as it was. Chance comes from the seed alone: a world that fails does so again.
 */

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "api/api.h"
#include "core/engine.h"
#include "core/job/lease.h"
#include "daemon/hub.h"
#include "node/watcher.h"
#include "sim/trace/dice.h"
#include "tests/device/stub/stub.h"

enum {
    WORLD_GPUS = 4,
    WORLD_MEMBERS = 256,
    WORLD_HOLDS = 8,
    WORLD_JOBS = 256,
    WORLD_WORDS = 400,
    WORLD_NAMES = 4096,
    WORLD_GRACE_LEAST_S = 5, /* of memory, as it is configured */
    WORLD_GRACE_MORE_S = 10,
    WORLD_FOREIGN_PID = 100000, /* and above: not started by us */
};

/* What users have on a file server. */
#define WORLD_HOME "/world-home/"

/* How the process of a daemon ends. */
enum { WORLD_OVER = 0, WORLD_AGAIN = 10, WORLD_BROKEN = 11 };

/* What a member has of one device. */
struct world_hold {
    uint32_t gpu;              /* of the driver */
    char name[NVML_UUID_SIZE]; /* as its programs are told */
    struct slice slice;
    bool is_greedy;    /* takes more than it was given */
    unsigned instance; /* NVML_NO_INSTANCE */
};

enum world_phase { MEMBER_NONE, MEMBER_STARTS, MEMBER_RUNS, MEMBER_IS_OVER };

struct world_member {
    enum world_phase phase;
    struct member_id id;
    uint32_t pid;
    usec_t since, until, stopping; /* stopping: 0 if it is not stopped */
    struct world_hold holds[WORLD_HOLDS];
    uint32_t hold_count;
    bool is_idle, is_greedy, opens_none; /* of its devices */
    bool was_stopped, fails, is_lost, is_returned, told_start, told_end;
};

struct world_foreign {
    uint32_t pid, gpu;
    int64_t mib;
    uint32_t looks; /* so often it could be seen */
};

/* What is true of a device, as the player made it. */
struct world_gpu {
    usec_t lost, well;           /* since when; 0: it is not */
    uint32_t lost_looks;         /* so often that could be seen */
    usec_t lost_known;           /* and since when it must be known; 0: not yet */
    usec_t harmed;               /* when something was done to it the last time that may drain it */
    uint32_t harmed_life, harms; /* harms: since the machine started */
    usec_t known_sick;           /* since when the daemon says so; 0: it does not */
    bool is_unfound;             /* lost when this daemon looked for devices */
    struct world_foreign foreign;
    int64_t leak_mib;
    uint32_t lies;  /* so many steps its mode is another than the daemon says */
    uint32_t waits; /* so many steps for another MIG mode, with no job on it */
    usec_t upset;   /* when its driver may have refused one the last time; 0: never */
};

struct world {
    uint64_t seed;
    struct dice dice;
    uint32_t step, steps, lives; /* daemons so far */
    usec_t since_boot, wall;
    char boot[40];
    struct world_gpu gpus[WORLD_GPUS];
    struct world_member members[WORLD_MEMBERS];
    uint32_t next_pid;
    uint64_t jobs[WORLD_JOBS]; /* acknowledged */
    uint32_t job_count, asked_count;
    bool was_greedy[WORLD_JOBS], was_blamed[WORLD_JOBS], has_failed[WORLD_JOBS];
    bool is_configured, is_rebooted, wants_reboot;
    uint32_t memory_grace_s;
    usec_t lacks_until;      /* the machine lacks processes, descriptors or memory */
    usec_t full_until;       /* its disk is full */
    int64_t room;            /* that is left of it then */
    bool has_reserve;        /* for a start on it */
    bool lacks_inodes;       /* then nothing new can be made, too */
    usec_t file_hangs_until; /* the server with the files of users does not answer */
    pid_t daemon;            /* the process of the daemon that runs */
    bool is_working;         /* in what a thread beside the loop would do */
    uint32_t die_in; /* so many calls of world_moment() until the daemon is killed; 0: not */
    uint32_t started, ended, returned, greedy_stopped, made, faults, restarts,
        reboots; /* figures */
    char broken[WORLD_WORDS];
};

extern struct world *world;

/* The daemon that runs now, as its parts were made; NULL: not yet. */
struct world_house {
    struct hub *hub;
    struct watcher *watcher;
    struct api *api;
    const struct api_ports *ports;
    uv_loop_t *loop;
    struct stub *stub;
    usec_t looked; /* since when it looks at the devices */
    usec_t heard;  /* and gets what the driver reports; 0: not yet */
    struct engine_reports reports;
};

extern struct world_house house;

/* world_house.c: the daemon, in a folder of its own */
int house_run(const char *folder, const char *devices, struct error *err); /* until it ends */
char *house_folder(const char *kind, uint64_t seed);                       /* new, and there */
void house_forget(const char *folder);
bool house_seeds(const char *word, uint64_t *ret_first, uint64_t *ret_last); /* A..B */

/* The engine that replaces the local one, member by member: each program has its own. */
struct world_engine {
    bool has_own_nodes;
    void (*start)(const struct engine_launch *launch);
    void (*stop)(struct member_id id, usec_t grace);
    bool (*recover)(struct member_id id, bool was_started); /* NULL: finds none */
    void (*forget)(struct member_id id);
    bool (*owner)(struct engine *engine, uint32_t pid, struct member_id *ret, uint32_t *ret_uid);
};
extern const struct world_engine world_engine;

/* An invariant does not hold: the words are kept, and the process ends. */
__attribute__((noreturn, format(printf, 1, 2))) void world_break(const char *format, ...);
/* The daemon may be killed here. */
void world_moment(void);
/* In an order that only the seed decides. */
uint32_t world_below(uint32_t count);
bool world_chance(uint32_t percent);
__attribute__((format(printf, 1, 2))) void world_say(const char *format, ...); /* to the driver */
bool world_hangs(void); /* some device does */

/* world_play.c: what happens in a step; world_check.c: what must hold after it */
void world_play(void);
void world_check(void);
void world_check_start(const struct world_member *member, const struct job *job);

void world_note_greedy(uint64_t job);
bool world_has_greedy(uint64_t job);

/* world_disk.c: before a daemon starts */
void world_disk_start(void);

/* world_engine.c */
void world_engine_step(void);
struct world_member *world_member_of(struct member_id id);

/* world_sampler.c: what was put off while a device hung */
void world_work(void);

#endif
