"""The workflow of a GitHub Classroom repository: each push is graded, a test for each exercise."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from fractions import Fraction

from gpulearn_grading.course.selection import Assignment, points_of

HANDED_IN = "handed_in/submission"
LIMITS = ".github/grading.toml"  # what an answer may use, in the repository
HEAD = """\
# Grades each push as `python -m gpulearn grade` does; GitHub Classroom reads the scores from the
# last step.
name: Autograding Tests
on: [push, workflow_dispatch]
permissions:
  actions: read
  checks: write
  contents: read
jobs:
  run-autograding-tests:
    runs-on: ubuntu-latest
    if: github.actor != 'github-classroom[bot]'
    steps:
      - uses: actions/checkout@v4
        with:
          path: {handed_in}
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - name: Install
        run: pip install uv && uv pip install --system --torch-backend=cpu {requirement}
      # Ubuntu 24.04 lets no ordinary process make the namespaces in which answers run
      - name: Walls round the answers
        run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 || true
      - name: Grade
        continue-on-error: true # the tests below say which answer has no verdict
        run: >-
          python -m gpulearn grade handed_in --settings {handed_in}/{limits}
          --output results.csv --exercises {exercises}
"""
# shows the hint; the exit status is the verdict
TEST = """\
      - name: {name}
        id: {name}
        uses: classroom-resources/autograding-command-grader@v1
        with:
          test-name: {name}
          command: >-
            python -c 'import json; [student] = json.load(open("results.json"))["students"];
            [told] = [v for v in student["verdicts"] if v["exercise"] == "{name}"];
            print(told["kind"], told["hint"]); exit(not told["passed"])'
          timeout: 1
          max-score: {points}
"""
REPORTER = """\
      - name: Autograding Reporter
        uses: classroom-resources/autograding-grading-reporter@v1
        env:
{results}
        with:
          runners: {runners}
"""


def workflow(assignments: Sequence[Assignment], requirement: str) -> str:
    """The workflow's YAML; the requirement is what `pip install` is given to get this package.

    No exercises of the instructor's own: a student's repository may not hold their solutions.
    """
    points = points_of(assignments)
    head = HEAD.format(
        handed_in=HANDED_IN,
        limits=LIMITS,
        requirement=json.dumps(requirement),
        exercises=shlex.quote(",".join(points)),
    )
    factor = scale(assignments)
    tests = [TEST.format(name=name, points=round(p * factor)) for name, p in points.items()]
    results = "\n".join(
        f"          {name.upper()}_RESULTS: ${{{{ steps.{name}.outputs.result }}}}"
        for name in points
    )
    return "".join([head, *tests, REPORTER.format(results=results, runners=",".join(points))])


def scale(assignments: Sequence[Assignment]) -> int:
    """What all points are multiplied by there, since GitHub Classroom knows whole ones alone."""
    return math.lcm(*(Fraction(str(p)).denominator for p in points_of(assignments).values()))
