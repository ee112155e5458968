# SPDX-License-Identifier: Apache-2.0
"""Take scikit-learn's digits apart: 1297 to learn from, 500 that no training ever sees."""

import digits
import numpy as np
from sklearn.datasets import load_digits

TEST = 500

data = load_digits()
order = np.random.default_rng(0).permutation(len(data.target))
images = (data.data[order] / 16).astype(np.float32)
labels = data.target[order].astype(np.int64)
np.savez(
    digits.output_path("data", "digits.npz"),
    train_images=images[TEST:],
    train_labels=labels[TEST:],
    test_images=images[:TEST],
    test_labels=labels[:TEST],
)
print(f"{len(labels)} digits: {len(labels) - TEST} to train, {TEST} to test")
