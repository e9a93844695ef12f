"""What notebook 05 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "side_that_loses",
        {
            "its loads": "That would be right if x were the row of the image. It is the column, "
            "so neighbouring lanes load neighbours in a row.",
            "its stores": "",
            "both": "That would need lanes that walk down a column in both arrays. In the image "
            "they walk along a row.",
            "neither": "That would need a row of the image to be a row of out. It is a column of "
            "out, where each pixel lies in a sector of its own.",
        },
        came="f'a load takes {naive.totals.sectors_per_load:g} sectors, a store "
        "{naive.totals.sectors_per_store:g}'",
    ),
    Choices(
        "picture_by_tile",
        {
            "as it should, on its side": "That would need every cell to be filled before any "
            "thread reads it. Nothing in the kernel sees to that.",
            "each tile is turned, but in a wrong place": "That would be right if x0 and y0 were "
            "not swapped in the last line. They are.",
            "most of its pixels are missing": "",
            "each tile is in its place, but not turned": "That would be right if the last line "
            "read tile[ty, tx]. It reads tile[tx, ty].",
        },
        came="f'{np.isnan(picture).mean():.0%} of the pixels hold no number' "
        "if by_tile.findings else 'right'",
    ),
    Choices(
        "diagonal",
        {
            "a transpose leaves the diagonal where it is": "It does, but these pixels too must "
            "be put into the tile before they are taken out of it.",
            "its threads ran first": "That would need single threads that run ahead. Those of a "
            "warp run together, and only one in 32 is on the diagonal.",
            "its cells were filled before the launch": "That would need a shared memory that "
            "begins with the picture in it. Only the threads fill it.",
            "its threads read what they have loaded themselves": "",
        },
    ),
    Choices(
        "barrier_before_both",
        {
            "the picture is whole": "That would need the barrier to stand between the line that "
            "fills a cell and the line that reads it.",
            "nothing": "",
            "the race is gone, pixels are still missing": "That would need another reason for "
            "them to be missing. The race is the reason.",
            "the kernel never ends": "That would need threads that never come to the barrier. "
            "All of them do, at the beginning.",
        },
        came="f'nothing: a {waits_first.findings[0].kind} on the same cells'",
    ),
    Choices(
        "warp_without_barrier",
        {
            "nothing: its lanes run in step": "That would need a promise that they do. Since the "
            "V100 each thread keeps its own place in the program.",
            "a race, and the numbers are wrong": "That may come on a GPU. The machine carries out "
            "a line for a whole warp before the next one.",
            "a race, though the numbers are right": "",
            "a launch that is stopped": "That would need an access out of bounds, or threads that "
            "wait in vain. Nobody waits here.",
        },
        came="f'a {lanes_alone.findings[0].kind}, and the numbers are ' + "
        "('right' if (reversed_line == np.arange(31, -1, -1)).all() else 'wrong')",
    ),
    Number(
        "store_from_the_tile",
        "sectors",
        {
            32: "32 would be right if neighbouring lanes still stored in a column of out. They "
            "store in a row of it.",
            1: "1 holds 8 float32. A warp stores 32 of them.",
            8: "8 is how many float32 share a sector.",
            16: "16 would be right if a warp stored 16 rows of 2 pixels.",
        },
        came="whole.totals.sectors_per_store",
    ),
    Number(
        "stride_of_2_words",
        "passes",
        {
            1: "1 would be right for an odd stride, which takes a word from each of the 32 banks.",
            3: "3 would need three words in one bank. Each bank in use has two.",
            16: "16 banks have two words each, and in one pass each of them gives one.",
            31: "31 is the number of conflicts at a stride of 32.",
            32: "32 would be right for a stride of 32, where all words lie in one bank.",
        },
        came="banks[2].passes",
    ),
    Choices(
        "one_more_word",
        {
            "no conflict is left": "",
            "half of the conflicts are left": "That would need 16 more words: at a stride of 48 "
            "a request takes 16 passes.",
            "the rows conflict as well": "That would need neighbours in a row to share a bank. "
            "They lie in neighbouring banks, however long the row is.",
            "nothing: nobody uses it": "That would be right if an unused word took no room. It "
            "moves each row one bank further than the row before it.",
        },
        came="f'{padded.totals.shared_load_conflicts:,} conflicts, where it was "
        "{whole.totals.shared_load_conflicts:,}'",
    ),
    Choices(
        "tile_or_padding",
        {
            "nearly all of it the tile": "That would be right if passes over shared memory cost "
            "next to nothing. A column of the tile takes 32 of them.",
            "each a good part of it": "",
            "nearly all of it the padding": "That would need sectors that are fetched in vain to "
            "cost next to nothing.",
        },
        came="'{:.2g} times the rate by the tile, and {:.2g} times that by the padding'.format("
        "*(float(b[1]) / float(a[1]) for a, b in zip(rates.rows, rates.rows[1:])))",
    ),
    Choices(
        "guard_round_everything",
        {
            "the right picture": "That would need a barrier that waits only for threads inside the "
            "guard, and a guard that fits the store as well as the load.",
            "an access out of bounds": "A GPU since Volta would come to that, for the guard fits "
            "the load and not the store. The machine stops at the barrier before it.",
            "a picture without its edge": "That would need blocks at the edge in which no thread "
            "passes the guard. In each of them some do.",
            "threads that wait in vain for others": "",
        },
        came="guarded.findings[0].message.split(';')[0]",
    ),
    Choices(
        "rows_too_many",
        {
            "zeros, as before the launch": "That would be right if nobody stored there. The store "
            "has no guard, so every thread stores.",
            "pixels from the edge of the picture": "That would need a thread that loads them for "
            "these cells. The guard of the load leaves the cells empty.",
            "what lay in shared memory before": "",
            "nothing: the launch stops": "That would need an access out of bounds. Every tile "
            "fits into out now.",
        },
        came="f'{np.isnan(out.copy_to_host()[1000:]).mean():.0%} of these rows come from cells "
        "that nobody filled' if overflows.findings else 'zeros'",
    ),
    Number(
        "loads_of_a_pixel",
        "times",
        {
            2: "2 would be right without the window.",
            1.5: "1.5 would need a halo of half a block. It is one cell for 128.",
            129: "129 is how many pixels a block loads, for 128 of its own.",
        },
        came="seen.arrays['image'].bytes_requested / image.nbytes",
        within=0.02,
    ),
    Choices(
        "second_round",
        {
            "all of them": "That would need 256 cells. There are 129.",
            "the last one, thread 127": "That would be right if each thread loaded the cell to "
            "its right. Thread t goes on to cell t + 128.",
            "the 32 threads of warp 0": "That would need a halo of 32 cells. It is one cell, and "
            "31 lanes sit the second round out.",
            "thread 0": "",
        },
        came="'thread ' + ', '.join([str(t) for step in seen.step(block=0)"
        " if 'window[cell] =' in seen.source[step.line]"
        " for t in np.flatnonzero(step.active)][BLOCK:])",
    ),
    Number(
        "blocks_of_48_kb",
        "at a time",
        {
            0: "0 would need less than 48 KB for a block. A T4's multiprocessor has 64 KB.",
            2: "2 would need 96 KB. A T4's multiprocessor has 64 KB.",
            8: "8 would be right if threads were the limit: 8 blocks of 128 are 1,024.",
            16: "16 is the most blocks that a T4's multiprocessor holds, however small they are.",
        },
        came="held[48].blocks",
    ),
    Choices(
        "column_that_tells",
        {
            "sectors per store": "That would need it to store elsewhere. It stores to the right "
            "places, with wrong numbers.",
            "shared load conflicts": "That would need it to read other cells. They are the same, "
            "not yet filled.",
            "barriers": "That would be right if every kernel needed a barrier. The straight one "
            "has none either, and is right.",
            "findings": "",
        },
        came="f'findings: {by_tile.findings[0].kind}'",
    ),
)
