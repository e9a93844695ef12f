"""What notebook 03 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "random_order",
        {
            "nothing": "",
            "the pixels are shuffled": "That would need round i to write elsewhere than to "
            "pixel i. Each writes to its own pixel, whenever it runs.",
            "some pixels stay black": "That would need rounds that are left out. A permutation "
            "has every number once.",
        },
        came="'nothing' if np.array_equal(in_any_order, negative) else 'it differs'",
    ),
    Number(
        "pixel_of_a_thread",
        "",
        {
            9: "9 is 2 + 7: the block has to be multiplied by the threads of a block.",
            132: "132 would be thread 7 of block 1: blocks are counted from 0.",
            382: "382 would be thread 7 of block 3: before block 2 stand two blocks, 0 and 1.",
            256: "256 would be right if threads were counted from 1.",
            258: "258 would be right if pixels were counted from 1.",
            28: "28 is 7 blocks of 4: 125 is the number of threads in a block.",
        },
        came="pixel",
    ),
    Choices(
        "what_crosses_the_link",
        {
            "the row to the device, out to the host": "That would need somebody to say which "
            "array is only read and which only written. Nothing in the launch says so.",
            "both arrays to the device, out to the host": "That would need the launch to know "
            "that the row is only read. It does not, and copies it back as well.",
            "both arrays, both ways": "",
        },
    ),
    Choices(
        "block_left_out",
        {
            "none of it": "That would need threads that do nothing. Each one does a pixel.",
            "a quarter": "",
            "every fourth pixel": "That would be right if the threads of a block stood 4 pixels "
            "apart. They count 0, 1, 2, …",
            "all of it": "That would need 500 different indices. threadIdx.x has 125 values, "
            "the same in each block.",
        },
        came="f'{np.mean(out_there.copy_to_host() != 0):.0%} of the pixels'",
    ),
    Choices(
        "beyond_the_end",
        {
            "nothing: there is no pixel for them": "That would need somebody to compare i with "
            "the size. The kernel does not.",
            "they use an index that does not exist": "",
            "they begin again at pixel 0": "That would be right if indices wrapped around. "
            "Index 500 means the memory behind the row.",
            "the launch is refused": "That would need the launch to know how many pixels there "
            "are. It knows only blocks and threads.",
        },
    ),
    Choices(
        "three_blocks",
        {
            "complete": "That would need 500 threads. 3 blocks of 128 are 384.",
            "its right end is black": "",
            "every fourth pixel is black": "That would be right if blocks took pixels in turns. "
            "Each takes 128 neighbours.",
            "the launch is refused": "That would need a rule that every element has a thread. "
            "There is none.",
        },
        came="f'{np.count_nonzero(out_there.copy_to_host() == 0)} pixels at the end are black'",
    ),
    Number(
        "blocks_for_513",
        "blocks",
        {
            4: "4 blocks are 512 threads: the 513th element would have none.",
            6: "6 would be right for more than 640 elements.",
        },
        came="gl.blocks_for(513, 128)",
    ),
    Number(
        "threads_off_the_picture",
        "threads",
        {
            0: "0 would need sizes that 16 divides: 500 and 600 are not such.",
            20: "20 counts 12 columns and 8 rows. A column that is off has 608 threads, a row 512.",
            96: "96 counts only the corner that is off both ways, 12 × 8.",
            7200: "7,200 counts the 12 columns beside the picture, not the 8 rows below it.",
        },
        came="256 * grid[0] * grid[1] - picture.size",
    ),
    Choices(
        "row_named_i",
        {
            "yes, names do not matter": "That would need the launch to swap with the names. It "
            "still has enough threads in x for the columns, and in y for the rows.",
            "yes, but it is slow": "That would be right if the grid was swapped as well.",
            "no, a part is missing": "",
            "no, it is turned by 90°": "That would need a read and a write at different places. "
            "Both are at [i, j].",
        },
        came="f'{np.mean(launched(negate_swapped, picture) == whole):.0%} of the tall picture "
        "is right'",
    ),
    Choices(
        "one_large_block",
        {
            "500 threads work, the others idle": "That would be right for a block of up to 1,024.",
            "it is split into two blocks": "That would need the GPU to change what blockIdx says. "
            "A launch is carried out as it is written, or not at all.",
            "the launch is refused": "",
        },
    ),
    Choices(
        "first_ticket",
        {
            "yes, blocks start in order": "That would need blocks to wait for one another. "
            "Nothing promises that.",
            "no, any block may be first": "",
        },
    ),
    Choices(
        "busy_with_one_warp",
        {
            "nearly always": "That would need waits that are short beside the work. They are 20 "
            "times as long.",
            "about half of the time": "That would need waits as long as the work: 20 cycles each, "
            "not 400.",
            "about a twentieth of the time": "",
            "never": "That would need a warp that only waits. This one has 20 instructions "
            "between two waits.",
        },
        came="f'{alone:.1%} of the cycles'",
    ),
    Number(
        "warps_that_hide",
        "warps",
        {
            4: "4 is the number of schedulers; the question is about one of them.",
            32: "32 is the number of lanes of a warp. 32 warps would hide a wait of 620 cycles.",
            400: "About 400 would be right if a warp had one instruction between waits, not 20.",
            10: "10 would fill about half of the cycles: 10 · 20 of 420.",
        },
        came="next(warps for warps in shares if shares[warps] > 0.99)",
        within=0.05,
    ),
    Number(
        "warps_of_large_blocks",
        "warps",
        {
            48: "48 would need one block and a half. A block is held whole or not at all.",
            64: "64 would be two blocks, 2,048 threads: there is room for 1,536.",
            1: "1 is the number of blocks; each has 32 warps.",
            16: "16 would be what is left empty.",
        },
        came="large.warps",
    ),
    Choices(
        "strides_of_thread_3",
        {
            "3, 4, 5, 6, …": "That would be a stretch of neighbours for each thread, and thread 2 "
            "would do some of them too.",
            "879 to 1,171": "That would be right if each thread took 293 neighbours, one after "
            "the other.",
            "3, 131, 259, …": "That would be right if the stride was a block, 128. It is the "
            "whole grid.",
            "3, 1,027, 2,051, …": "",
        },
    ),
)
