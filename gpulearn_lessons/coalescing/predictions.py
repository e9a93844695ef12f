"""What notebook 04 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "two_small_pictures",
        {
            "all that is too much": "That would need pieces of which several threads want a "
            "pixel each. Here each piece holds only one that is wanted.",
            "half of it": "That would need two wanted pixels in each piece.",
            "nothing": "",
        },
        came="f\"{eighth.arrays['image'].bytes_moved - eighth.arrays['image'].bytes_at_least:,} "
        "of {eighth.arrays['image'].bytes_moved:,} bytes\"",
    ),
    Number(
        "warps_of_a_block",
        "warps",
        {
            4: "4 would be right if each y began a warp. Threads are counted on, x fastest.",
            16: "16 would be right if a warp was a column of the block.",
            64: "64 is the number of threads.",
        },
        came="int(warp.copy_to_host().max()) + 1",
    ),
    Choices(
        "odd_lanes",
        {
            "they invert their pixels at the same time": "That would need two instructions at "
            "once. A warp carries out one line at a time.",
            "they wait": "",
            "they darken theirs too, for nothing": "That would need lanes that write what is "
            "wrong. A lane that is switched off reads and writes nothing.",
        },
    ),
    Number(
        "stride_2",
        "sectors",
        {
            2: "2 is the stride.",
            4: "4 would be right if only the number of elements counted, not where they lie.",
            16: "16 would be right if two lanes shared a sector. Four do: it spans 8 float32.",
            32: "32 would be right if each lane was delivered to by itself.",
            64: "64 is how many elements the request spans.",
        },
        came="walks[2].totals.sectors_per_load",
    ),
    Number(
        "stride_16",
        "sectors",
        {
            4: "4 would be right if only the number of elements counted, not where they lie.",
            8: "8 belongs to stride 2.",
            16: "16 belongs to stride 4.",
            64: "64 would be 4 × 16. There are 32 lanes, and each needs one sector at most.",
        },
        came="walks[16].totals.sectors_per_load",
    ),
    Choices(
        "better_than_4",
        {
            "shifted by 8": "8 float32 are one whole sector: 4 sectors again, the next ones.",
            "backwards": "That would need a sector less. The same 4 are touched, in other order.",
            "each 32 shuffled": "The 32 elements of a warp stay the same, and so do their 4 "
            "sectors.",
            "one for all": "",
        },
        came="f\"one for all, {gathered['one for all'].arrays['source'].sectors_per_load:g}\"",
    ),
    Number(
        "factor_for_bytes",
        "times",
        {
            2: "2 would be right for numbers of 16 bytes.",
            4: "4 belongs to float64.",
            8: "8 would be right if a byte took the room of a float32.",
        },
        came="factors['uint8']",
    ),
    Number(
        "stride_8_falls_behind",
        "times",
        {
            8: "8 counts the load alone. The store keeps its 4 sectors.",
            9: "9 compares 36 sectors with 4. A copy with stride 1 moves 8: 4 read, 4 written.",
            5: "5 would need 40 sectors; it is 32 + 4.",
        },
        came="(walks[8].totals.sectors_per_load + walks[8].totals.sectors_per_store)"
        " / (walks[1].totals.sectors_per_load + walks[1].totals.sectors_per_store)",
    ),
    Choices(
        "two_copies",
        {
            "one of them is wrong": "That would need a pixel that is left out or put elsewhere. "
            "In both, each thread copies one pixel to its own place.",
            "nothing": "That would be right if neighbours in a column lay as close together in "
            "memory as neighbours in a row.",
            "the second asks for eight times as many bytes": "That would be right if a picture "
            "was stored column after column. NumPy stores it row after row.",
            "the first asks for eight times as many bytes": "",
        },
        came="f'{slow.totals.bytes_moved / fast.totals.bytes_moved:g} times as many bytes'",
    ),
    Number(
        "square_blocks",
        "sectors",
        {
            32: "32 would be right if all lanes had rows of their own. A warp has 16 threads in "
            "x now, and 2 in y.",
            8: "8 would be right for a warp of 8 rows and 4 columns, as in a block of 8 × 32.",
            4: "4 would be right for a warp that covers 8 columns or more.",
            2: "2 is the number of columns that a warp covers.",
        },
        came="shapes['16 × 16, x is the row'].totals.sectors_per_load",
    ),
    Choices(
        "spared_by_caches",
        {
            "none: too many bytes are asked for": "That would be right if each request was for "
            "new bytes. Seven of eight are for bytes that another warp of the block wants too.",
            "L2 alone": "That would need blocks that touch more than an L1 holds.",
            "both, L1 for a block and L2 for all": "",
            "L1 alone": "That would need a picture and a copy that are larger than an L2 of 4 MB.",
        },
        came="gl.estimate(slow, 'T4').caches",
    ),
    Number(
        "requests_on_the_way",
        "requests",
        {
            1: "1 would be right if memory answered before the next request can be made.",
            32: "32 would be right with twice the latency or twice the bandwidth.",
            400: "400 would be one request in each cycle: 128 bytes in a cycle, for each of 40 "
            "multiprocessors, are 25 times what memory delivers.",
            632: "632 is for the whole GPU: 40 multiprocessors share them.",
        },
        came="each / 128",
        within=0.3,
    ),
    Choices(
        "walk_on_a_gpu",
        {
            "row_maxima, as on the CPU": "That would be right if one thread's next step counted. "
            "What counts is what 32 lanes read in the same step.",
            "column_maxima": "",
            "both alike: each reads every element once": "That would be right if single numbers "
            "were delivered, not sectors.",
        },
    ),
    Number(
        "three_apart",
        "sectors",
        {
            4: "4 would be right if the reds lay side by side.",
            32: "32 would be right if each red had a sector of its own. They are 12 bytes apart, "
            "so two or three share one.",
            3: "3 is the number of colours.",
            16: "16 would be right at 16 bytes from red to red; it is 12.",
        },
        came="interleaved.totals.sectors_per_load",
    ),
    Number(
        "transpose_read",
        "sectors",
        {
            4: "4 is what it writes. The read walks down a column of the picture.",
            8: "8 would be right at 8 bytes from lane to lane; it is a whole row.",
        },
        came="to_rows.totals.sectors_per_load",
    ),
)
