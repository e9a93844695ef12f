"""`python -m gpulearn`: what this machine has, and what the course will use of it."""

import ctypes
import json
import os
import sys
from importlib.util import find_spec
from typing import Any

from gpulearn import __version__
from gpulearn.require import OPTIONAL, install_command, installed
from simt.device import driver, selection
from simt.errors import DeviceError


def banner() -> None:
    """Print the two lines that stand at the top of every notebook."""
    device = selection.current()
    if device.kind == "gpu":
        what = f"GPU: {device.gpus[0]}"
    elif device.gpus:
        what = f"{device.reason}: kernels run on the SIMT machine"
    else:
        what = f"{device.reason}: kernels run on the SIMT machine; GPU times: recorded or modeled"
    # JupyterLab breaks a longer line in the middle of a word
    print(
        f"gpulearn {__version__} · CPU: {selection.cpu_name()}, {selection.cores()} cores\n{what}"
    )


def memory(platform: str = sys.platform) -> int:
    """The machine's memory in bytes."""
    if platform != "win32":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    kilobytes = ctypes.c_ulonglong()
    kernel32 = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes))
    return kilobytes.value * 1024


def torch_report() -> dict[str, Any]:
    """What torch was built for and can use; empty where it is not installed."""
    if find_spec("torch") is None:
        return {}
    import torch
    import torch.distributed as dist

    return {
        "cuda": torch.version.cuda,
        "gpu": selection.torch_gpu(),
        "gloo": dist.is_available() and dist.is_gloo_available(),
        "nccl": dist.is_available() and dist.is_nccl_available(),
    }


def parts(kind: str, torch: dict[str, Any], cores: int) -> dict[str, str]:
    """What each part of the course will use on a machine."""
    on_gpu = torch.get("gpu", False)
    cpu = f"the CPU with {cores} threads"
    nothing = "nothing: torch is not installed"
    ranks = "the GPUs, by NCCL" if on_gpu and torch.get("nccl") else f"{cpu}, by gloo"
    return {
        "1 The machine": "the GPU, live" if on_gpu else "the CPU; GPU times recorded or modeled",
        "2 CUDA in Numba": "the GPU" if kind == "gpu" else "the SIMT machine on the CPU",
        "3 Gradient descent": (("the GPU" if on_gpu else cpu) if torch else nothing),
        "4 Many GPUs": ranks if torch else nothing,
    }


def report() -> dict[str, Any]:
    """Everything that is printed, as plain data."""
    here = selection.current()
    torch = torch_report()
    names = ("numpy", "numba", "numba-cuda", *OPTIONAL)
    versions = {name: installed(name) for name in names}
    missing = {
        name: install_command(extra)
        for name, (_, extra) in OPTIONAL.items()
        if versions[name] is None
    }
    if here.gpus and versions["numba-cuda"] is None:
        missing["numba-cuda"] = install_command("gpu")
    if here.gpus and torch and not torch["gpu"]:
        missing["torch with CUDA"] = install_command("torch") + " --reinstall"
    return {
        "gpulearn": __version__,
        "python": sys.version.split()[0],
        "cpu": selection.cpu_name(),
        "cores": selection.cores(),
        "memory_bytes": memory(),
        "device": here.kind,
        "reason": here.reason,
        "gpus": [
            {
                "name": g.name,
                "memory_bytes": g.memory,
                "driver": driver.version(),
                "driver_cuda": g.driver,
            }
            for g in here.gpus
        ],
        "versions": versions,
        "torch": torch,
        "parts": parts(here.kind, torch, selection.cores()),
        "missing": missing,
    }


def as_text(state: dict[str, Any]) -> str:
    """The report as a person reads it."""
    torch = state["torch"]
    lines = [
        f"gpulearn {state['gpulearn']} on Python {state['python']}",
        f"CPU      {state['cpu']}, {state['cores']} cores, {state['memory_bytes'] / 2**30:.0f} GiB",
    ]
    lines += [
        f"GPU      {gpu['name']}, {gpu['memory_bytes'] / 2**30:.0f} GiB, "
        f"driver {gpu['driver']} for CUDA {gpu['driver_cuda']}"
        for gpu in state["gpus"]
    ]
    packages = ", ".join(f"{name} {v}" for name, v in state["versions"].items() if v)
    lines.append(f"Kernels  run on the {state['device'].upper()}: {state['reason']}")
    lines.append(f"Packages {packages}")
    if torch:
        has = [name for name in ("gloo", "nccl") if torch[name]]
        build = f"CUDA {torch['cuda']}" if torch["cuda"] else "the CPU"
        lines.append(f"torch    built for {build}; ranks talk by {', '.join(has) or 'nothing'}")
    lines += ["", "The course will use"]
    lines += [f"  Part {part}: {what}" for part, what in state["parts"].items()]
    if state["missing"]:
        lines += ["", "Missing"]
        lines += [
            f"  {name} ({OPTIONAL[name][0]}): {how}" if name in OPTIONAL else f"  {name}: {how}"
            for name, how in state["missing"].items()
        ]
    return "\n".join(lines)


def print_report(as_json: bool) -> int:
    """Print the report; the exit status, 2 if `GPULEARN_DEVICE` asks for what is not here."""
    try:
        state = report()
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(state, indent=1) if as_json else as_text(state))
    return 0
