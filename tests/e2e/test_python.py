# SPDX-License-Identifier: Apache-2.0
"""The wheel of the Python package. The package itself is tested in python/tests."""

import importlib.util
import os
import re
import subprocess
import sys
import zipfile

import pytest

import tarn_test

ROOT = os.path.abspath(os.path.join(tarn_test.HERE, "..", ".."))


def run(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=300, **more).stdout


@pytest.fixture(scope="module")
def wheel():
    absent = [name for name in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(name)]
    if absent:
        pytest.skip("not installed: " + ", ".join("python3-" + name for name in absent))
    folder = tarn_test.make_folder()
    yield run(os.path.join(ROOT, "tools", "wheel"), folder).strip()
    tarn_test.remove_folder(folder)


def test_the_wheel_has_the_package_and_its_types(wheel):
    version = re.search(r"version: '([0-9.]+)'", tarn_test.read_file(os.path.join(ROOT, "meson.build")))[1]
    source = os.path.join(ROOT, "python", "src")
    assert os.path.basename(wheel) == "tarn-%s-py3-none-any.whl" % version
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert sorted(names) == sorted("%s/%s" % (package, name) for package in os.listdir(source)
                                       for name in os.listdir(os.path.join(source, package)) if name != "__pycache__")
        metadata = archive.read("tarn-%s.dist-info/METADATA" % version).decode()
    assert "\nRequires-Python: >=3.9\n" in metadata and "Requires-Dist" not in metadata


def test_the_installed_wheel_runs_functions_as_jobs(wheel, daemon):
    place = os.path.join(daemon.root, "site")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", place, wheel)
    program = ("import operator, sys, tarn\n"
               "with tarn.Executor(folder=sys.argv[1]) as executor:\n"
               "    print(tarn.__file__, executor.submit(operator.add, 2, 3).result(60))\n")
    said = run(sys.executable, "-c", program, daemon.root, cwd="/",
               env=dict(os.environ, PYTHONPATH=place, TARN_SOCKET=daemon.socket))
    assert said == "%s/tarn/__init__.py 5\n" % place


def test_every_file_names_its_licence():
    for base, _, names in os.walk(os.path.join(ROOT, "python")):
        for name in names:
            if name.endswith((".py", ".toml")):
                assert "SPDX-License-Identifier: Apache-2.0" in tarn_test.read_file(os.path.join(base, name))[:200], name
