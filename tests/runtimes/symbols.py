"""Do the tables know what each HIP runtime exports, and what it imports from the HSA runtime?

symbols.py                   every stored import (hsa_imports.txt) has a row in the agent's table
                             (tests/recorder/calls_test.cpp compares the exports with the recorder's)
symbols.py VERSION LIBRARY   the stored columns of VERSION are what LIBRARY, that version's libamdhip64,
                             exports and imports
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def stored(file, version=None):
    """The names in a stored list, or those of one version."""
    lines = [line.split() for line in (HERE / file).read_text().splitlines() if line[:1] != "#"]
    return {name for name, *versions in lines if version is None or version in versions}


def rows(file, macro):
    return set(re.findall(rf"^{macro}\((\w+)", (HERE.parents[1] / file).read_text(), re.MULTILINE))


def symbols(library, kinds, *options):
    """Of a shared library's dynamic symbols, those of these kinds, without their versions."""
    listed = subprocess.run(["nm", "--dynamic", *options, library], check=True, capture_output=True, text=True)
    found = (line.split()[-2:] for line in listed.stdout.splitlines())
    return {name.split("@")[0] for kind, name in found if kind in kinds}


def compare(what, expected, found):
    """Prints differences; how many there are."""
    for name in sorted(expected - found):
        print(f"{what}: {name} is missing")
    for name in sorted(found - expected):
        print(f"{what}: {name} is new")
    return len(expected ^ found)


def main(arguments):
    differences = 0
    if not arguments:
        known = rows("hsa/api/hsa_calls.inc", r"GFXGRAPH_HSA_(?:CALL|REFUSED)")
        imports = stored("hsa_imports.txt")
        if not imports or not known:
            sys.exit("no rows or no stored imports")
        differences = compare("hsa/api/hsa_calls.inc", imports, known & imports)
    elif len(arguments) == 2:
        version, library = arguments
        exports = stored("hip_exports.txt", version)
        imports = stored("hsa_imports.txt", version)
        if not exports or not imports:
            sys.exit(f"nothing is stored for version {version}")
        differences += compare(f"exports of {library}", exports, symbols(library, "TW", "--defined-only"))
        found = {name for name in symbols(library, "U", "--undefined-only") if name.startswith("hsa_")}
        differences += compare(f"imports of {library}", imports, found)
    else:
        sys.exit(__doc__)
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
