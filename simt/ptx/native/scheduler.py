"""Who runs when: a kernel's blocks one after the other, and the threads of each between points.

Where no thread waits for another, a block is a loop over its threads. Else the threads of a warp
run to their next points one after the other. An operation of the warp takes place when all lanes
that its mask names have come to it, a barrier when all threads of the block have. The blocks of a
cooperative launch, or that wait for later ones, all begin before one goes on a second time.
"""

from simt.ptx.memory import LOCAL_BITS, POISON
from simt.ptx.native.textures import Fetches
from simt.ptx.native.translator import BARRIER, FAULTS, FRAME, OWN, SAID, TURN, WARP, Triple
from simt.ptx.parse import WINDOWS
from simt.ptx.program import PtxProgram

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
FIND = """define internal ptr @find(
  ptr %frame, ptr %row, i64 %a, i64 %size, i64 %word, i1 %generic, ptr %shared, ptr %local
) noinline {
entry:"""
GIVEN = ("shared", "local", "state", "said")  # words that are handed to those functions
FUNCTION = """
@{name}.data = external global i8
declare void @{name}(ptr, ptr, ptr, ptr)
define internal {t} @numpy.{function}.{kind}({t} %x) noinline {{
  %numbers = alloca [2 x {t}]
  %out = getelementptr {t}, ptr %numbers, i64 1
  %args = alloca [2 x ptr]
  %second = getelementptr ptr, ptr %args, i64 1
  %steps = alloca [2 x i64]
  %other = getelementptr i64, ptr %steps, i64 1
  %count = alloca i64
  store {t} %x, ptr %numbers
  store ptr %numbers, ptr %args
  store ptr %out, ptr %second
  store i64 {size}, ptr %steps
  store i64 {size}, ptr %other
  store i64 1, ptr %count
  call void @{name}(ptr %args, ptr %count, ptr %steps, ptr @{name}.data)
  %result = load {t}, ptr %out
  ret {t} %result
}}
"""


