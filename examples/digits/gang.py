# SPDX-License-Identifier: Apache-2.0
"""Train one network with all ranks of a gang: each has a part of the data, and after every batch
all take the mean of their gradients, over plain sockets through rank 0."""

import os
import socket
import time

import digits
import numpy as np

RATE = 0.3
NAMES = ("w1", "b1", "w2", "b2")

rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def connect():
    """Rank 0 gives a connection to each other rank, the others one to rank 0. On a cluster, the
    name of rank 0 may be new, and not known everywhere yet."""
    deadline = time.monotonic() + 60
    while True:
        try:
            if rank > 0:
                return [socket.create_connection(address, timeout=60)]
            with socket.create_server(address) as server:
                server.settimeout(60)
                return [server.accept()[0] for _ in range(world - 1)]
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def receive(peer, count):
    data = bytearray()
    while len(data) < 4 * count:
        part = peer.recv(4 * count - len(data))
        if not part:
            raise SystemExit(f"rank {rank}: a peer has left")
        data += part
    return np.frombuffer(bytes(data), np.float32)


def mean(peers, values):
    """The mean of all ranks' values, the same on each."""
    if rank > 0:
        peers[0].sendall(values.tobytes())
        return receive(peers[0], len(values))
    total = values.copy()
    for peer in peers:
        total += receive(peer, len(values))
    total /= world
    for peer in peers:
        peer.sendall(total.tobytes())
    return total


def flatten(slopes):
    return np.concatenate([slopes[name].ravel() for name in NAMES]).astype(np.float32)


def unflatten(values, model):
    slopes, at = {}, 0
    for name in NAMES:
        size = model[name].size
        slopes[name] = values[at : at + size].reshape(model[name].shape)
        at += size
    return slopes


print(f"rank {rank} of {world}, gpu", os.environ.get("CUDA_VISIBLE_DEVICES", "none"))
images, labels = digits.load_data("train")
part = len(labels) // world
images, labels = images[rank * part :][:part], labels[rank * part :][:part]
peers = connect()
for peer in peers:
    peer.settimeout(60)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
model = digits.new_model(7)  # the same on each rank
random = np.random.default_rng(rank)
for epoch in range(1, digits.EPOCHS + 1):
    losses = []
    for batch in digits.batches(part, random):
        loss, slopes = digits.gradients(model, images[batch], labels[batch])
        digits.step(model, unflatten(mean(peers, flatten(slopes)), model), RATE)
        losses.append(loss)
    if rank == 0:
        digits.report(epoch, losses)
if rank == 0:
    digits.save_model(digits.output_path("gang_model", "model.npz"), model, f"gang of {world}")
