"""`python -m gpulearn ranks --nproc-per-node 2 train.py`: torchrun with a watch in each rank."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gpulearn import require
from gpulearn.errors import MissingPackage
from gpulearn.parallel.watch.folder import FOLDER, records, told

WORKER = "gpulearn.parallel.watch.worker"


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit status."""
    try:
        run = require.package("torch.distributed.run", "gpulearn ranks")
    except MissingPackage as fault:
        print("usage: gpulearn ranks [torchrun's options] train.py [its arguments]")
        print(fault, file=sys.stderr)
        return 2
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    from gpulearn.parallel.watch.report import as_page

    parser = run.get_args_parser()
    parser.prog = "gpulearn ranks"
    parser.description = (
        "Run a training script on several ranks as torchrun does, and say at the end what it did "
        "silently wrong: replicas that part, ranks that train on the same samples, steps that are "
        "N times too long. All options but the first three are torchrun's."
    )
    own = parser.add_argument_group("findings")
    own.add_argument("--sanitize", action="store_true", help="end with 1 if there is an error")
    own.add_argument("--report", type=Path, metavar="PAGE.html", help="write findings as a page")
    own.add_argument("--json", type=Path, metavar="FILE", help="write findings as JSON")
    options = parser.parse_args(arguments)
    script = options.training_script
    if not options.module and not Path(script).is_file():
        print(f"gpulearn ranks: there is no file {script!r}", file=sys.stderr)
        return 2
    module = ["-m"] if options.module else []
    options.training_script_args = [*module, script, *options.training_script_args]
    options.training_script, options.module = WORKER, True
    os.environ.setdefault("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "[rank ${rank}] ")
    if options.tee == "0":
        options.tee = "3"  # both streams, each line with that prefix
    with records() as folder:
        os.environ[FOLDER] = folder
        options.log_dir = options.log_dir or folder
        failed = True
        try:
            run.run(options)
            failed = False
        except ChildFailedError as error:
            print(ChildFailedError(script, error.failures), file=sys.stderr)
        finally:  # also when somebody ends it
            findings = told(folder, failed=failed, file=sys.stderr)
    if options.report:
        options.report.write_text(as_page(findings, script), encoding="utf-8")
    if options.json:
        data = [asdict(finding) for finding in findings]
        options.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    errors = any(finding.level == "error" for finding in findings)
    return int(failed or (options.sanitize and errors))
