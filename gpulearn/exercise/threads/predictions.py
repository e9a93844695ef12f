"""What notebook 03 asks beforehand."""

from gpulearn.exercise.prediction import Choices, Number

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
        came="2 * 125 + 7",
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
    Number(
        "past_the_guard",
        "of 512 threads",
        {
            512: "512 would be right without the guard.",
            499: "499 is the last index; with index 0 that makes one more.",
            12: "12 is how many do not.",
        },
        came="out_there.size",
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
        "right_shapes",
        {
            "those whose width and height divide the picture": "That would need a kernel without "
            "a guard.",
            "those with a multiple of 32 threads": "That is about speed: a warp that is not full "
            "still does what it has to do.",
            "all but (1, 1)": "Blocks of one thread waste 31 of 32 lanes, and every pixel still "
            "has a thread.",
            "all of them": "",
        },
    ),
    Number(
        "pixels_of_few_threads",
        "pixels",
        {
            128: "128 would be one block. There are 8.",
            1023: "1,023 is the last index; with index 0 that makes one more.",
            300000: "300,000 would need threads that go on after their first pixel.",
            8: "8 would be one thread for each block.",
        },
        came="np.count_nonzero(out_there.copy_to_host())",
        within=0.001,
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