class Kernel(Fetches):
    """A kernel as the text of an LLVM module: `i64 run(ptr frame, i64 first, i64 last)`.

    The result is 0, or says why the blocks from the first to before the last have not all run: 1 if
    it was stopped from outside, else a number of `FAULTS`.
    """

    def __init__(self, program: PtxProgram, block: Triple, **how: bool) -> None:
        super().__init__(program, block, **how)
        ends = {f"fault.{name}": f"i64 {number}" for name, number in FAULTS.items()}
        ends["stopped"] = "i64 1"
        functions = []
        if not self.warps:
            self._loops()
            functions.append(self._function(LOOPS, ends, GIVEN))
        self._blocks()
        functions.append(self._function(RUN, ends))
        for move in self.moves.values():
            functions.append(self._function(self.move(*move), {"fault.memory": "i1 true"}, GIVEN))
        if self.caches:
            self._find()
            functions.append(self._function(FIND, {"nowhere": "ptr null"}, GIVEN))
        for what in self.fetches:
            functions.append(self._function(self.fetch(*what), {"fault.memory": "i1 true"}))
        functions += [
            FUNCTION.format(
                name=f"simt_{name}_{kind}", function=name, kind=kind,
                t="float" if kind == "f32" else "double", size=4 if kind == "f32" else 8,
            )
            for name, kind in sorted(self.functions)
        ]  # fmt: skip
        functions += self.products.values()
        self.text = "\n".join([*functions, '!1 = !{!"branch_weights", i32 1, i32 100000}', ""])

    def _function(self, head: str, ends: dict[str, str], given: tuple[str, ...] = ()) -> str:
        """What has been written since the last as a function that gives one of the ends.

        `given` words are its parameters.
        """
        lines = ["%point = alloca i32", "%yes = alloca i32", "%here = alloca i32",
                 "%matrix = alloca [16 x i64]"]  # fmt: skip
        for k, name in enumerate(FRAME):
            if name not in given:
                kind = "ptr" if k >= FRAME.index("shared") else "i64"
                first = ".first" if self.together and name in OWN else ""
                lines += [f"%F.{name}.at = getelementptr i64, ptr %frame, i64 {k}",
                          f"%F.{name}{first} = load {kind}, ptr %F.{name}.at"]  # fmt: skip
        for axis, size in zip("xyz", self.block, strict=True):
            lines += [f"%ntid.{axis} = add i32 0, {size}",
                      f"%nctaid.{axis} = trunc i64 %F.g{axis} to i32"]  # fmt: skip
        last = [f"{name}:\nret {value}" for name, value in ends.items()]
        text = "\n".join([head, *self.variables, *lines, *self.head, *self.lines, *last, "}"])
        self.variables, self.head, self.lines, self._open = [], {}, [], True
        return text

    def _find(self) -> None:
        """Where the bytes at an address lie, and in `row` the array; null if that is nowhere."""
        with self.when(self.calc("i1", "near & generic", generic="%generic",
                                 near=self.calc("i64", f"a < {1 << 39}", a="%a"))):  # fmt: skip
            windows = {"window": str(WINDOWS["local"]), "half": str(HALF)}
            local = self.calc("i64", "a >= window - half", a="%a", **windows)
            base = self.select(local, "ptr", "%local", "%shared")
            window = self.select(local, "i64", windows["window"], str(WINDOWS["shared"]))
            inner = self.op(f"sub i64 %a, {window}")
            which = self.op(f"zext i1 {local} to i64")
            self.leave(f"ret ptr {self.numbered(which, base, inner, '%size', 'nowhere')}")
        low, high = self.variable("i64"), self.variable("i64")  # the row is one of these
        self.set(low, 0, "i64")
        self.set(high, "%F.count", "i64")
        self.label("head")
        first, last = self.get(low, "i64"), self.get(high, "i64")
        self.branch(self.calc("i64", "a < b", a=first, b=last), "turn", "found")
        self.label("turn")
        middle = self.calc("i64", "a + b >> 1", a=first, b=last)
        start = self.get(self.at("%F.table", self.op(f"shl i64 {middle}, 2"), "i64"), "i64")
        below = self.calc("i64", "start <= a", start=start, a="%a")
        self.update(low, "middle + 1 if below else x", "i64", middle=middle, below=below)
        self.update(high, "x if below else middle", "i64", middle=middle, below=below)
        self.jump("head")
        self.label("found")
        self.unless(self.calc("i64", "n == 0", n=first), "nowhere")
        here = self.at("%F.table", self.calc("i64", "n - 1 << 2", n=first), "i64")
        offset = self.op(f"sub i64 %a, {self.get(here, 'i64')}")
        whole = self.get(self.at(here, "%word", "i64"), "i64")
        self.unless(self.outside(offset, self.limit(whole, "%size"), "%size"), "nowhere")
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr {here}, i64 32, i1 false)")
        self.leave(f"ret ptr {self.at(self.get(self.at(here, 3, 'i64'), 'ptr'), offset, 'i8')}")

    # --- blocks

    def _blocks(self) -> None:
        self.variables += ["%block.at = alloca i64", "%again = alloca i32", "%wait = alloca i32"]
        self.set("%block.at", "%first", "i64")
        for place in ("%again", "%wait"):
            self.set(place, 0)
        self.label("blocks")
        block = self.get("%block.at", "i64")
        self.branch(self.calc("i64", "block < last", block=block, last="%last"), "block", "end")
        self.label("block")
        self.hear()
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
            self.branch(self.calc("i32", "n != 0", n=self.get("%again")), "resume", "begin")
            self.label("begin")
        if self.sizes["shared"] or self._dynamic:
            self._poison("%shared", self.op(f"add i64 %F.dynamic, {self.sizes['shared'] + 15}"))
        if self.points and self.sizes["local"]:
            self._poison("%F.local", str(self.sizes["local"] * self.threads))
        for name in SAID:
            self.set(self.said(name), 0)
        if self.points:
            size = 4 * self.threads
            self.do(f"call void @llvm.memset.p0.i64(ptr %F.points, i8 0, i64 {size}, i1 false)")
        if self.warps:
            self._warps()
        else:
            self._rounds()
        self.label("next")
        self.update("%block.at", "x + 1", "i64")
        self.jump("blocks")
        self.label("end")
        if self.together:
            with self.when(self.calc("i32", "n != 0", n=self.get("%wait"))):
                self.set("%wait", 0)
                self._count_turn("%again")
                self.set("%block.at", "%first", "i64")
                self.jump("blocks")
        self.leave("ret i64 0")

    def _count_turn(self, place: str) -> None:
        self.update(place, "x + 1")
        self.unless(self.calc("i32", f"n > {MOST_TURNS}", n=self.get(place)), "fault.waits")

    def _note(self, some: str) -> None:
        """Notes the block if some of its threads did not come where others wait."""
        with self.when(self.calc("i32", "some != 0", some=some)):
            self.set("%F.noted.at", self.get("%block.at", "i64"), "i64")

    @property
    def _dynamic(self) -> bool:
        return any(a.space == "shared" and not a.size for _, a in self.program.own_arrays)

    def _poison(self, base: str, size: str) -> None:
        """What nobody has written, as in the executor; in words of 16 bytes."""
        word = int.from_bytes(POISON.tobytes() * 4, "little")
        with self.each(self.calc("i64", "size >> 4 << 1", size=size), "i64") as k:
            self.set(self.at(base, k, "i64"), word, "i64")

    # --- threads that wait at barriers only

    def _loops(self) -> None:
        """The threads of a block, one after the other, from the point `phase` to the next one.

        The result is a fault's number, else 256 times the point where all that are left wait, with
        bit 40 if some are done. `skips` says that some were before.
        """
        low, high, gone = (self.variable("i32", name) for name in ("low", "high", "gone"))
        for place, value in ((low, -1), (high, 0), (gone, 0)):
            self.set(place, value)
        x, y, z = map(str, self.block)
        with self.each(z) as k, self.each(y) as j, self.each(x) as i:
            skip = self.name("skip")
            row = self.calc("i32", "k * y + j", k=k, y=y, j=j)
            self.do(f"%thread = add i32 {self.op(f'mul i32 {row}, {x}')}, {i}")
            for axis, place in zip("xyz", (i, j, k), strict=True):
                self.do(f"%tid.{axis} = add i32 {place}, 0")
            ended = self.op("getelementptr i32, ptr %F.points, i32 %thread")
            if self.points:
                with self.when("%skips"), self.when(self.calc("i32", "n != 0", n=self.get(ended))):
                    self.jump(skip)
                self.set("%point", "%phase")
            self._find_local()
            if not self.points and self.sizes["local"]:
                self._poison("%local", str(self.sizes["local"]))
            self.thread()
            self.label("leave")
            if self.points:
                came = self.get("%point")
                with self.when(self.calc("i32", "n == 0", n=came)):
                    self.set(ended, 1)
                    self.set(gone, 1)
                    self.jump(skip)
                for name, place in (("umin", low), ("umax", high)):
                    self.set(place, self.call(name, "i32", self.get(place), came))
            self.label(skip)
        first, last = self.get(low), self.get(high)
        self.unless(self.calc("i32", "b != 0 and a != b", a=first, b=last), "fault.barrier")
        wide, ends = (self.op(f"zext i32 {v} to i64") for v in (last, self.get(gone)))
        self.leave(f"ret i64 {self.calc('i64', 'point << 8 | ends << 40', point=wide, ends=ends)}")

    def _rounds(self) -> None:
        """A block from barrier to barrier; what each of a few begins with is code of its own."""
        phase, skips, came = self.variable("i32"), self.variable("i1"), self.variable("i64")
        self.set(phase, 0)
        self.set(skips, "false", "i1")
        self.label("round")
        now, skipping = self.get(phase), self.get(skips, "i1")
        handed = "ptr %frame, " + "".join(f"i32 %ctaid.{axis}, " for axis in "xyz")
        handed += "ptr %shared, ptr %F.local, ptr %F.state, ptr %F.said"
        size = len(self.points) * len(self.flat.code)
        own = range(len(self.points) + 1 if size <= MOST_COPIED else 1)
        self.branch(skipping, "any", "whole")
        self.label("whole")
        targets = " ".join(f"i32 {k}, label %phase.{k}" for k in own)
        self.leave(f"switch i32 {now}, label %any [ {targets} ]")
        calls = {f"phase.{k}": f"i32 {k}, i1 false) alwaysinline" for k in own}
        if self.points:
            calls["any"] = f"i32 {now}, i1 {skipping}) noinline"
        for label, rest in calls.items():
            self.label(label)
            self.set(came, self.op(f"call i64 @threads({handed}, {rest}"), "i64")
            self.jump("gather")
        if not self.points:
            self.label("any")
        self.label("gather")
        result = self.get(came, "i64")
        fault = self.op(f"and i64 {result}, 255")
        self.unless(self.calc("i64", "n != 0", n=fault), "failed")
        if self.points:
            then = self.op(f"trunc i64 {self.op(f'lshr i64 {result}, 8')} to i32")
            ended = self.calc("i64", "n >> 40 != 0", n=result)
            self.branch(self.calc("i32", "n == 0", n=then), "next", "go")
            self.label("go")
            some = self.op(f"or i1 {skipping}, {ended}")
            self.set(skips, some, "i1")
            self._note(self.op(f"zext i1 {some} to i32"))
            self._pass_barrier()
            self.set(phase, then)
            self.jump("round")
        else:
            self.jump("next")
        self.label("failed")
        self.leave(f"ret i64 {fault}")

    def _pass_barrier(self) -> None:
        """What the threads of a block said at a barrier is what they hear behind it."""
        for name in ("true", "all"):
            self.set(self.said(f"{name}.seen"), self.get(self.said(name)))
            self.set(self.said(name), 0)

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

    def _warps(self) -> None:
        warps = str(-(-self.threads // 32))
        with self.each(warps) as w:
            left = self.calc("i32", f"{self.threads} - (w << 5)", w=w)
            exists = self.calc("i32", "-1 if n >= 32 else (1 << n) - 1", n=left)
            done = self.op(f"xor i32 {exists}, -1")
            for name in MASKS:
                value = {"ready": exists, "exists": exists, "done": done}.get(name, 0)
                self.set(self._mask_at(name, w), value)
        var = {name: self.variable("i32", name) for name in ("turn", "left", "live", "gone")}
        if self.together:
            self.jump("round")
            self.label("resume")
            self._let_go(warps, "turn")
        self.label("round")
        for place in var.values():
            self.set(place, 0)
        with self.each(warps) as w:
            self._warp(w, var)
        # the whole block
        if TURN in self.kinds:  # those who only let others go on have their turn again
            with self.when(self.calc("i32", "n != 0", n=self.get(var["turn"]))):
                if self.together:
                    self.set("%wait", 1)
                    self.jump("next")
                else:
                    self._count_turn(self.said("turns"))
                    self.hear()
                    self._let_go(warps, "turn")
                    self.jump("round")
        come = self.name("come")
        self.branch(self.calc("i32", "n == 0", n=self.get(var["live"])), "next", come)
        self.label(come)
        if BARRIER not in self.kinds:
            self.jump("fault.barrier")
            return
        self.unless(self.calc("i32", "n != 0", n=self.get(var["left"])), "fault.barrier")
        self._note(self.get(var["gone"]))
        for name in ("gathered", "turns"):
            self.set(self.said(name), 0)
        self._pass_barrier()
        self._let_go(warps, "barrier")
        self.jump("round")

    def _let_go(self, warps: str, kind: str) -> None:
        """Those of a block who wait in one way go on."""
        with self.each(warps) as w:
            place = self._mask_at(kind, w)
            self.update(self._mask_at("ready", w), "x | more", more=self.get(place))
            self.set(place, 0)

    def _warp(self, w: str, var: dict[str, str]) -> None:
        """The lanes of a warp, until all of them wait for other warps or are done."""
        places = {name: self._mask_at(name, w) for name in MASKS}
        again, lanes, all_stopped = (self.name(n) for n in ("again", "lanes", "stopped"))
        mine = self.variable("i32")  # the barrier to which its lanes have come
        self.set(mine, 0)
        self.label(again)
        ready = self.get(places["ready"])
        self.branch(self.calc("i32", "n != 0", n=ready), lanes, all_stopped)
        self.label(lanes)
        self.update(places["ready"], "x & x - 1")
        lane = self.op(f"call i32 @llvm.cttz.i32(i32 {ready}, i1 true)")
        self.do(f"%thread = add i32 {self.op(f'shl i32 {w}, 5')}, {lane}")
        point = self.op("getelementptr i32, ptr %F.points, i32 %thread")
        self.set("%point", self.get(point))
        packed = self.get(self.op("getelementptr i32, ptr %F.tids, i32 %thread"))
        self.do(f"%tid.x = and i32 {packed}, 2047")
        self.do(f"%tid.y = and i32 {self.op(f'lshr i32 {packed}, 11')}, 2047")
        self.do(f"%tid.z = lshr i32 {packed}, 22")
        self._find_local()
        self.thread()
        self.label("leave")
        came = self.get("%point")
        self.set(point, came)
        bit = self.op(f"shl i32 1, {lane}")
        kinds = {0: "done", BARRIER: "barrier", WARP: "warp", TURN: "turn"}
        targets = " ".join(
            f"i32 {k + 1}, label %came.{kinds[kind]}" for k, kind in enumerate(self.kinds)
        )
        self.leave(f"switch i32 {came}, label %came.done [ {targets} ]")
        for name in kinds.values():
            self.label(f"came.{name}")
            if name == "barrier":
                whole, test = self.said("gathered"), "n != 0 and n != came"
                unlike = self.calc("i32", test, n=self.get(whole), came=came)
                if self.apart:
                    self._note(self.op(f"zext i1 {unlike} to i32"))
                    unlike = self.calc("i32", test, n=self.get(mine), came=came)
                self.unless(unlike, "fault.barrier")
                for place in (whole, mine):
                    self.set(place, came)
            self.update(places[name], "x | bit", bit=bit)
            self.jump(again)
        self.label(all_stopped)
        if WARP in self.kinds:
            waiting = self.get(places["warp"])
            with self.when(self.calc("i32", "n != 0", n=waiting)):
                self._release(w, waiting, places, again)
        # what the block has to know of it
        masks = {name: self.get(place) for name, place in places.items()}
        for name, formula in (("turn", "turn"), ("left", "~done & ~barrier"), ("live", "~done"),
                              ("gone", "done & exists")):  # fmt: skip
            self.update(var[name], f"x | {formula}", **masks)

    def _release(self, w: str, waiting: str, places: dict[str, str], again: str) -> None:
        """Lets lanes of a warp go on whose operation can take place, if there are any."""
        start = self.op(f"shl i32 {w}, 5")
        left, same, yes = (self.variable("i32", name) for name in ("candidates", "same", "yeses"))
        self.set(left, waiting)
        next_one, end, try_one = (self.name(n) for n in ("candidate", "none", "try"))
        self.label(next_one)
        candidates = self.get(left)
        self.branch(self.calc("i32", "n != 0", n=candidates), try_one, end)
        self.label(try_one)
        lane = self.op(f"call i32 @llvm.cttz.i32(i32 {candidates}, i1 true)")
        self.update(left, "x & x - 1")
        thread = self.op(f"add i32 {start}, {lane}")
        mask, mine = (self.get(self.op(f"getelementptr i32, ptr %F.{name}, i32 {thread}"))
                      for name in ("masks", "points"))  # fmt: skip
        for place in (same, yes):
            self.set(place, 0)
        with self.each("32") as k:
            other = self.op(f"add i32 {start}, {k}")
            point = self.get(self.op(f"getelementptr i32, ptr %F.points, i32 {other}"))
            value = self.get(self.op(f"getelementptr i64, ptr %F.values, i32 {other}"), "i64")
            self.set(self.op(f"getelementptr i64, ptr %F.published, i32 {k}"), value, "i64")
            for place, test in ((same, self.calc("i32", "a == b", a=point, b=mine)),
                                (yes, self.calc("i64", "v != 0", v=value))):  # fmt: skip
                self.mark(place, test, k)
        names = {name: self.get(places[name]) for name in ("done", "exists")}
        names |= {"mask": mask, "lane": lane, "waiting": waiting}
        lacks = self.calc("i32", "mask != 0 and mask >> lane & 1 == 0", **names)
        self.unless(lacks, "fault.mask")
        alike = self.op(f"and i32 {self.get(same)}, {waiting}")
        group = self.calc("i32", "alike if mask == 0 else mask & ~done", alike=alike, **names)
        go = self.name("go")
        complete = self.calc("i32", "group & ~alike == 0", group=group, alike=alike)
        self.branch(complete, go, next_one)
        self.label(go)
        self._note(self.calc("i32", "mask & done & exists", **names))
        self.set("%here", group)
        self.set("%yes", self.op(f"and i32 {self.get(yes)}, {group}"))
        self.set(places["ready"], group)
        self.set(places["warp"], self.op(f"xor i32 {waiting}, {group}"))
        self.jump(again)
        self.label(end)
