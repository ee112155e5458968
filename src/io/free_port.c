/* SPDX-License-Identifier: Apache-2.0 */
#include "io/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

uint16_t free_port_find(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return 29500;
    bool is_bound = bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                    getsockname(fd, (struct sockaddr *)&address, &length) == 0;
    close(fd);
    return is_bound ? ntohs(address.sin_port) : 29500;
}
