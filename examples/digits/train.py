# SPDX-License-Identifier: Apache-2.0
"""Train one network; one job of the sweep."""

import argparse
import os

import digits
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
args = parser.parse_args()

print("gpu", os.environ.get("CUDA_VISIBLE_DEVICES", "none"))
images, labels = digits.load_data("train")
model = digits.new_model(args.seed)
random = np.random.default_rng(args.seed)
for epoch in range(1, digits.EPOCHS + 1):
    losses = []
    for batch in digits.batches(len(labels), random):
        loss, slopes = digits.gradients(model, images[batch], labels[batch])
        digits.step(model, slopes, args.lr)
        losses.append(loss)
    digits.report(epoch, losses)
digits.save_model(
    digits.output_path("model", "model.npz"), model, f"lr={args.lr:g} seed={args.seed}"
)
