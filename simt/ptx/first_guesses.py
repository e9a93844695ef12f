"""Plain reads of what an atomic writes, which are right all the same.

A loop around `atomicCAS` begins with a read of the place: whatever it gives is a guess, which the
compare-and-swap confirms or corrects (CUDA C++ Programming Guide, "Atomic Functions"). The same
holds for the read in front of an exchange that a loop tries again and again.
"""

import re

from simt.ptx.parse import Function, Instruction

COPIES = ("mov", "cvta", "add")
TESTS = ("and", "cvt", "shr", "xor", "bfe")  # of bits of a flag, before they are compared
Origins = dict[str, tuple[str, int]]


def first_guesses(function: Function) -> set[int]:
    """The numbers of the loads whose value an atomic of the same address checks."""
    code = function.instructions
    origin = _copy_origins(code)
    confirmed: dict[tuple[str, int], list[int]] = {}
    for at, i in enumerate(code):
        if i.op[0] == "atom" and {"cas", "exch"} & set(i.op):
            confirmed.setdefault(_address(i.operands[1], origin), []).append(at)
    loops = [
        (function.labels[i.operands[0]], at)
        for at, i in enumerate(code)
        if i.op[0] == "bra" and function.labels[i.operands[0]] <= at
    ]
    guesses = set()
    for at, i in enumerate(code):
        if i.op[0] != "ld" or "param" in i.op or not confirmed:
            continue
        for atomic in confirmed.get(_address(i.operands[1], origin), ()):
            again = any(first <= at <= last and first <= atomic <= last for first, last in loops)
            if "cas" in code[atomic].op or again:
                guesses.add(at)
    return guesses


def _copy_origins(code: list[Instruction]) -> Origins:
    """For each register that is only ever another one and a number, these two."""
    copies: Origins = {}
    stored: set[str] = set()
    for i in code:
        target = i.operands[0] if i.operands else ""
        added = i.operands[2] if i.op[0] == "add" else "0"
        if i.op[0] in COPIES and target not in stored and re.fullmatch(r"-?\d+", added):
            copies[target] = i.operands[1], int(added)
        else:
            copies.pop(target, None)
        stored.add(target)
    return copies


def _address(operand: str, origin: Origins) -> tuple[str, int]:
    """`[%rd4+8]` in terms of the register that the address was made from."""
    register, _, offset = operand.strip("[]").partition("+")
    at = int(offset or 0)
    while register in origin:
        register, addend = origin[register]
        at += addend
    return register, at


def _users(function: Function, register: str) -> list[Instruction]:
    """The instructions that read a register."""
    read = re.compile(re.escape(register) + r"\b")
    return [i for i in function.instructions if read.search(" ".join(i.operands[1:]))]


def polls(function: Function, register: str, depth: int = 3) -> bool:
    """Whether the value of a register only decides branches, as that of a flag does."""
    users = _users(function, register)
    for i in users:
        further = i.op[0] in TESTS and depth and polls(function, i.operands[0], depth - 1)
        if i.op[0] != "setp" and not further:
            return False
    return bool(users)


def waits_for(function: Function, load: Instruction, register: str, depth: int = 3) -> bool:
    """Whether a loop around a load goes on until the value in `register` says so."""
    at = next(n for n, i in enumerate(function.instructions) if i is load)
    for i in _users(function, register):
        if i.op[0] not in ("setp", *TESTS):
            continue
        result = i.operands[0]
        loops = i.op[0] == "setp" and any(
            branch.op[0] == "bra" and branch.guard == result
            and function.labels[branch.operands[0]] <= at <= n
            for n, branch in enumerate(function.instructions)
        )  # fmt: skip
        if loops or (depth and waits_for(function, load, result, depth - 1)):
            return True
    return False


def strength(i: Instruction) -> str:
    """How far a load or store is strong: not at all, in its block ("cta"), everywhere ("sys").

    PTX ISA, "Memory Consistency Model": two strong operations, each of which has the other's thread
    in its scope, are no data race. There `volatile` means relaxed with system scope; but C++ has a
    data race where a volatile variable is written beside other accesses, and it orders nothing.
    """
    if "volatile" in i.op:
        return "volatile"
    if not {"relaxed", "acquire", "release"} & set(i.op):
        return ""
    return "cta" if "cta" in i.op else "sys"
