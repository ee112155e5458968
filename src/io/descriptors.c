/* SPDX-License-Identifier: Apache-2.0 */
#include "io/descriptors.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr head; /* aligned as that */
    char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
};

ssize_t descriptors_send(int socket, const void *bytes, size_t length, const int *fds, size_t count)
{
    union control control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)(size_t)bytes, .iov_len = length };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

    assert(length > 0 && count > 0 && count <= DESCRIPTORS_MAX);
    control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
                                     .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t descriptors_receive(int socket, void *bytes, size_t size, int *ret_fds, size_t max,
                            size_t *ret_count)
{
    union control control;
    struct iovec part = { .iov_base = bytes, .iov_len = size };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };

    assert(max <= DESCRIPTORS_MAX);
    *ret_count = 0;
    ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return length;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(head) + i * sizeof(fd), sizeof(fd));
        if (*ret_count < max)
            ret_fds[(*ret_count)++] = fd;
        else
            close(fd);
    }
    return length;
}
