/* SPDX-License-Identifier: Apache-2.0 */
/* Print the monotonic clock in nanoseconds: what a job does first when its start is measured. */
#include <stdio.h>
#include <time.h>

int main(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return 0;
}
