"""The recorded ladder over all sizes, as a table."""

from __future__ import annotations

from gpulearn.errors import BadInput
from gpulearn.perf import recordings
from gpulearn.perf.rung_rates import LIBRARY
from gpulearn.tables import Table, table

__all__ = ["compare_sizes"]


def compare_sizes() -> Table:
    """Each rung's share of the library's rate in float32, by size, as recorded on a GPU.

    The last rows are the library itself, with fewer bits: how many times its rate in float32.

    Raises:
        BadInput: there is no recording of the ladder, or none of the library in float32.
    """
    recording = recordings.find("ladder")
    timed = [row for row in recording.rows if "seconds" in row] if recording else []
    library = {
        row["n"]: row["seconds"]
        for row in timed
        if (row["rung"], row["dtype"]) == (LIBRARY, "float32")
    }
    if recording is None or not library:
        raise BadInput("There is no recording of the ladder: `make gpu` on a GPU makes one.")
    cells: dict[str, dict[int, str]] = {}
    for row in sorted(timed, key=lambda row: row["rung"] == LIBRARY):  # the library comes last
        bits = row["dtype"]
        name = row["rung"] if bits == "float32" else f"{row['rung']}, {bits}"
        if row["n"] in library:
            share = library[row["n"]] / row["seconds"]
            cells.setdefault(name, {})[row["n"]] = f"{share:.1%}" if share <= 2 else f"{share:.1f}×"
    rows = [
        {"rung": name} | {f"n = {n}": found.get(n, "–") for n in sorted(library)}
        for name, found in cells.items()
    ]
    return table(rows, f"Share of {LIBRARY}'s rate in float32, {recording.provenance}.")
