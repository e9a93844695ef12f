"""The figure of notebook 04: what a copy delivers when neighbouring lanes read apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpulearn.display import Picture, show
from gpulearn.perf.gpus import gpu_spec
from gpulearn.plot.style import LINES, figure
from gpulearn.recorders.loading import GpuRows, sheet_of
from gpulearn.recorders.strides import OFFSETS, STRIDES, sectors, stride_rows

__all__ = ["plot_strides"]

BEST = 4  # sectors that a request of float32 writes, and reads at best
Curve = Mapping[int, float]


def plot_strides() -> Picture:
    """Draw the useful bytes a second of a copy over its stride, and over its offset.

    One curve is a model: every sector comes from memory, at the bandwidth of the data sheet.
    Beside it stands what a GPU does, measured where there is one, else recorded, if it has been.
    """
    found = stride_rows()
    sheet = sheet_of(found.provenance.where) if found else "T4"
    curves = {}
    if sheet is not None:
        curves[f"modelled, every sector from memory:\nthe {sheet}'s data sheet"] = _modelled(sheet)
    if found is not None:
        curves[str(found.provenance)] = _timed(found)
    with figure(9.4, 4.4) as (made, first):
        first.remove()
        left, right = made.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        for (label, (strides, offsets)), look in zip(curves.items(), LINES, strict=False):
            left.plot(list(strides), [r / 1e9 for r in strides.values()], label=label, **look)
            right.plot(list(offsets), [r / 1e9 for r in offsets.values()], **look)
        left.set(xlabel="stride (float32)", ylabel="useful bytes (GB/s)", ylim=(0, None))
        left.set_xscale("log", base=2)
        right.set(xlabel="offset (float32), stride 1", xscale="linear")
        left.xaxis.set_major_formatter("{x:g}")
        made.legend(loc="outside lower center", ncols=2, fontsize=9)
        said = "; ".join(_said(label, *both) for label, both in curves.items())
        return show(made, f"Useful GB/s of a copy, over its stride and over its offset: {said}.")


def _modelled(gpu: str) -> tuple[Curve, Curve]:
    bandwidth = gpu_spec(gpu).bandwidth
    strides = {s: bandwidth * 2 * BEST / (BEST + sectors(s)) for s in STRIDES}
    # every offset: a line from 8 to 16 would hide that 9 to 15 cost a fifth sector
    offsets = {o: bandwidth * 2 * BEST / (BEST + sectors(1, o)) for o in range(max(OFFSETS) + 1)}
    return strides, offsets


def _timed(found: GpuRows) -> tuple[Curve, Curve]:
    def rates(rows: list[dict[str, Any]], axis: str) -> Curve:
        pairs = sorted((row[axis], row["useful"] / row["seconds"]) for row in rows)
        return dict(pairs)

    return rates(found.where(offset=0), "stride"), rates(found.where(stride=1), "offset")


def _said(label: str, strides: Curve, offsets: Curve) -> str:
    apart = ", ".join(
        f"{strides[s] / 1e9:,.0f} at stride {s}" for s in (1, 2, 8, 32) if s in strides
    )
    shifted = f", {offsets[1] / 1e9:,.0f} shifted by 1" if 1 in offsets else ""
    return f"{' '.join(label.split())}, {apart}{shifted}"
