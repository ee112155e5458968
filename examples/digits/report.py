# SPDX-License-Identifier: Apache-2.0
"""What came out; fails when the best model is not good enough."""

import json
import os
import sys

import digits
import numpy as np

WANTED = 0.95

_, labels = digits.load_data("test")
with open(digits.input_path("best", "results.json")) as file:
    results = json.load(file)
found = np.full(len(labels), -1)
for shard in sorted(os.listdir(digits.input_path("predictions"))):
    with np.load(digits.input_path("predictions", shard, "part.npz")) as part:
        found[part["rows"]] = part["labels"]
print(f"{'MODEL':16} ACCURACY")
for result in sorted(results["results"], key=lambda result: -result["accuracy"]):
    mark = "  best" if result["model"] == results["best"] else ""
    print(f"{result['model']:16} {result['accuracy']:8.1%}{mark}")
inferred = float((found == labels).mean())
print(f"{'infer':16} {inferred:8.1%}  {int((found >= 0).sum())} of {len(labels)} digits named")
if inferred <= WANTED:
    sys.exit(f"report: {inferred:.1%} of the test digits are right, expected more than {WANTED:.0%}")
