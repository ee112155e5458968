/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of one device. What it does not support is asked once; what fails is absent. */
#include <math.h>

#include "base/compiler.h"
#include "device/nvml/nvml_inside.h"

enum { PERCENT = READING_RATIO_ONE / 100, MEMORY_CELSIUS_MAX = 200 };

enum { ASK_AGAIN = 60 }; /* what a driver did not have may have been refused for a moment */

struct asking {
    const struct nvml *nvml;
    const struct nvml_calls *call;
    struct nvml_gpu *gpu;
    struct reading *ret;
    int trouble; /* the first result that says that the device is sick; 0: none */
};

static bool may_ask(const struct asking *asking, enum reading_id id)
{
    return asking->trouble == 0 && (asking->gpu->unsupported >> id & 1) == 0;
}

/* Whether there is a value. */
static bool took(struct asking *asking, enum reading_id id, int result)
{
    switch (result) {
    case NVML_SUCCESS:
        return true;
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
    case NVML_NO_PERMISSION:
    case NVML_ARGUMENT_VERSION_MISMATCH:
        asking->gpu->unsupported |= UINT64_C(1) << id;
        return false;
    default:
        if (nvml_is_sick(result) && result != NVML_UNKNOWN)
            asking->trouble = result;
        return false;
    }
}

/* Call the driver's function for a reading, unless it is known not to have it. True: there is a
 * value. */
#define ASK(asking, id, function, ...)                                                             \
    (may_ask(asking, id) &&                                                                        \
     took(asking, id,                                                                              \
          (asking)->call->function ? (asking)->call->function((asking)->gpu->handle, __VA_ARGS__)  \
                                   : NVML_FUNCTION_NOT_FOUND))

/* ---- calls that give one number ---- */

typedef int plain_fn(nvml_device_t, unsigned *);

#define PLAIN(id, member, scale)                                                                   \
    {                                                                                              \
        READING_##id, offsetof(struct nvml_calls, member), scale                                   \
    }
static const struct plain {
    enum reading_id id;
    size_t call; /* where in the calls */
    int64_t scale;
} plains[] = {
    PLAIN(POWER, power, 1),
    PLAIN(POWER_LIMIT, power_limit, 1),
    PLAIN(FAN_SPEED, fan, PERCENT),
    PLAIN(PCIE_REPLAYS, pcie_replays, 1),
    PLAIN(PCIE_GENERATION, pcie_generation, 1),
    PLAIN(PCIE_GENERATION_MAX, pcie_generation_max, 1),
    PLAIN(PCIE_WIDTH, pcie_width, 1),
    PLAIN(PCIE_WIDTH_MAX, pcie_width_max, 1),
};

static void read_plains(struct asking *asking)
{
    for (size_t i = 0; i < COUNT_OF(plains); i++) {
        plain_fn *fn;
        unsigned value = 0;
        memcpy(&fn, (const char *)asking->call + plains[i].call, sizeof(fn));
        if (may_ask(asking, plains[i].id) &&
            took(asking, plains[i].id,
                 fn ? fn(asking->gpu->handle, &value) : NVML_FUNCTION_NOT_FOUND))
            reading_set(asking->ret, plains[i].id, (int64_t)value * plains[i].scale);
    }
}

/* ---- calls with a kind ---- */

typedef int kind_fn(nvml_device_t, int, unsigned *);

#define OF_KIND(id, member, kind, scale)                                                           \
    {                                                                                              \
        READING_##id, offsetof(struct nvml_calls, member), kind, scale                             \
    }
static const struct of_kind {
    enum reading_id id;
    size_t call;
    int kind;
    int64_t scale;
} of_kinds[] = {
    OF_KIND(TEMPERATURE, temperature, 0, 1000),
    OF_KIND(SHUTDOWN_TEMPERATURE, threshold, NVML_THRESHOLD_SHUTDOWN, 1000),
    OF_KIND(SLOWDOWN_TEMPERATURE, threshold, NVML_THRESHOLD_SLOWDOWN, 1000),
    OF_KIND(SM_CLOCK, clock, NVML_CLOCK_SM, 1000000),
    OF_KIND(SM_CLOCK_MAX, clock_max, NVML_CLOCK_SM, 1000000),
    OF_KIND(MEMORY_CLOCK, clock, NVML_CLOCK_MEMORY, 1000000),
};

