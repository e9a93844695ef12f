"""What notebook 07 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number


def _faster(told: str) -> str:
    times = float(told.split()[0])
    if times < 3:
        return "less than 3 times"
    return "3 to 10 times" if times <= 10 else "more than 10 times"


PREDICTIONS = (
    Choices(
        "sum_of_counts",
        {
            "1,000,000": "That would be right if += 1 were a single step, or if the threads ran "
            "one after the other.",
            "a little less than 1,000,000": "A GPU may come out so. The machine shows the worst "
            "that is allowed: everybody reads before anybody writes.",
            "at most 256": "",
            "more than 1,000,000": "That would need an update that counts twice. A race loses "
            "updates, it never doubles them.",
        },
        came="int(counts.copy_to_host().sum())",
    ),
    Choices(
        "crowded_pictures",
        {
            "the noise": "That would need random pixels to be equal more often than neighbours "
            "are. 32 of them spread over 256 bins.",
            "the black picture alone": "That would need a photograph in which no warp has 32 "
            "equal pixels. In its even black there are such.",
            "photograph and black picture": "",
            "all three alike": "That would be right if the number of updates counted. It is the "
            "same for all three.",
        },
        came="', '.join(f'{name}: {one.totals.atomic_contention}' for name, one in "
        "reports.items())",
    ),
    Number(
        "updates_of_64_blocks",
        "updates",
        {
            0: "0 would be right if nobody merged the copies.",
            64: "64 would be right if a block merged one number. It merges 256 bins.",
            256: "256 would be right for a single block.",
            1000000: "1,000,000 would be right if the threads counted in global memory. They "
            "count in their block's copy.",
        },
        came="reports['copies in 64 blocks'].arrays['counts'].atomics",
    ),
    Number(
        "queue_of_the_black",
        "times",
        {
            1: "1 would be right if all blocks still counted in the same word.",
            32: "32 is the number of lanes. The queue is divided among the blocks.",
            256: "256 would be right if the updates were divided among the bins. All are of one.",
        },
        came="pictures['black'].size / longest(pictures['black'])",
        within=0.05,
    ),
    Number(
        "warps_in_round_5",
        "warps",
        {
            1: "1 would be right if the 8 threads that add were neighbours. They are 32 apart, "
            "one in each warp.",
            4: "4 would be right in round 6, in which every 64th thread adds.",
            0.25: "0.25 would need the lanes that add to be gathered in one warp. Lanes stay "
            "where they are.",
        },
        came="[np.reshape(step.active, (8, 32)).any(axis=1).sum() for step in "
        "interleaved.step(block=0) if 's[t] +=' in interleaved.source[step.line]][4]",
    ),
    Choices(
        "packed_or_sequential",
        {
            "packed": "That would need fewer threads to add in some round. In both plans 128 add "
            "in round 1, then 64, then 32 and so on.",
            "neither: both have as many as interleaved": "That would need threads that add in "
            "every warp. Here the first threads add, so most warps agree.",
            "neither: both have fewer than interleaved": "",
            "sequential": "That would be right if bank conflicts made a warp diverge. They make "
            "it wait, with all its lanes.",
        },
        came="', '.join(f'{name}: {one.totals.divergent_branches:,}' for name, one in "
        "trees.items())",
    ),
    Number(
        "beyond_the_last_lane",
        "",
        {
            0: "0 would need somebody to fill in zeros. A shuffle does not.",
            3: "3 would be right if the lanes stood in a circle.",
            27: "27 is 4 lanes down.",
            35: "35 would need a lane 35.",
        },
        came="answers.copy_to_host()[31]",
    ),
    Number(
        "barriers_of_the_shuffle",
        "for each warp",
        {
            0: "0 would be right for blocks of one warp. With more, the first warp reads what "
            "others have written.",
            2: "2 would be needed if shared memory was written again after it is read.",
            4: "4 would be right if the 8 sums of the warps were added by a tree in shared memory.",
            5: "5 is the number of rounds in a warp. Shuffles need no barrier.",
            10: "10 is the number of shuffles. They need no barrier.",
        },
        came="trees['shuffle'].totals.barriers / (blocks * THREADS // WARP)",
    ),
    Choices(
        "fastest_sum",
        {
            "less than 3 times": "That would be right if divergence, conflicts and barriers cost "
            "little beside reading the values.",
            "3 to 10 times": "That would be right on a GPU on which the tree takes a few times "
            "as long as reading the values.",
            "more than 10 times": "That would be right on a GPU on which the tree takes more than "
            "ten times as long as reading the values.",
        },
        came="'{:.2g} times'.format(max(rates := [float(row[2].replace(',', '')) for row in "
        "times.rows if 'floor' not in row[0]]) / rates[0])",
        pick=_faster,
    ),
    Choices(
        "total_of_block_0",
        {
            "yes": "That would need a barrier for all blocks. syncthreads waits for the threads "
            "of its own block.",
            "no, it is too large": "That would need a sum that is added twice. What is missing "
            "is sums that are not stored yet.",
            "no, it is too small": "",
            "the kernel never ends": "That would need threads that never reach the barrier. In "
            "each block all of them do.",
        },
        came="f'{total.copy_to_host()[0]:,.0f} of {pixels[:4000].sum():,}'",
    ),
    Choices(
        "same_bits",
        {
            "both": "That would need atomic additions in a fixed order. They are made in the "
            "order in which the blocks come.",
            "atomics alone": "That would need two launches in which the order varies. There it "
            "is fixed who adds what to whom.",
            "two launches alone": "That would need atomic sums that round differently from run "
            "to run. They may, but need not.",
            "neither": "That would need an order that varies in both ways. In the two launches "
            "the program fixes it.",
        },
        came="' and '.join(name for name, way in (('two launches', 'sum_in_two_launches'), "
        "('atomics', 'sum_by_atomics')) if len({found[f'{way}, seed {k}'] for k in (1, 2, 3)}) "
        "== 1) or 'neither'",
        pick=lambda told: {
            "two launches": "two launches alone",
            "atomics": "atomics alone",
            "neither": "neither",
        }.get(told, "both"),
    ),
    Number(
        "rows_that_add_up",
        "of 3 rows",
        {
            3: "3 would be right if a float32 had no largest value. It is 3.4·10³⁸, and exp(100) "
            "is larger.",
            1: "1 would need exp(50) to be too large as well. It is about 5·10²¹, and a float32 "
            "goes up to 3.4·10³⁸.",
            0: "0 would need a mistake in the formula. It is right as long as exp does not "
            "overflow.",
        },
        came="np.isclose(out.copy_to_host().sum(axis=1), 1).sum()",
    ),
    Choices(
        "barrier_of_a_round",
        {
            "yes": "That would need all threads of a round to read before any of them writes. "
            "Nothing sees to that.",
            "no, threads below step do not reach it": "That would be right if it stood inside "
            "the if. It stands behind it.",
            "no, a thread may read what has changed": "",
            "no, one is missing before the loop": "That would be right if the barrier behind the "
            "load were not there.",
        },
        came="f'a {report.findings[0].kind}: the last running sum is "
        "{below.copy_to_host()[-1]:,} of {pixels.size:,}'",
    ),
    Choices(
        "barriers_of_the_tree",
        {
            "about half as many": "That would be right if barriers went with the additions. They "
            "go with the rounds.",
            "about as many": "",
            "about twice as many": "That would be right if both plans had one barrier in each "
            "round. The other plan needs two.",
        },
        came="f'{tree.totals.barriers} by the tree, {rounds.totals.barriers} in rounds'",
    ),
    Number(
        "tickets_of_the_warps",
        "times",
        {
            32: "32 would be right if all 32 lanes of a warp wished, in every warp with a ticket.",
            1: "1 would be right if each lane still drew a ticket of its own.",
            256: "256 would be right if a whole block drew one ticket. A warp does.",
        },
        came="tickets['ticket_for_each'].arrays['count'].atomics"
        " / tickets['ticket_for_a_warp'].arrays['count'].atomics",
        within=0.4,
    ),
)
