# SPDX-License-Identifier: Apache-2.0
"""A file system that can hang like a file server that is down: a FUSE server without a library.

It has one folder with plain files, which any user may read and write. While it hangs, the kernel lets
each call on it wait; when it goes on, the calls are answered in their order.
"""

import ctypes
import errno
import os
import stat
import struct
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
DETACH = 2
FORGET, DESTROY, BATCH_FORGET, INTERRUPT = 2, 38, 42, 36
LOOKUP, GETATTR, SETATTR, OPEN, READ, WRITE, INIT, CREATE = 1, 3, 4, 14, 15, 16, 26, 35
EMPTY = {18, 25, 27, 29, 20, 30}  # release, flush, opendir, releasedir, fsync, fsyncdir


def why_not():
    """Why there can be none here; "": there can."""
    if os.geteuid() != 0:
        return "needs root, to mount a file system"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return "/dev/fuse: %s" % error.strerror
    return ""


class HungFiles:
    def __init__(self, folder, names, owner=0):
        """Mounted at the folder, with these empty files of the owner."""
        self.folder, self.owner = folder, owner
        self.files = {number: bytearray() for number in range(2, len(names) + 2)}
        self.names = {name.encode(): number for number, name in enumerate(names, 2)}
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.held = 0  # calls that wait for it
        os.makedirs(folder, exist_ok=True)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.fd
        if LIBC.mount(b"hung", os.fsencode(folder), b"fuse", 0, options) != 0:
            code = ctypes.get_errno()
            os.close(self.fd)
            raise OSError(code, "mount: " + os.strerror(code))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def hang(self):
        self.goes_on.clear()

    def go_on(self):
        self.goes_on.set()

    def close(self):
        """Calls that still wait fail."""
        LIBC.umount2(os.fsencode(self.folder), DETACH)
        self.go_on()
        self.thread.join(30)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                break  # it is not mounted any more
            _, code, unique, node, *_ = struct.unpack_from("<IIQQIIII", request)
            if code in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            if code != INIT and not self.goes_on.is_set():
                self.held += 1
                self.goes_on.wait()
                self.held -= 1
            failure, body = self.answer(code, node, request[40:])
            try:
                os.write(self.fd, struct.pack("<IiQ", 16 + len(body), -failure, unique) + body)
            except OSError:
                pass  # whoever asked is gone
            if code == DESTROY:
                break
        os.close(self.fd)

    def attributes(self, node):
        mode = stat.S_IFDIR | 0o777 if node == 1 else stat.S_IFREG | 0o666
        size, now = len(self.files.get(node, b"")), int(time.time())
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, size // 512 + 1, now, now, now, 0, 0, 0, mode, 1,
                           self.owner, self.owner, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.attributes(node)

    def answer(self, code, node, body):
        """An error number, or 0, and the reply. Nothing may be kept by the kernel: each call comes here."""
        if code == INIT:
            return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 8, 6, 1 << 16, 1, 0, 0, 0, *[0] * 7)
        if code == LOOKUP:
            found = self.names.get(body.rstrip(b"\0"))
            return (0, self.entry(found)) if found else (errno.ENOENT, b"")
        if code in (GETATTR, SETATTR):
            if code == SETATTR and struct.unpack_from("<I", body)[0] & 8:
                size = struct.unpack_from("<Q", body, 16)[0]
                del self.files[node][size:]
            return 0, struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code == OPEN:
            return 0, struct.pack("<QII", node, 1, 0)  # not through the page cache
        if code == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, bytes(self.files[node][offset:offset + size])
        if code == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            self.files[node][offset:offset + size] = body[40:40 + size]
            return 0, struct.pack("<II", size, 0)
        if code in EMPTY:
            return 0, struct.pack("<QII", 0, 0, 0) if code == 27 else b""
        return errno.ENOSYS, b""
