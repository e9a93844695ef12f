"""Who runs when: a kernel's blocks one after the other, and the threads of each between points.

Where no thread waits for another, a block is a loop over its threads. Else the threads of a warp
run to their next points one after the other. An operation of the warp takes place when all lanes
that its mask names have come to it, a barrier when all threads of the block have. The blocks of a
cooperative launch all have begun before one goes on for the second time.
"""

from __future__ import annotations

from simt.ptx.memory import LOCAL_BITS, POISON
from simt.ptx.native.translator import BARRIER, FAULTS, FRAME, OWN, SAID, TURN, WARP, Translator
from simt.ptx.parse import WINDOWS
from simt.ptx.program import PtxProgram

__all__ = ["Kernel"]

MASKS = ("ready", "done", "barrier", "warp", "turn", "exists")  # of each warp, 32 of each kind
MOST_TURNS = 1 << 18  # of a block's threads that all wait: then nothing helps
HALF = 1 << (LOCAL_BITS - 1)

MOST_COPIED = 5_000  # instructions of the loops that follow each point of a kernel
RUN = "define i64 @run(ptr noalias %frame, i64 %first, i64 %last) {\nentry:"
LOOPS = """define internal i64 @threads(
  ptr noalias %frame, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z, ptr noalias %shared,
  ptr noalias %F.local, ptr noalias %F.state, ptr noalias %F.said, i32 %phase, i1 %skips
) {
entry:"""
# goes on where an access of %size bytes at %offset of %whole bytes is inside, and aligned
IN_BOUNDS = """  %less = sub i64 %size, 1
  %limit = call i64 @llvm.usub.sat.i64(i64 %whole, i64 %less)
  %outside = icmp uge i64 %offset, %limit
  %low.bits = and i64 %offset, %less
  %askew = icmp ne i64 %low.bits, 0
  %bad = or i1 %outside, %askew
  br i1 %bad, label %nowhere, label %good
"""
PRELUDE = f"""
define internal ptr @find_global(ptr %frame, ptr %row, i64 %a, i64 %size, i64 %word) noinline {{
entry:
  %at = getelementptr i64, ptr %frame, i64 {FRAME.index("table")}
  %table = load ptr, ptr %at
  %at.count = getelementptr i64, ptr %frame, i64 {FRAME.index("count")}
  %count = load i64, ptr %at.count
  br label %head
head:
  %low = phi i64 [ 0, %entry ], [ %low.next, %turn ]
  %high = phi i64 [ %count, %entry ], [ %high.next, %turn ]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %turn, label %found
turn:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %begin = shl i64 %middle, 2
  %base.at = getelementptr i64, ptr %table, i64 %begin
  %base = load i64, ptr %base.at
  %below = icmp ule i64 %base, %a
  %next = add i64 %middle, 1
  %low.next = select i1 %below, i64 %next, i64 %low
  %high.next = select i1 %below, i64 %high, i64 %middle
  br label %head
found:
  %none = icmp eq i64 %low, 0
  br i1 %none, label %nowhere, label %look
look:
  %last = sub i64 %low, 1
  %start = shl i64 %last, 2
  %here = getelementptr i64, ptr %table, i64 %start
  %mine = load i64, ptr %here
  %offset = sub i64 %a, %mine
  %limit.at = getelementptr i64, ptr %here, i64 %word
  %whole = load i64, ptr %limit.at
{IN_BOUNDS}good:
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %here, i64 32, i1 false)
  %data.at = getelementptr i64, ptr %here, i64 3
  %data = load ptr, ptr %data.at
  %place = getelementptr i8, ptr %data, i64 %offset
  ret ptr %place
nowhere:
  ret ptr null
}}

define internal ptr @find_private(ptr %spaces, i64 %which, ptr %base, i64 %a, i64 %size) {{
entry:
  %count = load i64, ptr %spaces
  %up = add i64 %a, {HALF}
  %number = lshr i64 %up, {LOCAL_BITS}
  %known = icmp ult i64 %number, %count
  br i1 %known, label %look, label %nowhere
look:
  %double = shl i64 %number, 2
  %side = shl i64 %which, 1
  %index = add i64 %double, %side
  %after = add i64 %index, 1
  %row = getelementptr i64, ptr %spaces, i64 %after
  %whole = load i64, ptr %row
  %start.at = getelementptr i64, ptr %row, i64 1
  %start = load i64, ptr %start.at
  %first = shl i64 %number, {LOCAL_BITS}
  %offset = sub i64 %a, %first
{IN_BOUNDS}good:
  %further = add i64 %start, %offset
  %place = getelementptr i8, ptr %base, i64 %further
  ret ptr %place
nowhere:
  ret ptr null
}}

define internal ptr @find_generic(
  ptr %frame, ptr %row, i64 %a, i64 %size, i64 %word, ptr %s, ptr %l
) noinline {{
entry:
  %far = icmp uge i64 %a, {1 << 39}
  br i1 %far, label %global, label %near
global:
  %found = call ptr @find_global(ptr %frame, ptr %row, i64 %a, i64 %size, i64 %word)
  ret ptr %found
near:
  %at = getelementptr i64, ptr %frame, i64 {FRAME.index("spaces")}
  %spaces = load ptr, ptr %at
  %is.local = icmp uge i64 %a, {WINDOWS["local"] - HALF}
  %window = select i1 %is.local, i64 {WINDOWS["local"]}, i64 {WINDOWS["shared"]}
  %base = select i1 %is.local, ptr %l, ptr %s
  %which = zext i1 %is.local to i64
  %inner = sub i64 %a, %window
  %place = call ptr @find_private(ptr %spaces, i64 %which, ptr %base, i64 %inner, i64 %size)
  ret ptr %place
}}

define internal i32 @matching(ptr %values, i64 %mine) {{
entry:
  br label %head
head:
  %lane = phi i32 [ 0, %entry ], [ %next, %head ]
  %bits = phi i32 [ 0, %entry ], [ %more, %head ]
  %at = getelementptr i64, ptr %values, i32 %lane
  %value = load i64, ptr %at
  %same = icmp eq i64 %value, %mine
  %wide = zext i1 %same to i32
  %bit = shl i32 %wide, %lane
  %more = or i32 %bits, %bit
  %next = add i32 %lane, 1
  %end = icmp eq i32 %next, 32
  br i1 %end, label %done, label %head
done:
  ret i32 %more
}}
"""
FUNCTION = """
@{name}.data = external global i8
declare void @{name}(ptr, ptr, ptr, ptr)
define internal {t} @numpy.{function}.{kind}({t} %x) noinline {{
  %in = alloca {t}
  %out = alloca {t}
  %args = alloca [2 x ptr]
  %count = alloca i64
  %steps = alloca [2 x i64]
  store {t} %x, ptr %in
  store ptr %in, ptr %args
  %second = getelementptr ptr, ptr %args, i64 1
  store ptr %out, ptr %second
  store i64 1, ptr %count
  store i64 {size}, ptr %steps
  %other = getelementptr i64, ptr %steps, i64 1
  store i64 {size}, ptr %other
  call void @{name}(ptr %args, ptr %count, ptr %steps, ptr @{name}.data)
  %result = load {t}, ptr %out
  ret {t} %result
}}
"""


