"""What a GPU did, measured or recorded, beside what a model says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import plain
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.memory_requests import access
from gpulearn.plot.recorders.loading import gpu_rows, sheet_of
from gpulearn.plot.recorders.measuring import torch_on
from gpulearn.plot.recorders.reductions import LIVE_VALUES, record_reductions
from gpulearn.plot.recorders.strides import LIVE_NUMBERS, OFFSETS, STRIDES, record_strides
from gpulearn.plot.recorders.training import BATCH, PRECISIONS, record_training
from gpulearn.plot.recorders.transposes import SHOWN, record_transposes
from gpulearn.plot.style import LINES, figure
from gpulearn.tables import Table, table

if TYPE_CHECKING:
    from simt.report.report import Report

# useful GB/s of 1024 × 1024 float32 on a Tesla K20c, whose data sheet says 208 GB/s: M. Harris,
# "An Efficient Matrix Transpose in CUDA C/C++", NVIDIA developer blog, 2013,
# developer.nvidia.com/blog/efficient-matrix-transpose-cuda-cc; a thread moves four elements there
PUBLISHED = {"straight": 55.3, "tile 32 × 32": 97.6, "tile 32 × 33": 144.3}
NOTHING = "No GPU here, and no times recorded."
# seconds for 2²² whole numbers of 4 bytes on a G80, whose memory moves 86.4 GB/s: M. Harris,
# "Optimizing Parallel Reduction in CUDA", NVIDIA 2007,
# developer.download.nvidia.com/assets/cuda/files/reduction.pdf
PUBLISHED_SUMS = {
    "interleaved": 8.054e-3,
    "packed": 3.456e-3,
    "sequential": 1.722e-3,
    "striding, unrolled": 0.268e-3,
}
PUBLISHED_BYTES, G80_BANDWIDTH = 4 * 2**22, 86.4e9


def compare_transposes(reports: Mapping[str, Report]) -> Table:
    """The useful bytes a second of transposes: modeled, published, and measured or recorded.

    Modeled is a large matrix: the bandwidth of the data sheet by the share of the moved bytes
    that is useful, without what a launch takes.

    Args:
        reports: a name of `PUBLISHED` → the report of its launch, for the model.
    """
    require.named("reports", reports, '{"straight": report, …}')
    times = gpu_rows("transposes", record_transposes)
    timed = times.where(n=SHOWN) if times else []
    useful = {r["kernel"]: f"{r['useful'] / r['seconds'] / 1e9:,.0f}" for r in timed}
    origin = times.provenance if times and timed else None
    sheet = sheet_of(origin.where) if origin else None
    rows = []
    for name, report in reports.items():
        require.choice("transpose", name, PUBLISHED)
        share = report.totals.bytes_requested / report.totals.bytes_moved
        row = {"kernel": name, "K20c, published": f"{PUBLISHED[name]:.0f}"}
        for gpu in filter(None, dict.fromkeys(("T4", sheet))):
            row[f"{gpu}, modeled"] = plain(gpu_spec(gpu).bandwidth * share / 1e9)
        if origin:
            row[f"{sheet or origin.where}, {origin.kind}"] = useful.get(name, "–")
        rows.append(row)
    caption = (
        "Useful GB/s: the bytes of image and out by the time. Published: M. Harris, NVIDIA, 2013. "
        "Modeled: bandwidth of the data sheet, no launch, no banks."
    )
    if origin:
        label, copy = str(origin), useful.get("copy", "–")
        caption += f" {label[0].upper()}{label[1:]}, {SHOWN} × {SHOWN}; a plain copy there: {copy}."
    return table(rows, caption=caption)


def sum_times() -> Table:
    """The times of the sums of notebook 07, under the floor that no kernel gets below.

    The floor is the least that any must move, by the bandwidth of the data sheet. Where nothing is
    timed, four plans have the times that were published for them.
    """
    times = gpu_rows("reductions", lambda: record_reductions(LIVE_VALUES))
    if times is None or not times.rows:
        works = [(name, PUBLISHED_BYTES, took) for name, took in PUBLISHED_SUMS.items()]
        moved, bandwidth = PUBLISHED_BYTES, G80_BANDWIDTH
        caption = (
            f"{NOTHING} Floor: {moved // 2**20} MiB at {bandwidth / 1e9:g} GB/s. The others: "
            "published by M. Harris, NVIDIA, in 2007 for a G80, with integers."
        )
    else:
        works = [(row["kernel"], row["bytes"], row["seconds"]) for row in times.rows]
        moved, bandwidth = min(row["bytes"] for row in times.rows), 0.0
        caption = f"Times: {times.provenance}."
        # no GPU is held against another's data sheet
        if sheet := sheet_of(times.provenance.where):
            bandwidth = gpu_spec(sheet).bandwidth
            floor = f"Floor: {moved / 2**20:,.0f} MiB, modeled by the {sheet}'s data sheet."
            caption = f"{floor} The others: {times.provenance}."
    if bandwidth:
        works.insert(0, ("floor: memory alone", moved, moved / bandwidth))
    rows = [
        {"kernel": name, "time": format_seconds(took), "GB/s": plain(size / took / 1e9)}
        for name, size, took in works
    ]
    return table(rows, caption=caption)


def compare_precisions() -> Table:
    """Images a second in training by precision, beside the peaks of the data sheet.

    A row for each precision, a column for each network that was timed.
    """
    times = gpu_rows("training", record_training, torch_on)
    timed = times.where(batch=BATCH) if times else []
    sheet = (sheet_of(times.provenance.where) if times else None) or "H200"
    networks = dict.fromkeys(row["network"] for row in timed)
    images = {(r["network"], r["precision"]): f"{BATCH / r['seconds']:,.0f}" for r in timed}
    rows = []
    for precision in PRECISIONS:
        peak = gpu_spec(sheet).peak.get(precision)
        row = {"precision": precision, f"{sheet}: TFLOP/s": f"{peak / 1e12:,.0f}" if peak else "–"}
        rows.append(row | {name: images.get((name, precision), "–") for name in networks})
    caption = f"Images a second at a batch of {BATCH:,}: {times.provenance}." if times else NOTHING
    return table(rows, caption=f"Peaks: the {sheet}'s data sheet. {caption}")


BEST = 4  # sectors that a request of float32 writes, and reads at best
Curve = Mapping[int, float]


def strides() -> Picture:
    """Draw the useful bytes a second of a copy over its stride, and over its offset.

    One curve is a model: every sector comes from memory, at the bandwidth of the data sheet.
    Beside it stands what a GPU does, measured where there is one, else recorded, if it has been.
    """
    times = gpu_rows("strides", lambda: record_strides(LIVE_NUMBERS))
    sheet = sheet_of(times.provenance.where) if times else "T4"
    curves: dict[str, tuple[Curve, Curve]] = {}
    if sheet is not None:
        most = gpu_spec(sheet).bandwidth * 2 * BEST
        curves[f"modeled, every sector from memory:\nthe {sheet}'s data sheet"] = (
            {s: most / (BEST + access(s).sectors) for s in STRIDES},
            # every offset: a line from 8 to 16 would hide that 9 to 15 cost a fifth sector
            {o: most / (BEST + access(1, o).sectors) for o in range(max(OFFSETS) + 1)},
        )
    if times is not None:
        curves[str(times.provenance)] = (
            _rates(times.where(offset=0), "stride"), _rates(times.where(stride=1), "offset")
        )  # fmt: skip
    with figure(9.4, 4.0, columns=2, sharey=True, width_ratios=(3, 2)) as (fig, (left, right)):
        for number, (label, (strides, offsets)) in enumerate(curves.items()):
            modeled = label.startswith("modeled")  # a line alone; what was timed has markers
            look = {"linestyle": "-"} if modeled else LINES[number]
            left.plot(list(strides), [r / 1e9 for r in strides.values()], label=label, **look)
            right.plot(list(offsets), [r / 1e9 for r in offsets.values()], **look)
            if modeled:  # the name beside its curve, where it falls
                left.annotate(label, (4, strides[4] / 1e9), (8, 8), textcoords="offset points",
                              fontsize=9, color="C0")  # fmt: skip
        left.set(xlabel="stride (float32)", ylabel="useful bytes (GB/s)", ylim=(0, None))
        left.set_xscale("log", base=2)
        right.set(xlabel="offset (float32), stride 1", xscale="linear")
        left.xaxis.set_major_formatter("{x:g}")
        caption = "; ".join(_said_of_strides(label, *both) for label, both in curves.items())
        caption = f"Useful GB/s of a copy, over its stride and over its offset: {caption}."
        if len(curves) > 1:
            fig.legend(loc="outside lower center", ncols=2, fontsize=9)
            caption += (
                " Where the GPU does better than the model, a cache has spared memory a sector, "
                "such as the fifth of a shifted request, which is the first of the neighboring "
                "warp. Where it does worse, something costs that the model leaves out."
            )
        return show(fig, caption)


def _rates(rows: list[dict[str, Any]], axis: str) -> Curve:
    return dict(sorted((row[axis], row["useful"] / row["seconds"]) for row in rows))


def _said_of_strides(label: str, strides: Curve, offsets: Curve) -> str:
    apart = ", ".join(
        f"{strides[s] / 1e9:,.0f} at stride {s}" for s in (1, 2, 8, 32) if s in strides
    )
    shifted = f", {offsets[1] / 1e9:,.0f} shifted by 1" if 1 in offsets else ""
    return f"{' '.join(label.split())}, {apart}{shifted}"
