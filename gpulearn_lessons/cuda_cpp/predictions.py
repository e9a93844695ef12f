"""What notebook 09 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "cpp_moves_more",
        {
            "the Numba kernel": "That would need Python at work while the kernel runs. Both are "
            "compiled, and only loads and stores move bytes.",
            "the C++ kernel": "That would need loads that the Numba kernel does not have. The "
            "size n is handed over once, not read from memory.",
            "neither": "",
        },
        came="f'{from_python.totals.bytes_moved:,} and {from_cpp.totals.bytes_moved:,} bytes'",
    ),
    Choices(
        "pitch_of_the_height",
        {
            "turned on its side": "That would need column * height + row. The row is still what is "
            "multiplied.",
            "sheared, with its lower end missing": "",
            "stretched to 640 columns": "That would need more columns. There are 512 threads along "
            "x, whatever the pitch is.",
            "as it should: the size is the same": "That would be right if the product of the sides "
            "was all that counts. Row 1 begins at 640, not at 512.",
        },
    ),
    Choices(
        "guard_left_out",
        {
            "the compiler": "That would need it to know how long the arrays are. A pointer does "
            "not say, and a launch comes later.",
            "the launch": "That would need it to know which elements the kernel will use. It knows "
            "blocks and threads.",
            "only a tool that watches each access": "",
        },
        came="unguarded_report.findings[0].kind + ' in a kernel that compiles and is launched'",
    ),
    Choices(
        "int_overflow",
        {
            "2,500,000,000": "That would fit into 32 bits without a sign. An int has one, and ends "
            "at 2,147,483,647.",
            "2,147,483,647, the largest int": "That would need hardware that stops at the end. It "
            "keeps the lower 32 bits of the product.",
            "a negative number": "",
            "an error": "That would need a check of each product. There is none, neither in the "
            "compiler nor in the hardware.",
        },
        came="f'{as_int:,}'",
    ),
    Number(
        "letter_f",
        "operations",
        {
            0: "0 would need 0.1 to become a float because x is one. It is the other way round.",
            1000: "1,000 counts the product. What comes of it is a double, so the sum is one too.",
            3000: "3,000 also counts a conversion of each element, which is no arithmetic.",
            4000: "4,000 also counts two conversions of each element, which are no arithmetic.",
        },
        came="with_double.totals.flops64",
    ),
    Choices(
        "error_unasked",
        {
            "an error, with the line": "That would need a check. An error is kept until "
            "cudaGetLastError is called.",
            "the right sums: 2,048 is split into blocks": "That would need the runtime to change "
            "what blockIdx says. A launch is carried out as it is written, or not at all.",
            "what stood in d_out before": "",
            "nothing, it never ends": "That would need a kernel that runs. This one was never "
            "started.",
        },
        came="f'{untouched:,} of {kept.size:,} elements as they stood before'",
    ),
    Number(
        "outputs_of_the_launch",
        "elements",
        {
            3072: "3,072 would need 16 × 16 threads in each block. It has 3.",
            192: "192 would be 4 · 3 · 16. The third place is bytes of shared memory.",
            48: "48 would be 3 · 16. There are 4 blocks, and each has 3 threads.",
            64: "64 would be 4 · 16. The 16 is not the block.",
            256: "256 would be a block of 16 × 16. The 16 is neither side of it.",
            0: "0 would need a launch that is refused. 4 blocks of 3 threads are allowed.",
        },
        came="int(computed)",
    ),
    Choices(
        "torn_mirror",
        {
            "line[t] = row[t] alone": "That would need two threads that fill one element. Each "
            "fills its own.",
            "line[t] = row[t] and row[t] = line[511 - t]": "",
            "none: a block runs in step": "That would need a rule that the 16 warps of a "
            "block keep step. There is none, and since Volta not even for the lanes of one.",
        },
        came="' and '.join(torn_report.source[n].strip(' ;') for n in "
        "sorted((torn_report.findings[0].line, torn_report.findings[0].other_line)))",
    ),
    Choices(
        "bytes_forgotten",
        {
            "it is refused": "That would need the launch to know what the kernel uses. The array "
            "has no size.",
            "the array gets the size of a block": "That would need somebody to count threads. "
            "Bytes come from the launch alone.",
            "the kernel runs out of bounds": "",
        },
        came="forgotten.findings[0].kind",
    ),
    Number(
        "atomics_of_a_sum",
        "operations",
        {
            65536: "65,536 would be one for each element. Each warp has added its 32 values first.",
            256: "256 would be one for each block. The first lane of each warp adds, 8 in a block.",
            1: "1 would need all warps to be added before. They meet in the total only.",
            32: "32 is the number of lanes of a warp; of these, one adds.",
            10240: "10,240 also counts the five rounds. A shuffle is no atomic operation.",
        },
        came="summed.totals.atomics",
    ),
    Number(
        "loads_in_the_ptx",
        "instructions",
        {
            1: "1 would be right if the loop was kept: one load in its body, carried out 4 times.",
            2: "2 would need a store to be a load: out[i] is only written, by st.global.",
            5: "5 would need n or out[i] to be loaded: n is a parameter, out[i] is only written.",
        },
        came="by_4.ptx.count('ld.global')",
    ),
    Choices(
        "division_by_4",
        {
            "a division": "That would be right for 3, whose inverse is no float. That of 4 is one, "
            "0.25.",
            "a shift by two bits": "That would be right for whole numbers. sum is a float.",
            "a product": "",
            "nothing: it was left out": "That would give a sum, not a mean.",
        },
        came="f\"{by_4.ptx.count('div')} divisions, {by_4.ptx.count('mul.f32')} product\"",
    ),
    Number(
        "loads_without_promise",
        "loads",
        {
            1: "1 would need the compiler to know that y is not x. const does not say so.",
            3: "3 would need another load for the second store. There is none after it.",
            4: "4 would need the arrays y and z to be loaded. They are only written.",
        },
        came="plain.ptx.count('ld.global')",
    ),
    Number(
        "requests_of_float4",
        "requests",
        {
            128: "128 would be right if there were as many threads. There is one for four floats.",
            512: "512 would need a request for each float of a lane. A float4 is loaded at once.",
            8: "8 is the number of blocks; each has 4 warps.",
        },
        came="four.totals.global_load_requests",
    ),
)
