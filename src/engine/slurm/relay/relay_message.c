/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/relay/relay_message.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/record.h"

static const struct field word_fields[] = { RECORD_TEXT(struct relay_word, 1, text, "") };
static const struct record_type word_record =
    RECORD_TYPE("relay_word", struct relay_word, word_fields);
static const struct field number_fields[] = { RECORD_UINT(struct relay_number, 1, number, "") };
static const struct record_type number_record =
    RECORD_TYPE("relay_number", struct relay_number, number_fields);

#define UINT(tag, member)        RECORD_UINT(struct relay_message, tag, member, "")
#define INT(tag, member)         RECORD_INT(struct relay_message, tag, member, "")
#define TEXT(tag, member)        RECORD_TEXT(struct relay_message, tag, member, "")
#define ITEMS(tag, member, type) RECORD_LIST(struct relay_message, tag, member, "", &type)
static const struct field message_fields[] = {
    UINT(1, kind),
    UINT(2, version),
    UINT(3, id.job),
    UINT(4, id.attempt),
    UINT(5, id.rank),
    TEXT(6, title),
    TEXT(7, cwd),
    TEXT(8, output),
    TEXT(9, error),
    TEXT(10, input),
    TEXT(11, cpus),
    ITEMS(12, argv, word_record),
    ITEMS(13, envp, word_record),
    ITEMS(14, groups, number_record),
    ITEMS(15, devices, number_record),
    UINT(16, append),
    UINT(17, has_groups),
    INT(18, output_bytes_max),
    INT(19, cpu_milli),
    INT(20, memory_mib),
    INT(21, memory_node),
    UINT(22, umask),
    UINT(23, uid),
    UINT(24, gid),
    INT(25, grace),
    INT(26, signal),
    UINT(27, outcome),
    INT(28, exit_code),
    UINT(29, was_stopped),
    UINT(30, was_oom),
    UINT(31, was_killed),
    INT(32, user_us),
    INT(33, system_us),
    INT(34, memory_kib_max),
    UINT(35, processes_isolation),
    UINT(36, cpu_isolation),
    UINT(37, memory_isolation),
    UINT(38, gpu_isolation),
    TEXT(39, reason),
};
static const struct record_type message_record =
    RECORD_TYPE("relay_message", struct relay_message, message_fields);

void relay_put(struct text *out, const struct relay_message *message)
{
    AUTO_RELEASE(text) struct text record = { 0 };

    record_encode(&message_record, message, &record);
    record_put_varint(out, record.length);
    text_add_bytes(out, record.bytes, record.length);
    text_add_char(out, '\n');
}

int relay_take(struct text *bytes, struct arena *arena, struct relay_message *ret,
               struct error *err)
{
    uint64_t length = 0;
    size_t used = record_get_varint(bytes->bytes, bytes->length, &length);

    if (used == 0 && bytes->length < 10)
        return 0;
    if (used == 0 || length > RELAY_BYTES_MAX)
        return error_set(err, -EBADMSG, "relay: not a message");
    if (bytes->length < used + length + 1)
        return 0;
    if (bytes->bytes[used + length] != '\n')
        return error_set(err, -EBADMSG, "relay: not a message");
    int code = record_decode(&message_record, bytes->bytes + used, length, arena, ret, err);
    size_t left = bytes->length - used - length - 1;
    memmove(bytes->bytes, bytes->bytes + used + length + 1, left);
    bytes->length = left;
    return code < 0 ? code : 1;
}

/* ---- launches ---- */

static struct relay_word *words_of(const char *const *texts, uint32_t *ret_count)
{
    uint32_t count = 0;

    while (texts && texts[count])
        count++;
    struct relay_word *words = mem_zero(count + 1, sizeof(*words));
    for (uint32_t i = 0; i < count; i++)
        words[i].text = texts[i];
    *ret_count = count;
    return words;
}

static const char **texts_of(const struct relay_word *words, uint32_t count, struct arena *arena)
{
    const char **texts = arena_take(arena, count + 1, sizeof(*texts));

    for (uint32_t i = 0; i < count; i++)
        texts[i] = words[i].text ? words[i].text : "";
    return texts;
}

static const char *text_or_null(const char *text)
{
    return text && text[0] ? text : NULL;
}

