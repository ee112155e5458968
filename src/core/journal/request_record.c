/* SPDX-License-Identifier: Apache-2.0 */
/* How a request is stored. Apart from request.c, which reads what people write. */
#include "core/job/role.h"
#include "core/journal/event.h"

static const struct field gpu_ask_fields[] = {
    RECORD_CHARS(struct gpu_ask, 1, model, "empty: any"),
    RECORD_CHARS(struct gpu_ask, 2, profile, "of MIG"),
    RECORD_INT(struct gpu_ask, 3, size_mib_min, "the device's memory; 0: no bound"),
    RECORD_INT(struct gpu_ask, 4, size_mib_max, "the same"),
    RECORD_INT(struct gpu_ask, 5, memory_mib, "the share's memory; 0: as its compute"),
    RECORD_UINT(struct gpu_ask, 6, milli, "the share's compute; 0: as its memory"),
    RECORD_UINT(struct gpu_ask, 7, count, "devices a member"),
    RECORD_UINT(struct gpu_ask, 8, kind, "0 whole, 1 fraction, 2 MIG, 3 MPS"),
    RECORD_UINT(struct gpu_ask, 9, nvlink, "they must be linked"),
};
static const struct record_type gpu_ask_record = { "gpu_ask", sizeof(struct gpu_ask),
                                                   gpu_ask_fields, COUNT_OF(gpu_ask_fields) };

/* What the roles have in common is said once, in the request. */
static const struct field role_fields[] = {
    RECORD_CHARS(struct role, 1, name, ""),
    RECORD_ARRAY(struct role, 2, request.gpus, "alternatives", &gpu_ask_record,
                 request.gpu_alternatives),
    RECORD_INT(struct role, 3, request.cpu_milli, "a member"),
    RECORD_INT(struct role, 4, request.memory_mib, "a member; 0: not asked for"),
    RECORD_UINT(struct role, 5, request.members, "its ranks"),
    RECORD_UINT(struct role, 6, request.cpu_given, "enforced, not only counted"),
    RECORD_UINT(struct role, 7, request.memory_given, "the same"),
};
static const struct record_type role_record = { "role", sizeof(struct role), role_fields,
                                                COUNT_OF(role_fields) };

static const struct field request_fields[] = {
    RECORD_ARRAY(struct request, 1, gpus, "alternatives", &gpu_ask_record, gpu_alternatives),
    RECORD_INT(struct request, 2, cpu_milli, "a member"),
    RECORD_INT(struct request, 3, memory_mib, "a member; 0: not asked for"),
    RECORD_INT(struct request, 4, max_duration, "the largest number: no limit"),
    RECORD_UINT(struct request, 5, members, "of the gang"),
    RECORD_UINT(struct request, 6, nodes_min, "machines"),
    RECORD_UINT(struct request, 7, nodes_max, "machines"),
    RECORD_CHARS(struct request, 8, pool, "empty: any it may use"),
    RECORD_UINT(struct request, 9, cpu_given, "enforced, not only counted"),
    RECORD_UINT(struct request, 10, memory_given, "the same"),
    RECORD_UINT(struct request, 11, members_max, "the most of an elastic gang; 0: it is none"),
    RECORD_UINT(struct request, 12, sizes, "of an elastic gang: 0 powers of two, 1 any"),
    RECORD_UINT(struct request, 13, per_node, "of an elastic gang: each member on its own machine"),
    RECORD_UINT(struct request, 20, spot,
                "machines that may be taken away: 0 never, 1 allow, 2 prefer, 3 only"),
    RECORD_LIST(struct request, 30, roles, "kinds of members, in the order of their ranks",
                &role_record),
};
const struct record_type request_record = { "request", sizeof(struct request), request_fields,
                                            COUNT_OF(request_fields) };
