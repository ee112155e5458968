/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of NVML return, as errors; and the GPU that a call is about. */
#include <errno.h>
#include <inttypes.h>

#include "device/nvml/nvml_inside.h"

const char *nvml_words(int result)
{
    static const struct {
        int number;
        const char *words;
    } results[] = {
#define AS_ROW(number, name, words) { number, words },
        NVML_RESULTS(AS_ROW)
    };

    for (size_t i = 0; i < COUNT_OF(results); i++) {
        if (results[i].number == result)
            return results[i].words;
    }
    return "unknown error of the driver";
}

int nvml_fail(int result, const char *what, struct error *err)
{
    int code = -EIO;

    switch (result) {
    case NVML_GPU_IS_LOST:
    case NVML_GPU_NOT_FOUND:
        code = -ENODEV;
        break;
    case NVML_NOT_SUPPORTED:
    case NVML_FUNCTION_NOT_FOUND:
        code = -ENOTSUP;
        break;
    case NVML_IN_USE:
        code = -EBUSY;
        break;
    case NVML_NO_PERMISSION:
        code = -EPERM;
        break;
    case NVML_INSUFFICIENT_RESOURCES:
        code = -EXFULL; /* no room on the device: not a shortage that passes (base/error.h) */
        break;
    default:
        break;
    }
    return error_set(err, code, "%s: %s", what, nvml_words(result));
}

/* A reading that this driver or device does not have is absent; these mean more than that. */
bool nvml_is_sick(int result)
{
    switch (result) {
    case NVML_INSUFFICIENT_POWER:
    case NVML_DRIVER_NOT_LOADED:
    case NVML_TIMEOUT:
    case NVML_IRQ_ISSUE:
    case NVML_GPU_IS_LOST:
    case NVML_RESET_REQUIRED:
    case NVML_UNKNOWN:
        return true;
    default:
        return false;
    }
}

struct nvml_gpu *nvml_gpu_of(struct probe *probe, uint32_t device, int *ret_code, struct error *err)
{
    struct nvml *nvml = nvml_of(probe);

    if (device < nvml->gpu_count && nvml->gpus[device].handle)
        return &nvml->gpus[device];
    *ret_code =
        error_set(err, -ENODEV, "device %" PRIu32 ": the driver does not report it", device);
    return NULL;
}
