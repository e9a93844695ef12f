"""Stands in for Nsight Compute where there is no GPU: runs the program, prints ncu's tables.

Its numbers are those in the file `STAND_IN_COUNTS`, case → metric → number, unless `STAND_IN`,
a JSON object in the environment as well, asks for something else:
    layout    "details" for a row per metric
    unlisted  metrics that --query-metrics leaves out
    refused   metrics that are listed and end the profiling
    off       metric → what is added to it
    fault     "permission", "hang", "silent" (lists no metrics), or "crash" in the third launch
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

WISH = json.loads(os.environ.get("STAND_IN", "{}"))
ARGUMENTS = sys.argv[1:]
HEADER = [
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
    "Block Size", "Grid Size", "Device", "CC",
]  # fmt: skip


def option(name: str) -> str:
    return ARGUMENTS[ARGUMENTS.index(name) + 1]


def query() -> None:
    from tools.gpu.counters import metrics

    if WISH.get("fault") == "silent":
        return
    which = option("--query-metrics-collection") if len(ARGUMENTS) > 1 else "profiling"
    homes = {"launch__": "launch", "memory_": "source"}
    print("Device NVIDIA H200 (GH100)\n" + "-" * 40 + "\nMetric Name   Metric Type  Metric Unit\n")
    for name in dict.fromkeys(metrics.base(n) for group in metrics.GROUPS for n in group):
        home = next((home for start, home in homes.items() if name.startswith(start)), "profiling")
        if home == which and name not in WISH.get("unlisted", ()):
            print(f"{name:60}  Counter  inst  # of them")


def mangled(entry: dict[str, str]) -> str:
    name = entry["kernel"]
    return f"_ZN8gpulearn7kernels4some{len(name)}{name}B2v1B8cw51cXTLE5ArrayIfLi1E1C7mutableE"


def values(case: str, names: list[str]) -> list[tuple[str, str, str]]:
    """Metric, unit and cell, with thousands' commas, for each metric."""
    known = json.loads(Path(os.environ["STAND_IN_COUNTS"]).read_text())[case]
    for metric, more in WISH.get("off", {}).items():
        known[metric] = known.get(metric, 0) + more
    return [(n, "inst", f"{known[n]:,}" if n in known else "(!) n/a") for n in names]


def table(entries: list[dict[str, str]], names: list[str], process: int) -> str:
    out = io.StringIO()
    write = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow
    details = WISH.get("layout") == "details"
    blank = [""] * len(HEADER)
    if details:
        write([*HEADER, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name"])
    else:
        write([*HEADER, *names])
        write([*blank, *("inst" for _ in names)])
    shape = ["1", "7", "(128, 1, 1)", "(8, 1, 1)", "0", "9.0"]
    probe = {"kernel": "probe", "launch": entries[0]["launch"]} if entries else None
    for process_id, some in ((process + 1, [probe] if probe else []), (process, entries)):
        for number, entry in enumerate(some):
            row = [str(number), str(process_id), "python3", "127.0.0.1", mangled(entry), *shape]
            cells = values(entry["launch"], names)
            if details:
                for name, unit, cell in cells:
                    write([*row, "Command line profiler metrics", name, unit, cell])
            else:
                write([*row, *(cell for _, _, cell in cells)])
    return out.getvalue()


def run() -> int:
    log, names = Path(option("--log-file")), option("--metrics").split(",")
    child = ARGUMENTS[ARGUMENTS.index("--log-file") + 2 :]
    asked, journal = Path(child[-3]), Path(child[-2])
    fault = WISH.get("fault")
    if fault == "hang":
        time.sleep(60)
    cases = asked.read_text().splitlines()
    crash = fault == "crash" and len(cases) > 2
    if crash:
        asked.write_text("\n".join(cases[:2]))
    said = "==PROF== Connected to process 7 (/usr/bin/python3)\n"
    if fault == "permission":
        said += (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
            "Performance Counters on the target device 0.\n"
        )
        log.write_text(said)
        return 1
    refused = [name for name in names if name.partition(".")[0] in WISH.get("refused", ())]
    if refused:
        pattern = refused[0].replace(".", r"\.")
        log.write_text(said + rf"==ERROR== Failed to find metric regex:^{pattern}(\.|$)" + "\n")
        return 1
    subprocess.run(child, check=True)
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    launched = [entry for entry in entries if "launch" in entry]
    for entry in launched:
        said += f'==PROF== Profiling "{entry["kernel"]}": 0%....50%....100% - 9 passes\n'
    said += "==PROF== Disconnected from process 7\n"
    log.write_text(said + table(launched, names, entries[0]["process"]))
    if crash:
        kernel = "never_profiled"
        with journal.open("a") as file:
            file.write(json.dumps({"launch": cases[2], "kernel": kernel}) + "\n" + '{"lau')
        print("Segmentation fault")
        return 139
    return 0


if __name__ == "__main__":
    if "--version" in ARGUMENTS:
        print("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 1)")
    elif "--query-metrics" in ARGUMENTS:
        query()
    else:
        sys.exit(run())
