/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

void guest_tell(const struct guest *guest, const struct door_answer *answer)
{
    send(guest->fd, answer, sizeof(*answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void guest_close(struct guest *guest)
{
    close(guest->fd);
    *guest = (struct guest){ .fd = -1 };
}

void guest_refuse(struct guest *guest, int code, const char *text)
{
    struct door_answer answer = { .failure = code };

    snprintf(answer.text, sizeof(answer.text), "%s", text);
    guest_tell(guest, &answer);
    guest_close(guest);
}
