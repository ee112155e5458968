/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DEVICE_PROBED_H
#define TESTS_DEVICE_PROBED_H

/* probed - a probe of a test, and what it found; whatever it can't do fails the test */

#include "core/probe.h"

struct machine {
    struct probe *probe;
    struct probe_device *devices;
    uint32_t count;
};

#define assert_reading(reading, id, value)                                                         \
    do {                                                                                           \
        assert_true(reading_has(&(reading), READING_##id));                                        \
        assert_int_equal((reading).values[READING_##id], value);                                   \
    } while (0)
#define assert_absent(reading, id) assert_false(reading_has(&(reading), READING_##id))

/* The probe is the machine's from here on. */
struct machine open_machine(struct probe *probe);
void close_machine(struct machine *machine);
struct reading reading_of(struct machine *machine, uint32_t device);

#endif