static void read_of_kinds(struct asking *asking)
{
    for (size_t i = 0; i < COUNT_OF(of_kinds); i++) {
        const struct of_kind *of = &of_kinds[i];
        kind_fn *fn;
        unsigned value = 0;
        memcpy(&fn, (const char *)asking->call + of->call, sizeof(fn));
        if (may_ask(asking, of->id) &&
            took(asking, of->id,
                 fn ? fn(asking->gpu->handle, of->kind, &value) : NVML_FUNCTION_NOT_FOUND))
            reading_set(asking->ret, of->id, (int64_t)value * of->scale);
    }
}

/* ---- memory, use, errors ---- */

static void read_memory(struct asking *asking)
{
    struct nvml_memory_v2 now = { .version = NVML_MEMORY_V2 };
    struct nvml_memory old = { 0 };

    if (ASK(asking, READING_MEMORY_RESERVED, memory_v2, &now)) {
        reading_set(asking->ret, READING_MEMORY_TOTAL, (int64_t)now.total);
        reading_set(asking->ret, READING_MEMORY_USED, (int64_t)now.used);
        reading_set(asking->ret, READING_MEMORY_FREE, (int64_t)now.free);
        reading_set(asking->ret, READING_MEMORY_RESERVED, (int64_t)now.reserved);
        return;
    }
    if (!ASK(asking, READING_MEMORY_TOTAL, memory, &old))
        return;
    reading_set(asking->ret, READING_MEMORY_TOTAL, (int64_t)old.total);
    reading_set(asking->ret, READING_MEMORY_USED, (int64_t)old.used);
    reading_set(asking->ret, READING_MEMORY_FREE, (int64_t)old.free);
}

static void read_use(struct asking *asking)
{
    struct nvml_utilization use = { 0 };
    unsigned value = 0, period = 0;

    if (ASK(asking, READING_GPU_USE, utilization, &use)) {
        reading_set(asking->ret, READING_GPU_USE, (int64_t)use.gpu * PERCENT);
        reading_set(asking->ret, READING_MEMORY_BUS_USE, (int64_t)use.memory * PERCENT);
    }
    if (ASK(asking, READING_ENCODER_USE, encoder, &value, &period))
        reading_set(asking->ret, READING_ENCODER_USE, (int64_t)value * PERCENT);
    if (ASK(asking, READING_DECODER_USE, decoder, &value, &period))
        reading_set(asking->ret, READING_DECODER_USE, (int64_t)value * PERCENT);
}

static void read_clocks(struct asking *asking)
{
    unsigned long long reasons = 0, energy = 0;
    int state = 0, mode = 0;

    if (ASK(asking, READING_COMPUTE_MODE, compute_mode, &mode))
        reading_set(asking->ret, READING_COMPUTE_MODE, mode);
    if (ASK(asking, READING_PSTATE, pstate, &state) && state >= 0 &&
        state <= 15) /* 32 is "not known" */
        reading_set(asking->ret, READING_PSTATE, state);
    if (ASK(asking, READING_CLOCK_REASONS, clock_reasons, &reasons))
        reading_set(asking->ret, READING_CLOCK_REASONS, (int64_t)reasons);
    if (ASK(asking, READING_ENERGY, energy, &energy))
        reading_set(asking->ret, READING_ENERGY, (int64_t)energy);
}

static void read_ecc(struct asking *asking)
{
    static const struct {
        enum reading_id id;
        int error, counter;
    } counters[] = {
        { READING_ECC_CORRECTED, NVML_ERRORS_CORRECTED, NVML_COUNT_VOLATILE },
        { READING_ECC_UNCORRECTED, NVML_ERRORS_UNCORRECTED, NVML_COUNT_VOLATILE },
        { READING_ECC_CORRECTED_EVER, NVML_ERRORS_CORRECTED, NVML_COUNT_AGGREGATE },
        { READING_ECC_UNCORRECTED_EVER, NVML_ERRORS_UNCORRECTED, NVML_COUNT_AGGREGATE },
    };
    struct nvml_sram_ecc sram = { .version = NVML_SRAM_ECC_V1 };

    for (size_t i = 0; i < COUNT_OF(counters); i++) {
        unsigned long long count = 0;
        if (ASK(asking, counters[i].id, ecc, counters[i].error, counters[i].counter, &count))
            reading_set(asking->ret, counters[i].id, (int64_t)count);
    }
    if (ASK(asking, READING_SRAM_THRESHOLD, sram_ecc, &sram))
        reading_set(asking->ret, READING_SRAM_THRESHOLD, sram.is_over_threshold != 0);
}

