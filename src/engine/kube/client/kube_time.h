/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_CLIENT_KUBE_TIME_H
#define ENGINE_KUBE_CLIENT_KUBE_TIME_H

/* kube_time - the time now, as the API writes it: "2030-01-31T08:00:00.000000Z" */

#include <stdio.h>
#include <time.h>

enum { KUBE_TIME_SIZE = 40 };

static inline void kube_time_now(char ret[KUBE_TIME_SIZE])
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t length = strftime(ret, KUBE_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret + length, KUBE_TIME_SIZE - length, ".%06ldZ", now.tv_nsec / 1000);
}

#endif
