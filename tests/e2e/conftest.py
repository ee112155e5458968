# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fresh_root
import tarn_test


@pytest.fixture
def make_daemon():
    """Makes daemons in folders of their own; all are gone after the test."""
    made = []

    def make(**options):
        root = tarn_test.make_folder()
        if options.get("options") and "--all-users" in options["options"]:
            os.chmod(root, 0o711)
        daemon = tarn_test.Daemon(root, **options)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.stop()
    for daemon in made:
        try:
            daemon.check_words()
        finally:
            tarn_test.remove_folder(daemon.root)


@pytest.fixture
def daemon(make_daemon):
    """One that runs, with four synthetic GPUs."""
    daemon = make_daemon()
    daemon.start()
    return daemon


@pytest.fixture
def api(daemon):
    return daemon.api


def pytest_collection_modifyitems(items):
    """With $TARN_E2E_HOST: what cannot be tested from another machine is skipped, with the reason."""
    if not os.environ.get("TARN_E2E_HOST"):
        return
    import far

    for item in items:
        reason = far.reason_of(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_sessionfinish(session, exitstatus):
    """Tests that were all skipped count as skipped, not as passed: status 77."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter and reporter.stats.get("skipped") and not reporter.stats.get("passed"):
        session.exitstatus = 77


@pytest.fixture(scope="session")
def compiled():
    """Compiles a file of this folder; gives the path of what came of it."""
    folder = tarn_test.make_folder()
    done = {}

    def compile_file(name, *options):
        if name not in done:
            path = os.path.join(folder, name.replace(".c", ""))
            subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", *options, "-o",
                            path, os.path.join(tarn_test.HERE, name)], check=True, timeout=120)
            os.chmod(folder, 0o755)
            done[name] = path
        return done[name]

    yield compile_file
    tarn_test.remove_folder(folder)


@pytest.fixture
def make_shifted(make_daemon, compiled, tmp_path):
    """Makes daemons, each with clocks that the test sets: daemon.set_clock(seconds that the wall clock is ahead, and journal time)."""
    library = compiled("clock_shift.c", "-shared", "-fPIC")

    def make(**options):
        daemon = make_daemon(**options)
        path = tmp_path / f"shift-{os.path.basename(daemon.root)}"
        daemon.extra.update(LD_PRELOAD=library, CLOCK_SHIFT=str(path))
        daemon.set_clock = lambda wall, journal=0: path.write_text("%d %d" % (wall, journal))
        daemon.set_clock(0)
        return daemon

    return make


@pytest.fixture(scope="session")
def roots():
    """A folder for systems of their own (fresh_root.py)."""
    folder = tarn_test.make_folder()
    os.chmod(folder, 0o755)
    yield folder
    tarn_test.remove_folder(folder)


@pytest.fixture(scope="session")
def base(roots):
    """The Debian that tarn is built on."""
    return fresh_root.make(roots, "bookworm")


@pytest.fixture(scope="session")
def old(roots):
    """The oldest Debian at hand: glibc 2.31, Python 3.9."""
    return fresh_root.make(roots, "bullseye")


@pytest.fixture(scope="session")
def debs(roots):
    """The Debian packages: name -> path."""
    given = os.environ.get("TARN_DEBS")
    found = fresh_root.find_debs(given) if given else fresh_root.build_debs(fresh_root.ROOT, os.path.join(roots, "debs"))
    assert sorted(found) == ["libtarn-dev", "libtarn0", "tarn", "tarn-node", "tarn-slurm"]
    return found