static void read_rows(struct asking *asking)
{
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;

    if (!ASK(asking, READING_ROWS_REMAPPED, remapped, &corrected, &uncorrected, &pending, &failed))
        return;
    reading_set(asking->ret, READING_ROWS_REMAPPED, corrected);
    reading_set(asking->ret, READING_ROWS_REMAPPED_UNCORRECTED, uncorrected);
    reading_set(asking->ret, READING_ROW_REMAP_PENDING, pending != 0);
    reading_set(asking->ret, READING_ROW_REMAP_FAILURE, failed != 0);
}

/* Before Ampere: whole pages are given up. Asked for none of them, it says how many there are. */
static void read_pages(struct asking *asking)
{
    static const struct {
        enum reading_id id;
        int cause;
    } causes[] = { { READING_PAGES_RETIRED_SBE, NVML_RETIRED_SBE },
                   { READING_PAGES_RETIRED_DBE, NVML_RETIRED_DBE } };
    int pending = 0;

    for (size_t i = 0; i < COUNT_OF(causes); i++) {
        unsigned count = 0;
        int result = NVML_FUNCTION_NOT_FOUND;
        if (!may_ask(asking, causes[i].id))
            continue;
        if (asking->call->retired)
            result =
                asking->call->retired(asking->gpu->handle, causes[i].cause, &count, NULL, NULL);
        if (result == NVML_INSUFFICIENT_SIZE)
            result = NVML_SUCCESS;
        if (took(asking, causes[i].id, result))
            reading_set(asking->ret, causes[i].id, count);
    }
    if (ASK(asking, READING_PAGES_PENDING, retired_pending, &pending))
        reading_set(asking->ret, READING_PAGES_PENDING, pending);
}

/* ---- fields: many in one call, each with a result of its own ---- */

static const struct field {
    enum reading_id id;
    unsigned field, scope;
    int64_t scale;
} fields[] = {
    { READING_MEMORY_TEMPERATURE, NVML_FIELD_MEMORY_TEMPERATURE, 0, 1000 },
    { READING_POWER_VIOLATION, NVML_FIELD_POWER_VIOLATION, 0, 1 },
    { READING_THERMAL_VIOLATION, NVML_FIELD_THERMAL_VIOLATION, 0, 1 },
    { READING_BOARD_LIMIT_VIOLATION, NVML_FIELD_BOARD_VIOLATION, 0, 1 },
    { READING_RELIABILITY_VIOLATION, NVML_FIELD_RELIABILITY_VIOLATION, 0, 1 },
    { READING_NVLINK_CRC, NVML_FIELD_NVLINK_CRC, 0, 1 },
    { READING_NVLINK_REPLAYS, NVML_FIELD_NVLINK_REPLAY, 0, 1 },
    { READING_NVLINK_RECOVERIES, NVML_FIELD_NVLINK_RECOVERY, 0, 1 },
    { READING_RECOVERY_ACTION, NVML_FIELD_RECOVERY_ACTION, 0, 1 },
    { READING_NVLINK_TOTAL, NVML_FIELD_NVLINK_TX, UINT32_MAX, 1024 },
    { READING_NVLINK_TOTAL, NVML_FIELD_NVLINK_RX, UINT32_MAX, 1024 },
};

static bool value_of(const struct nvml_field *field, int64_t *ret)
{
    switch (field->type) {
    case NVML_VALUE_DOUBLE:
        *ret = isfinite(field->value.real) && fabs(field->value.real) < 0x1p62
                   ? (int64_t)field->value.real
                   : -1;
        break;
    case NVML_VALUE_UINT:
        *ret = field->value.whole;
        break;
    case NVML_VALUE_ULONG:
        *ret = (int64_t)field->value.whole_long;
        break;
    case NVML_VALUE_ULONGLONG:
    case NVML_VALUE_LONGLONG:
        *ret = field->value.number_long_long;
        break;
    case NVML_VALUE_INT:
        *ret = field->value.number;
        break;
    case NVML_VALUE_USHORT:
        *ret = field->value.whole_short;
        break;
    default:
        return false;
    }
    return *ret >= 0;
}

