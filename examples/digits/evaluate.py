# SPDX-License-Identifier: Apache-2.0
"""Try every model on the digits that no training saw, and keep the best."""

import json
import os

import digits

images, labels = digits.load_data("test")
paths = [digits.input_path("gang_model", "model.npz")]
paths += [
    digits.input_path("model", name, "model.npz")
    for name in sorted(os.listdir(digits.input_path("model")))
]
results, best = [], None
for path in paths:
    name, model = digits.load_model(path)
    result = digits.accuracy(model, images, labels)
    results.append({"model": name, "accuracy": result})
    print(f"{name:16} {result:.1%}")
    if best is None or result > best[0]:
        best = (result, name, model)
digits.save_model(digits.output_path("best", "model.npz"), best[2], best[1])
with open(digits.output_path("best", "results.json"), "w") as file:
    json.dump({"best": best[1], "results": results}, file)
print(f"best: {best[1]}, {best[0]:.1%}")