class Kernel(Translator):
    """A kernel as the text of an LLVM module: `i64 run(ptr frame, i64 first, i64 last)`.

    The result is 0, or says why the blocks from the first to before the last have not all run: 1 if
    it was stopped from outside, else a number of `FAULTS`.

    Raises:
        NotNative: it holds what is not translated.
    """

    def __init__(
        self, program: PtxProgram, block: tuple[int, int, int], *, even: bool = True
    ) -> None:
        super().__init__(program, block, even=even)
        functions = [PRELUDE]
        if not self.warps:
            self._loops()
            functions.append(self._function(LOOPS, ("shared", "local", "state", "said")))
        self._blocks()
        functions.append(self._function(RUN))
        functions += [
            FUNCTION.format(
                name=f"simt_{name}_{kind}", function=name, kind=kind,
                t="float" if kind == "f32" else "double", size=4 if kind == "f32" else 8,
            )
            for name, kind in sorted(self.functions)
        ]  # fmt: skip
        self.text = "\n".join([*functions, '!1 = !{!"branch_weights", i32 1, i32 100000}', ""])

    def _function(self, head: str, given: tuple[str, ...] = ()) -> str:
        """What has been written since the last as a function; `given` words are its parameters."""
        lines = ["%point = alloca i32", "%yes = alloca i32", "%here = alloca i32"]
        for k, name in enumerate(FRAME):
            if name not in given:
                kind = "ptr" if k >= FRAME.index("shared") else "i64"
                first = ".first" if self.together and name in OWN else ""
                lines += [f"%F.{name}.at = getelementptr i64, ptr %frame, i64 {k}",
                          f"%F.{name}{first} = load {kind}, ptr %F.{name}.at"]  # fmt: skip
        for axis, size in zip("xyz", self.block, strict=True):
            lines += [f"%ntid.{axis} = add i32 0, {size}",
                      f"%nctaid.{axis} = trunc i64 %F.g{axis} to i32"]  # fmt: skip
        ends = ["stopped:", "ret i64 1"]
        for name, number in FAULTS.items():
            ends += [f"fault.{name}:", f"ret i64 {number}"]
        text = "\n".join([head, *self.variables, *lines, *self.head, *self.lines, *ends, "}"])
        self.variables, self.head, self.lines, self._open = [], [], [], True
        return text

    # --- blocks

    def _blocks(self) -> None:
        self.variables += ["%block.at = alloca i64", "%again = alloca i32", "%wait = alloca i32"]
        self.do("store i64 %first, ptr %block.at")
        for place in ("%again", "%wait"):
            self._set(place, "0")
        self.label("blocks")
        block = self.op("load i64, ptr %block.at")
        self.branch(self.op(f"icmp ult i64 {block}, %last"), "block", "end")
        self.label("block")
        stop = self.op("load volatile i64, ptr %frame")
        self.unless(self.op(f"icmp ne i64 {stop}, 0"), "stopped")
        self.do(f"store volatile i64 {block}, ptr %F.block.at")
        row = self.op(f"udiv i64 {block}, %F.gx")
        places = {"x": self.op(f"urem i64 {block}, %F.gx"), "y": self.op(f"urem i64 {row}, %F.gy"),
                  "z": self.op(f"udiv i64 {row}, %F.gy")}  # fmt: skip
        for axis, place in places.items():
            self.do(f"%ctaid.{axis} = trunc i64 {place} to i32")
        if self.together:
            own = self.op(f"mul i64 {block}, %F.own")
            for name in OWN:
                self.do(f"%F.{name} = getelementptr i8, ptr %F.{name}.first, i64 {own}")
        self.do("%shared = bitcast ptr %F.shared to ptr")
        if self.together:
            self.branch(self.op(f"icmp ne i32 {self._get('%again')}, 0"), "resume", "begin")
            self.label("begin")
        if self.sizes["shared"] or self._dynamic:
            self._poison("%shared", self.op(f"add i64 %F.dynamic, {self.sizes['shared'] + 15}"))
        if self.points and self.sizes["local"]:
            self._poison("%F.local", str(self.sizes["local"] * self.threads))
        for name in SAID:
            self._set(self.said(name), "0")
        if self.warps:
            self._warps(block)
        else:
            self._rounds(block)
        self.label("next")
        self.do(f"store i64 {self.op(f'add i64 {block}, 1')}, ptr %block.at")
        self.jump("blocks")
        self.label("end")
        if self.together:
            with self.when(self.op(f"icmp ne i32 {self._get('%wait')}, 0")):
                self._set("%wait", "0")
                self._count_turn("%again")
                self.do("store i64 %first, ptr %block.at")
                self.jump("blocks")
        self.leave("ret i64 0")

    def _count_turn(self, place: str) -> None:
        turns = self.op(f"add i32 {self._get(place)}, 1")
        self._set(place, turns)
        self.unless(self.op(f"icmp ugt i32 {turns}, {MOST_TURNS}"), "fault.waits")

    @property
    def _dynamic(self) -> bool:
        return any(a.space == "shared" and not a.size for _, a in self.program.own_arrays)

    def _poison(self, base: str, size: str) -> None:
        """What nobody has written, as in the executor; in words of 16 bytes."""
        word = int.from_bytes(POISON.tobytes() * 4, "little")
        with self.each(self.op(f"shl i64 {self.op(f'lshr i64 {size}, 4')}, 1"), "i64") as k:
            self.do(f"store i64 {word}, ptr {self.op(f'getelementptr i64, ptr {base}, i64 {k}')}")

    # --- threads that wait at barriers only

    def _loops(self) -> None:
        """The threads of a block, one after the other, from the point `phase` to the next one.

        The result is a fault's number, else 256 times the point where all that are left wait, with
        bit 40 if some are done. `skips` says that some were before.
        """
        low, high, gone = (self.variable("i32", name) for name in ("low", "high", "gone"))
        for place, value in ((low, -1), (high, 0), (gone, 0)):
            self._set(place, str(value))
        x, y, z = map(str, self.block)
        with self.each(z) as k, self.each(y) as j, self.each(x) as i:
            skip = self.name("skip")
            row = self.op(f"add i32 {self.op(f'mul i32 {k}, {y}')}, {j}")
            self.do(f"%thread = add i32 {self.op(f'mul i32 {row}, {x}')}, {i}")
            for axis, place in zip("xyz", (i, j, k), strict=True):
                self.do(f"%tid.{axis} = add i32 {place}, 0")
            ended = self.op("getelementptr i32, ptr %F.points, i32 %thread")
            if self.points:
                with self.when("%skips"), self.when(self.op(f"icmp ne i32 {self._get(ended)}, 0")):
                    self.jump(skip)
                self._set("%point", "%phase")
            self._find_local()
            if not self.points and self.sizes["local"]:
                self._poison("%local", str(self.sizes["local"]))
            self.thread()
            self.label("leave")
            if self.points:
                came = self._get("%point")
                with self.when(self.op(f"icmp eq i32 {came}, 0")):
                    self._set(ended, "1")
                    self._set(gone, "1")
                    self.jump(skip)
                for name, place in (("umin", low), ("umax", high)):
                    self._set(place, self.call(name, "i32", self._get(place), came))
            self.label(skip)
        first, last = self._get(low), self._get(high)
        some = self.op(f"icmp ne i32 {last}, 0")
        unlike = self.op(f"and i1 {some}, {self.op(f'icmp ne i32 {first}, {last}')}")
        self.unless(unlike, "fault.barrier")
        result = self.op(f"shl i64 {self.op(f'zext i32 {last} to i64')}, 8")
        ends = self.op(f"shl i64 {self.op(f'zext i32 {self._get(gone)} to i64')}, 40")
        self.leave(f"ret i64 {self.op(f'or i64 {result}, {ends}')}")

    def _rounds(self, block: str) -> None:
        """A block from barrier to barrier; what each of a few begins with is code of its own."""
        phase, skips, came = self.variable("i32"), self.variable("i1"), self.variable("i64")
        self._set(phase, "0")
        self.do(f"store i1 false, ptr {skips}")
        size = 4 * self.threads
        self.do(f"call void @llvm.memset.p0.i64(ptr %F.points, i8 0, i64 {size}, i1 false)")
        self.label("round")
        now, skipping = self._get(phase), self.op(f"load i1, ptr {skips}")
        handed = "ptr %frame, " + "".join(f"i32 %ctaid.{axis}, " for axis in "xyz")
        handed += "ptr %shared, ptr %F.local, ptr %F.state, ptr %F.said"
        size = len(self.points) * len(self.flat.code)
        own = range(len(self.points) + 1 if size <= MOST_COPIED else 1)
        self.branch(skipping, "any", "whole")
        self.label("whole")
        targets = " ".join(f"i32 {k}, label %phase.{k}" for k in own)
        self.leave(f"switch i32 {now}, label %any [ {targets} ]")
        for k in own:
            self.label(f"phase.{k}")
            result = self.op(f"call i64 @threads({handed}, i32 {k}, i1 false) alwaysinline")
            self.do(f"store i64 {result}, ptr {came}")
            self.jump("gather")
        self.label("any")
        if self.points:
            result = self.op(f"call i64 @threads({handed}, i32 {now}, i1 {skipping}) noinline")
            self.do(f"store i64 {result}, ptr {came}")
        self.jump("gather")
        self.label("gather")
        result = self.op(f"load i64, ptr {came}")
        fault = self.op(f"and i64 {result}, 255")
        self.branch(self.op(f"icmp ne i64 {fault}, 0"), "failed", "good", rare=True)
        self.label("failed")
        self.leave(f"ret i64 {fault}")
        self.label("good")
        if not self.points:
            self.jump("next")
            return
        then = self.op(f"trunc i64 {self.op(f'lshr i64 {result}, 8')} to i32")
        ended = self.op(f"icmp ne i64 {self.op(f'lshr i64 {result}, 40')}, 0")
        self.branch(self.op(f"icmp eq i32 {then}, 0"), "next", "go")
        self.label("go")
        some = self.op(f"or i1 {skipping}, {ended}")
        self.do(f"store i1 {some}, ptr {skips}")
        with self.when(some):
            self.do(f"store i64 {block}, ptr %F.noted.at")
        self._pass_barrier()
        self._set(phase, then)
        self.jump("round")

    def _pass_barrier(self) -> None:
        """What the threads of a block said at a barrier is what they hear behind it."""
        for name in ("true", "all"):
            self._set(self.said(f"{name}.seen"), self._get(self.said(name)))
            self._set(self.said(name), "0")

    def _find_local(self) -> None:
        """Where a thread's own arrays are; all are there at once if threads wait."""
        if self.points:
            start = self.op(f"mul i32 %thread, {self.sizes['local']}")
            self.do(f"%local = getelementptr i8, ptr %F.local, i32 {start}")
        else:
            self.do("%local = bitcast ptr %F.local to ptr")

    # --- warps

    def _mask_at(self, name: str, warp: str) -> str:
        place = self.op(f"add i32 {warp}, {32 * MASKS.index(name)}")
        return self.op(f"getelementptr i32, ptr %F.warps, i32 {place}")

    def _get(self, place: str) -> str:
        return self.op(f"load i32, ptr {place}")

    def _set(self, place: str, value: str) -> None:
        self.do(f"store i32 {value}, ptr {place}")

    def _warps(self, block: str) -> None:
        warps = str(-(-self.threads // 32))
        with self.each(warps) as w:
            left = self.op(f"sub i32 {self.threads}, {self.op(f'shl i32 {w}, 5')}")
            whole = self.op(f"icmp uge i32 {left}, 32")
            some = self.op(f"sub i32 {self.op(f'shl i32 1, {left}')}, 1")
            exists = self.select(whole, "i32", "-1", some)
            for name in ("ready", "exists"):
                self._set(self._mask_at(name, w), exists)
            self._set(self._mask_at("done", w), self.op(f"xor i32 {exists}, -1"))
            for name in ("barrier", "warp", "turn"):
                self._set(self._mask_at(name, w), "0")
        with self.each(str(self.threads)) as t:
            self._set(self.op(f"getelementptr i32, ptr %F.points, i32 {t}"), "0")
        var = {name: self.variable("i32", name) for name in ("turn", "left", "live", "gone")}
        if self.together:
            self.jump("round")
            self.label("resume")
            self._let_go(warps, "turn")
        self.label("round")
        for place in var.values():
            self._set(place, "0")
        with self.each(warps) as w:
            self._warp(w, var)
        # the whole block
        if TURN in self.kinds:  # those who only let others go on have their turn again
            with self.when(self.op(f"icmp ne i32 {self._get(var['turn'])}, 0")):
                if self.together:
                    self._set("%wait", "1")
                    self.jump("next")
                else:
                    self._count_turn(self.said("turns"))
                    stop = self.op("load volatile i64, ptr %frame")
                    self.unless(self.op(f"icmp ne i64 {stop}, 0"), "stopped")
                    self._let_go(warps, "turn")
                    self.jump("round")
        live = self.op(f"icmp eq i32 {self._get(var['live'])}, 0")
        come = self.name("come")
        self.branch(live, "next", come)
        self.label(come)
        if BARRIER not in self.kinds:
            self.jump("fault.barrier")
            return
        self.unless(self.op(f"icmp ne i32 {self._get(var['left'])}, 0"), "fault.barrier")
        with self.when(self.op(f"icmp ne i32 {self._get(var['gone'])}, 0")):
            self.do(f"store i64 {block}, ptr %F.noted.at")
        for name in ("gathered", "turns"):
            self._set(self.said(name), "0")
        self._pass_barrier()
        self._let_go(warps, "barrier")
        self.jump("round")

    def _let_go(self, warps: str, kind: str) -> None:
        """Those of a block who wait in one way go on."""
        with self.each(warps) as w:
            place, ready = self._mask_at(kind, w), self._mask_at("ready", w)
            self._set(ready, self.op(f"or i32 {self._get(ready)}, {self._get(place)}"))
            self._set(place, "0")

    def _warp(self, w: str, var: dict[str, str]) -> None:
        """The lanes of a warp, until all of them wait for other warps or are done."""
        places = {name: self._mask_at(name, w) for name in MASKS}
        again, lanes, all_stopped, out = (
            self.name(n) for n in ("again", "lanes", "stopped", "out")
        )
        self.label(again)
        ready = self._get(places["ready"])
        self.branch(self.op(f"icmp ne i32 {ready}, 0"), lanes, all_stopped)
        self.label(lanes)
        less = self.op(f"sub i32 {ready}, 1")
        self._set(places["ready"], self.op(f"and i32 {ready}, {less}"))
        lane = self.op(f"call i32 @llvm.cttz.i32(i32 {ready}, i1 true)")
        self.do(f"%thread = add i32 {self.op(f'shl i32 {w}, 5')}, {lane}")
        point = self.op("getelementptr i32, ptr %F.points, i32 %thread")
        self._set("%point", self._get(point))
        packed = self._get(self.op("getelementptr i32, ptr %F.tids, i32 %thread"))
        self.do(f"%tid.x = and i32 {packed}, 2047")
        self.do(f"%tid.y = and i32 {self.op(f'lshr i32 {packed}, 11')}, 2047")
        self.do(f"%tid.z = lshr i32 {packed}, 22")
        self._find_local()
        self.thread()
        self.label("leave")
        came = self._get("%point")
        self._set(point, came)
        bit = self.op(f"shl i32 1, {lane}")
        kinds = {0: "done", BARRIER: "barrier", WARP: "warp", TURN: "turn"}
        targets = " ".join(
            f"i32 {k + 1}, label %came.{kinds[kind]}" for k, kind in enumerate(self.kinds)
        )
        self.leave(f"switch i32 {came}, label %came.done [ {targets} ]")
        for name in kinds.values():
            self.label(f"came.{name}")
            if name == "barrier":
                before = self._get(self.said("gathered"))
                unlike = self.op(f"icmp ne i32 {before}, {came}")
                some = self.op(f"icmp ne i32 {before}, 0")
                self.unless(self.op(f"and i1 {some}, {unlike}"), "fault.barrier")
                self._set(self.said("gathered"), came)
            place = places[name]
            self._set(place, self.op(f"or i32 {self._get(place)}, {bit}"))
            self.jump(again)
        self.label(all_stopped)
        if WARP in self.kinds:
            waiting = self._get(places["warp"])
            with self.when(self.op(f"icmp ne i32 {waiting}, 0")):
                self._release(w, waiting, places, again)
        self.jump(out)
        self.label(out)
        # what the block has to know of it
        turn, done, barrier = (self._get(places[n]) for n in ("turn", "done", "barrier"))
        live = self.op(f"xor i32 {done}, -1")
        left = self.op(f"and i32 {live}, {self.op(f'xor i32 {barrier}, -1')}")
        gone = self.op(f"and i32 {done}, {self._get(places['exists'])}")
        for name, value in (("turn", turn), ("left", left), ("live", live), ("gone", gone)):
            place = var[name]
            self._set(place, self.op(f"or i32 {self._get(place)}, {value}"))

    def _release(self, w: str, waiting: str, places: dict[str, str], again: str) -> None:
        """Lets lanes of a warp go on whose operation can take place, if there are any."""
        start = self.op(f"shl i32 {w}, 5")
        left = self.variable("i32", "candidates")
        self._set(left, waiting)
        next_one, end, try_one = (self.name(n) for n in ("candidate", "none", "try"))
        self.label(next_one)
        candidates = self._get(left)
        self.branch(self.op(f"icmp ne i32 {candidates}, 0"), try_one, end)
        self.label(try_one)
        lane = self.op(f"call i32 @llvm.cttz.i32(i32 {candidates}, i1 true)")
        self._set(left, self.op(f"and i32 {candidates}, {self.op(f'sub i32 {candidates}, 1')}"))
        thread = self.op(f"add i32 {start}, {lane}")
        mask = self._get(self.op(f"getelementptr i32, ptr %F.masks, i32 {thread}"))
        mine = self._get(self.op(f"getelementptr i32, ptr %F.points, i32 {thread}"))
        same, yes = self.variable("i32", "same"), self.variable("i32", "yeses")
        for place in (same, yes):
            self._set(place, "0")
        with self.each("32") as k:
            other = self.op(f"add i32 {start}, {k}")
            point = self._get(self.op(f"getelementptr i32, ptr %F.points, i32 {other}"))
            value = self.op(
                f"load i64, ptr {self.op(f'getelementptr i64, ptr %F.values, i32 {other}')}"
            )
            self.do(f"store i64 {value}, ptr "
                    f"{self.op(f'getelementptr i64, ptr %F.published, i32 {k}')}")  # fmt: skip
            for place, test in ((same, f"icmp eq i32 {point}, {mine}"),
                                (yes, f"icmp ne i64 {value}, 0")):  # fmt: skip
                bit = self.op(f"shl i32 {self.op(f'zext i1 {self.op(test)} to i32')}, {k}")
                self._set(place, self.op(f"or i32 {self._get(place)}, {bit}"))
        alike = self.op(f"and i32 {self._get(same)}, {waiting}")
        whoever = self.op(f"icmp eq i32 {mask}, 0")
        named = self.op(f"and i32 {self.op(f'lshr i32 {mask}, {lane}')}, 1")
        lacks = self.op(f"xor i1 {whoever}, true")
        lacks = self.op(f"and i1 {lacks}, {self.op(f'icmp eq i32 {named}, 0')}")
        self.unless(lacks, "fault.mask")
        gone = self._get(places["done"])
        need = self.op(f"and i32 {mask}, {self.op(f'xor i32 {gone}, -1')}")
        group = self.select(whoever, "i32", alike, need)
        left_early = self.op(f"and i32 {mask}, {gone}")
        left_early = self.op(f"and i32 {left_early}, {self._get(places['exists'])}")
        missing = self.op(f"and i32 {group}, {self.op(f'xor i32 {alike}, -1')}")
        go = self.name("go")
        self.branch(self.op(f"icmp eq i32 {missing}, 0"), go, next_one)
        self.label(go)
        with self.when(self.op(f"icmp ne i32 {left_early}, 0")):
            self.do(f"store i64 {self.op('load i64, ptr %block.at')}, ptr %F.noted.at")
        self._set("%here", group)
        self._set("%yes", self.op(f"and i32 {self._get(yes)}, {group}"))
        self._set(places["ready"], group)
        self._set(places["warp"], self.op(f"xor i32 {waiting}, {group}"))
        self.jump(again)
        self.label(end)
