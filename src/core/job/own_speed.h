/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_OWN_SPEED_H
#define CORE_JOB_OWN_SPEED_H

/* own_speed - how fast one job runs on each model of GPU, as its submitter states it
 *
 *   SPEEDS := MODEL '=' SPEED (',' MODEL '=' SPEED)*     a100=3,k80=1
 *
 * Its run time on a model is the one at speed 1 (its estimate) divided by the speed there. Sorted
 * by model and zeroed before they are filled: equal lists are equal byte for byte.
 *
 * Limits: OWN_SPEEDS_MAX models, speeds of 0.001 to OWN_SPEED_MOST / 1000
 */

#include "base/mem.h"
#include "base/units.h"
#include "core/job/request.h"

enum { OWN_SPEEDS_MAX = 32, OWN_SPEED_MOST = 1000000 };

struct own_speed {
    char model[REQUEST_MODEL_SIZE]; /* lower case */
    uint32_t milli;
};

typedef LIST(struct own_speed) own_speed_list;

/* In its place. False: its model is there already, or there are OWN_SPEEDS_MAX. */
bool own_speeds_add(own_speed_list *list, const struct own_speed *own);

/* Add one from a model, in any case, and a number. */
int own_speeds_read(own_speed_list *list, const char *model, const char *number, struct error *err);

/* Replace the speeds by those of a text. On failure the list may have some of them. */
int own_speeds_parse(own_speed_list *list, const char *text, struct error *err);

/* In thousandths; 1000 on a model that it does not name; 0: the job states none at all. */
uint32_t own_speed_on(const struct request *request, const char *model);

/* A run time at speed 1 as one at this speed, at least 1; 0 and USEC_NEVER stay. */
usec_t own_speed_run(usec_t run, uint32_t milli);

/* Whether those of a record are valid. */
bool own_speeds_are_valid(const struct own_speed *speeds, uint32_t count);

#endif
