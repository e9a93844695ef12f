"""Barriers in shared memory in LLVM's form: words as `simt.ptx.mbarriers` lays them out."""

from typing import Any

from simt.ptx.mbarriers import COUNT, EXPECTED, OWED, PHASE
from simt.ptx.native.emitter import Emitter, NotNative
from simt.ptx.parse import Instruction

SIGNED = 64 - PHASE  # bits above what transfers owe
AFTER = f"""(expected if full else left) | expected << {EXPECTED}
| (owing & {(1 << PHASE - OWED) - 1}) << {OWED} | (phase + (1 if full else 0)) << {PHASE}"""


class Mbarriers(Emitter):
    """The instructions of theirs; copies that they wait for are done at once."""

    def arrive(self: Any, place: str, arrivals: str, owed: str, *, drops: bool = False) -> str:
        """So many arrive, and transfers owe so much more; the word before."""
        word: str = self.get(place, "i64")
        parts = {"left": f"(w & {COUNT}) - n", "expected": f"(w >> {EXPECTED} & {COUNT}) - d",
                 "phase": f"w >> {PHASE}"}  # fmt: skip
        fields = {
            name: self.calc("i64", formula, w=word, n=arrivals, d=arrivals if drops else "0")
            for name, formula in parts.items()
        }
        before = self.op(f"ashr i64 {self.op(f'shl i64 {word}, {SIGNED}')}, {SIGNED + OWED}")
        fields["owing"] = self.op(f"add i64 {before}, {owed}")
        wrong = f"w == 0 or left > {COUNT}"  # not there, or more than it expects
        self.unless(self.calc("i64", wrong, w=word, **fields), "fault.barrier")
        fields["full"] = self.calc("i64", "left == 0 and owing == 0", **fields)
        self.set(place, self.calc("i64", " ".join(AFTER.split()), **fields), "i64")
        return word

    def _do_mbarrier(self: Any, i: Instruction) -> None:
        what, operands = i.op[1], i.operands
        wide = [self.bits(self.read(o, "s32"), "s32", "s64") for o in operands[1:] if o[0] != "["]
        if what == "pending_count":
            pending = self.calc("i64", f"w & {COUNT}", w=self.read(operands[1], "u64"))
            self.write(operands[0], pending, "u64")
            return
        place = self.place(i, next(o for o in operands if o[0] == "["), 8, writes=True)
        if what in ("init", "inval"):
            word = self.calc("i64", f"n | n << {EXPECTED}", n=wide[0] if wide else "0")
            self.set(place, word, "i64")
        elif what in ("expect_tx", "complete_tx"):
            sign = "-" * (what == "complete_tx")
            self.arrive(place, "0", self.calc("i64", f"{sign}n", n=wide[0]))
        elif what in ("arrive", "arrive_drop"):
            last = wide[0] if wide else "1"
            numbers = ("1", last) if "expect_tx" in i.op else (last, "0")
            word = self.arrive(place, *numbers, drops=what == "arrive_drop")
            self.write(operands[0], word, "u64")
        elif what in ("test_wait", "try_wait"):
            word, kind = self.get(place, "i64"), "u32" if "parity" in i.op else "u64"
            asked = self.bits(self.read(operands[2], kind), kind, "u64")
            test = "w >> s & 1 != a" if "parity" in i.op else "w >> s != a >> s"
            ended = self.calc("i64", test, w=word, a=asked, s=str(PHASE))
            self.write(operands[0], ended, "pred")
        else:
            raise NotNative(i.name)