static void take_field(struct asking *asking, const struct field *field,
                       const struct nvml_field *found)
{
    struct reading *ret = asking->ret;
    int64_t value = 0;

    if (!took(asking, field->id, found->result))
        return;
    if (field->id == READING_MEMORY_TEMPERATURE) { /* a driver says another type than it fills */
        if (found->value.whole > MEMORY_CELSIUS_MAX)
            return;
        value = found->value.whole;
    } else if (!value_of(found, &value))
        return;
    value *= field->scale;
    if (reading_has(ret, field->id) && field->id == READING_NVLINK_TOTAL)
        value += ret->values[field->id];
    reading_set(ret, field->id, value);
}

static void read_fields(struct asking *asking)
{
    struct nvml_field found[COUNT_OF(fields)] = { 0 };
    const struct field *wanted[COUNT_OF(fields)];
    int count = 0;

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (!may_ask(asking, fields[i].id) || !asking->call->fields)
            continue;
        wanted[count] = &fields[i];
        found[count].field = fields[i].field;
        found[count].scope = fields[i].scope;
        found[count++].result = NVML_NO_DATA;
    }
    if (count == 0 || asking->call->fields(asking->gpu->handle, count, found) != NVML_SUCCESS)
        return;
    for (int i = 0; i < count; i++)
        take_field(asking, wanted[i], &found[i]);
}

/* ---- links ---- */

static void read_links(struct asking *asking)
{
    int64_t up = 0;
    bool has_any = false;

    if (!asking->call->nvlink_state || !may_ask(asking, READING_NVLINKS_UP))
        return;
    for (unsigned i = 0; i < NVML_LINKS_MAX; i++) {
        int is_up = 0;
        int result = asking->call->nvlink_state(asking->gpu->handle, i, &is_up);
        if (result != NVML_SUCCESS) {
            if (i == 0)
                took(asking, READING_NVLINKS_UP, result);
            break;
        }
        has_any = true;
        up += is_up != 0;
    }
    if (has_any)
        reading_set(asking->ret, READING_NVLINKS_UP, up);
}

/* A spot of 20 ms: only where nothing better is there. */
static void read_pcie(struct asking *asking)
{
    static const struct {
        enum reading_id id;
        int way;
    } ways[] = { { READING_PCIE_TX, NVML_PCIE_TX }, { READING_PCIE_RX, NVML_PCIE_RX } };

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        unsigned kilobytes = 0;
        if (!reading_has(asking->ret, ways[i].id) &&
            ASK(asking, ways[i].id, pcie, ways[i].way, &kilobytes))
            reading_set(asking->ret, ways[i].id, (int64_t)kilobytes * 1000);
    }
}

static void read_gpm(struct asking *asking)
{
    if (asking->trouble == 0)
        nvml_gpm_read(asking->nvml, asking->gpu, asking->ret);
}

/* ---- all ---- */

int nvml_sample(struct probe *probe, uint32_t device, struct reading *ret, struct error *err)
{
    static void (*const parts[])(struct asking *) = {
        read_memory, read_use,  read_plains, read_of_kinds, read_clocks, read_fields,
        read_ecc,    read_rows, read_pages,  read_links,    read_gpm,    read_pcie,
    };
    int code = 0;
    struct nvml_gpu *gpu = nvml_gpu_of(probe, device, &code, err);

    if (!gpu)
        return code;
    struct reading taken = { .at = ret->at };
    bool has_mig = atomic_load(&gpu->has_mig);
    if (has_mig != gpu->had_mig || ++gpu->askings == ASK_AGAIN) {
        gpu->unsupported = 0;
        gpu->askings = 0;
    }
    gpu->had_mig = has_mig;
    const struct nvml *nvml = nvml_of(probe);
    struct asking asking = { .nvml = nvml, .call = &nvml->call, .gpu = gpu, .ret = &taken };
    for (size_t i = 0; i < COUNT_OF(parts) && asking.trouble == 0; i++)
        parts[i](&asking);
    if (asking.trouble != 0)
        return nvml_fail(asking.trouble, "sample", err);
    uint32_t xid = atomic_load(&gpu->last_xid);
    if (xid > 0)
        reading_set(&taken, READING_XID, xid - 1);
    *ret = taken;
    return 0;
}
