# SPDX-License-Identifier: Apache-2.0
"""What the stages share: where their directories are, and a small network in numpy."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402  (it reads the variables above when it is imported)

HIDDEN = 64
EPOCHS = 200
REPORTS = 10  # lines of progress
BATCH = 32


def input_path(*parts):
    return os.path.join(os.environ["TARN_IN"], *parts)


def output_path(*parts):
    return os.path.join(os.environ["TARN_OUT"], *parts)


def load_data(part):
    """The images and labels of "train" or "test"."""
    with np.load(input_path("data", "digits.npz")) as data:
        return data[part + "_images"], data[part + "_labels"]


def new_model(seed):
    random = np.random.default_rng(seed)
    return {
        "w1": random.normal(0, np.sqrt(2 / 64), (64, HIDDEN)).astype(np.float32),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": random.normal(0, np.sqrt(2 / HIDDEN), (HIDDEN, 10)).astype(np.float32),
        "b2": np.zeros(10, np.float32),
    }


def scores(model, images):
    hidden = np.maximum(images @ model["w1"] + model["b1"], 0)
    return hidden, hidden @ model["w2"] + model["b2"]


def predict(model, images):
    return scores(model, images)[1].argmax(axis=1)


def accuracy(model, images, labels):
    return float((predict(model, images) == labels).mean())


def gradients(model, images, labels):
    """The mean cross-entropy of a batch, and its derivative by every weight."""
    hidden, out = scores(model, images)
    out -= out.max(axis=1, keepdims=True)
    chance = np.exp(out)
    chance /= chance.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float(-np.log(chance[rows, labels] + 1e-9).mean())
    chance[rows, labels] -= 1
    chance /= len(labels)
    back = (chance @ model["w2"].T) * (hidden > 0)
    return loss, {
        "w1": images.T @ back,
        "b1": back.sum(axis=0),
        "w2": hidden.T @ chance,
        "b2": chance.sum(axis=0),
    }


def step(model, slopes, rate):
    for name, slope in slopes.items():
        model[name] -= rate * slope


def batches(count, random):
    order = random.permutation(count)
    for begin in range(0, count - BATCH + 1, BATCH):
        yield order[begin : begin + BATCH]


def report(epoch, losses):
    """tarn shows the last line, and takes "progress" as how far the job is."""
    if epoch % (EPOCHS // REPORTS) == 0:
        print(f"progress {epoch * REPORTS // EPOCHS}/{REPORTS}")
        print(f"loss {np.mean(losses):.4f}")


def save_model(path, model, name):
    np.savez(path, name=name, **model)


def load_model(path):
    with np.load(path) as file:
        return str(file["name"]), {key: file[key] for key in ("w1", "b1", "w2", "b2")}
