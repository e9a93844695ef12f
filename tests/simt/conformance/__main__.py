"""`make conformance`: how many of numba-cuda's own tests pass, by module.

Beside them stand those that pass on Numba's simulator. At the end all tests are accounted for:
those that pass, and of the others how many there are of each reason. `--raise` notes what passes
now as the floor that tests hold; `--failing` lists what fails with the first line of its error.
"""

import argparse
import json
import re
from collections import Counter

from . import suite


def passed(answers):
    return sum(outcome == "passed" for _, outcome, _, _ in answers)


def kind_of(test, outcome, said, seconds):
    """Why a test does not pass, without what is its own."""
    if outcome == "skipped":
        return "skipped by numba-cuda: " + said
    return "failed" if outcome == "failed" else re.split(r" \(|: ", said)[0]


def main():
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    parser.add_argument("--raise", action="store_true", dest="note", help="raise the floor")
    parser.add_argument("--failing", action="store_true", help="list the tests that fail")
    parser.add_argument("--no-simulator", action="store_true", help="the machine alone")
    parser.add_argument("modules", nargs="*", help="such as cudapy.test_atomics; all without")
    options = parser.parse_args()
    chosen = options.modules or suite.modules()
    floors, totals, others = suite.floors(), [0, 0, 0], Counter()
    print(f"{'module':40} {'tests':>6} {'pass':>6} {'simulator':>10}")
    with suite.Driver() as machine, suite.Driver(simulator=True) as simulator:
        for module in chosen:
            answers = machine.run(module)
            others.update(kind_of(*answer) for answer in answers if answer[1] != "passed")
            tests = sum(outcome in ("passed", "failed") for _, outcome, _, _ in answers)
            if not tests and "*" in suite.left_out().get(module, {}):
                continue
            row = [tests, passed(answers)]
            if not options.no_simulator:
                row.append(passed(simulator.run(module)))
            print(f"{module:40} {row[0]:6} {row[1]:6} {row[2] if row[2:] else '':>10}", flush=True)
            totals = [a + b for a, b in zip(totals, [*row, 0], strict=False)]
            if options.failing:
                for test, outcome, said, _ in answers:
                    if outcome == "failed":
                        print(f"    {test}: {said}")
            floors[module] = max(row[1], floors.get(module, 0))
    print(f"{'all':40} {totals[0]:6} {totals[1]:6} {totals[2] or '':>10}")
    print(f"\n{totals[1]} of {totals[1] + others.total()} tests pass; of the others")
    for kind, count in others.most_common():
        print(f"{count:6} {kind}")
    if options.note:
        text = json.dumps(dict(sorted(floors.items())), indent=0)
        (suite.HERE / "floor.json").write_text(text + "\n", encoding="utf-8")


main()
