/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_RELAY_MESSAGE_H
#define ENGINE_SLURM_RELAY_MESSAGE_H

/* relay_message - what the daemon and the relay on a node say to each other
 *
 * A message is a varint with the length of a record, the record, and a newline: Slurm passes on the
 * output of a step line by line. After each connection the relay reports all members that it has,
 * and then READY; from then on each side speaks when it has something to say.
 *
 * Limits: RELAY_BYTES_MAX bytes a message
 */

#include "base/arena.h"
#include "base/text.h"
#include "core/engine.h"

enum { RELAY_VERSION = 1, RELAY_BYTES_MAX = 16 * 1024 * 1024 };

enum relay_kind {
    RELAY_HELLO = 1, /* version */
    RELAY_KNOWN,     /* of the relay: it has this member */
    RELAY_READY,     /* of the relay: these were all */
    RELAY_OUTCOME,   /* of the relay */
    RELAY_START,
    RELAY_STOP,   /* grace */
    RELAY_SIGNAL, /* signal */
    RELAY_FORGET,
};

struct relay_word {
    const char *text;
};
struct relay_number {
    uint32_t number;
};

struct relay_message {
    uint8_t kind;
    uint32_t version;
    struct member_id id;
    /* START: as in struct engine_launch; "" means NULL */
    const char *title, *cwd, *output, *error, *input, *cpus;
    struct relay_word *argv, *envp;
    uint32_t argv_count, envp_count;
    struct relay_number *groups, *devices; /* devices: their indices on the node */
    uint32_t groups_count, devices_count;
    bool append, has_groups;
    int64_t output_bytes_max, cpu_milli, memory_mib, memory_node;
    uint32_t umask, uid, gid;
    int64_t grace;     /* also of STOP */
    int32_t signal;    /* of SIGNAL; START: its stop signal */
    uint8_t outcome;   /* OUTCOME: enum engine_outcome_kind, and the members of that struct */
    int32_t exit_code; /* signal is shared */
    bool was_stopped, was_oom, was_killed;
    int64_t user_us, system_us, memory_kib_max;
    uint8_t processes_isolation, cpu_isolation, memory_isolation, gpu_isolation;
    const char *reason;
};

/* Append one, as it travels. */
void relay_put(struct text *out, const struct relay_message *message);
void relay_put_launch(struct text *out, const struct engine_launch *launch);
void relay_put_outcome(struct text *out, const struct engine_outcome *outcome);

/* Take the first message out of the bytes that arrived. 1: there was one, which lives in the arena;
 * 0: it is not complete. Fails with -EBADMSG. */
int relay_take(struct text *bytes, struct arena *arena, struct relay_message *ret,
               struct error *err);

struct engine_outcome relay_outcome(const struct relay_message *message);

/* The launch of a START; its strings live in the message, its lists in the arena. */
struct engine_launch relay_launch(const struct relay_message *message, struct arena *arena);

#endif
