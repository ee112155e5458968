# SPDX-License-Identifier: Apache-2.0
"""Name the digits of one shard with the best model; one task of the array."""

import os

import digits
import numpy as np

SHARDS = 4

index = int(os.environ.get("TARN_ARRAY_INDEX") or os.environ["SLURM_ARRAY_TASK_ID"])
images, _ = digits.load_data("test")
name, model = digits.load_model(digits.input_path("best", "model.npz"))
rows = np.array_split(np.arange(len(images)), SHARDS)[index]
np.savez(
    digits.output_path("predictions", "part.npz"),
    rows=rows,
    labels=digits.predict(model, images[rows]),
)
print(f"shard {index}: {len(rows)} digits by {name}")
