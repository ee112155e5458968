# SPDX-License-Identifier: Apache-2.0
"""The launcher "tarn" of Hydra, on hydra-submitit-launcher: python train.py -m hydra/launcher=tarn lr=0.1,0.01

Its parameters are those of the other launchers of submitit, and the keys of a job file: hydra.launcher.queue=research."""

import dataclasses
from typing import Any

from tarn.document import JobKeys

try:
    from hydra.core.config_store import ConfigStore
    from hydra_plugins.hydra_submitit_launcher import config, submitit_launcher
except ImportError:  # Hydra looks into this file also where it has no launcher for submitit
    pass
else:

    class TarnLauncher(submitit_launcher.BaseSubmititLauncher):
        _EXECUTOR = "tarn"

    _shared = {field.name for field in dataclasses.fields(config.BaseQueueConf)}
    _keys = [(key, Any, None) for key in JobKeys.__annotations__ if key not in _shared]
    TarnConf = dataclasses.make_dataclass("TarnConf", [("_target_", str, __name__ + ".TarnLauncher"), *_keys], bases=(config.BaseQueueConf,))
    ConfigStore.instance().store(group="hydra/launcher", name="tarn", node=TarnConf, provider="tarn")
