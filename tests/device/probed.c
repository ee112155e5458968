/* SPDX-License-Identifier: Apache-2.0 */
#include "probed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

struct machine open_machine(struct probe *probe)
{
    struct machine machine = { .probe = probe };
    struct error err = { "" };

    if (probe->ops->devices(probe, &machine.devices, &machine.count, &err) < 0)
        fail_msg("%s", err.text);
    return machine;
}

void close_machine(struct machine *machine)
{
    free(machine->devices);
    machine->probe->ops->destroy(machine->probe);
}

struct reading reading_of(struct machine *machine, uint32_t device)
{
    struct reading reading = { 0 };
    struct error err = { "" };

    if (machine->probe->ops->sample(machine->probe, device, &reading, &err) < 0)
        fail_msg("%s", err.text);
    return reading;
}