void relay_put_launch(struct text *out, const struct engine_launch *launch)
{
    struct relay_message message = { .kind = RELAY_START,
                                     .id = launch->id,
                                     .title = launch->title,
                                     .cwd = launch->cwd,
                                     .output = launch->output,
                                     .error = launch->error,
                                     .input = launch->input,
                                     .cpus = launch->cpus,
                                     .append = launch->append,
                                     .has_groups = launch->groups != NULL,
                                     .groups_count = launch->groups ? launch->group_count : 0,
                                     .devices_count = launch->slices_count,
                                     .output_bytes_max = launch->output_bytes_max,
                                     .cpu_milli = launch->cpu_milli,
                                     .memory_mib = launch->memory_mib,
                                     .memory_node = launch->memory_node,
                                     .umask = launch->umask,
                                     .uid = launch->uid,
                                     .gid = launch->gid,
                                     .grace = launch->grace,
                                     .signal = launch->stop_signal };

    AUTO_FREE struct relay_word *argv = words_of(launch->argv, &message.argv_count);
    AUTO_FREE struct relay_word *envp = words_of(launch->envp, &message.envp_count);
    AUTO_FREE struct relay_number *groups =
        mem_zero(message.groups_count + 1, sizeof(struct relay_number));
    AUTO_FREE struct relay_number *devices =
        mem_zero(message.devices_count + 1, sizeof(struct relay_number));
    for (uint32_t i = 0; i < message.groups_count; i++)
        groups[i].number = launch->groups[i];
    for (uint32_t i = 0; i < message.devices_count; i++)
        devices[i].number = launch->slices[i].index;
    message.argv = argv;
    message.envp = envp;
    message.groups = groups;
    message.devices = devices;
    relay_put(out, &message);
}

struct engine_launch relay_launch(const struct relay_message *message, struct arena *arena)
{
    uint32_t *groups = arena_take(arena, message->groups_count + 1, sizeof(*groups));

    for (uint32_t i = 0; i < message->groups_count; i++)
        groups[i] = message->groups[i].number;
    return (struct engine_launch){
        .id = message->id,
        .title = message->title,
        .cwd = message->cwd,
        .output = message->output,
        .error = text_or_null(message->error),
        .input = text_or_null(message->input),
        .cpus = text_or_null(message->cpus),
        .argv = texts_of(message->argv, message->argv_count, arena),
        .envp = texts_of(message->envp, message->envp_count, arena),
        .groups = message->has_groups ? groups : NULL,
        .group_count = message->groups_count,
        .append = message->append,
        .output_bytes_max = message->output_bytes_max,
        .cpu_milli = message->cpu_milli,
        .memory_mib = message->memory_mib,
        .memory_node = message->memory_node,
        .umask = message->umask,
        .uid = message->uid,
        .gid = message->gid,
        .grace = message->grace,
        .stop_signal = message->signal,
    };
}

/* ---- outcomes ---- */

void relay_put_outcome(struct text *out, const struct engine_outcome *outcome)
{
    relay_put(out,
              &(struct relay_message){ .kind = RELAY_OUTCOME,
                                       .id = outcome->id,
                                       .outcome = (uint8_t)outcome->kind,
                                       .exit_code = outcome->exit_code,
                                       .signal = outcome->signal,
                                       .was_stopped = outcome->was_stopped,
                                       .was_oom = outcome->was_oom,
                                       .was_killed = outcome->was_killed,
                                       .user_us = outcome->user_us,
                                       .system_us = outcome->system_us,
                                       .memory_kib_max = outcome->memory_kib_max,
                                       .processes_isolation = (uint8_t)outcome->isolation.processes,
                                       .cpu_isolation = (uint8_t)outcome->isolation.cpu,
                                       .memory_isolation = (uint8_t)outcome->isolation.memory,
                                       .gpu_isolation = (uint8_t)outcome->isolation.gpu,
                                       .reason = outcome->reason });
}

static enum isolation isolation_of(uint8_t number)
{
    return number <= ISOLATION_ISOLATED ? (enum isolation)number : ISOLATION_ACCOUNTED;
}

struct engine_outcome relay_outcome(const struct relay_message *message)
{
    struct engine_outcome outcome = {
        .id = message->id,
        .kind = message->outcome <= ENGINE_LOST ? (enum engine_outcome_kind)message->outcome
                                                : ENGINE_LOST,
        .exit_code = message->exit_code,
        .signal = message->signal,
        .was_stopped = message->was_stopped,
        .was_oom = message->was_oom,
        .was_killed = message->was_killed,
        .user_us = message->user_us,
        .system_us = message->system_us,
        .memory_kib_max = message->memory_kib_max,
        .isolation = { isolation_of(message->processes_isolation),
                       isolation_of(message->cpu_isolation),
                       isolation_of(message->memory_isolation),
                       isolation_of(message->gpu_isolation) },
    };

    snprintf(outcome.reason, sizeof(outcome.reason), "%s", message->reason ? message->reason : "");
    return outcome;
}
