"""What both tools/mutants and tools/mutants-machine do with a bug that they plant."""
import os
import pathlib
import shutil
import sys

root = pathlib.Path(__file__).resolve().parent.parent


def copy_changed(source, target):
    """What is the same stays as old as what was built of it."""
    if not os.path.exists(target) or pathlib.Path(source).read_bytes() != pathlib.Path(target).read_bytes():
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
    return target


def misfit(tree, mutant):
    """Why the bug cannot be planted, as words; None: its pattern stands exactly once in the file."""
    file, old = mutant[1:3]
    path = tree / "src" / file
    if not path.exists():
        return f"NOT PLANTED: there is no {file}"
    count = path.read_text().count(old)
    return None if count == 1 else f"NOT PLANTED: {file} has it {count} times, expected once"


def check_fit(mutants):
    """Ends the program: are all patterns in the source of this tree?"""
    names = [mutant[0] for mutant in mutants]
    wrong = [f"{name}: twice in the table" for name in sorted(set(names)) if names.count(name) > 1]
    for mutant in mutants:
        words = misfit(root, mutant)
        if words:
            wrong.append(f"{mutant[0]}: {words}")
    print("\n".join(wrong) if wrong else f"{len(names)} mutants fit the source")
    sys.exit(1 if wrong else 0)
