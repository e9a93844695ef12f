"""What notebook 01 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below


def _move_of_the_crossover(came: str) -> str:
    before, after = (float(part.split()[2]) for part in came.split(", "))
    if after == before:
        return "at the same n"
    return "at a larger n" if after > before else "at a smaller n"


PREDICTIONS = (
    Choices(
        "first_kernel",
        {
            "one of the numbers is tripled": "That would be right if one thread ran, or if all of "
            "them had the same i. There are 8, each with its own.",
            "all eight numbers are tripled": "",
            "each number is tripled eight times": "That would need a loop over all numbers in "
            "every thread. Each does one number, its own.",
            "nothing changes: a kernel returns nothing": "That would be right if the kernel had a "
            "copy of its own. It writes into the array that it is given.",
        },
    ),
    Number(
        "flops_of_64",
        "operations",
        {
            4096: "4,096 is the number of elements. Each of them costs 64 products and 64 "
            "additions.",
            8192: "8,192 would be right if an element cost one product and one addition. It costs "
            "64 of each.",
            262144: "262,144 counts the products alone. There are as many additions.",
            520192: "520,192 would be right without the first addition of each element, to zero. "
            "By our convention it counts.",
        },
        came="gl.matmul_flops(64, 64, 64)",
    ),
    Number(
        "work_from_64_to_512",
        "times",
        {
            8: "8 is how many times n grows. It stands three times in m·n·p.",
            64: "64 is how many times the number of elements grows. Each is also a sum that is 8 "
            "times as long.",
            24: "24 is 3 · 8. Three factors of 8 make 8 · 8 · 8.",
            1024: "1,024 counts the 2 of 2·n³ once more. It stands in both numbers.",
        },
        came="gl.matmul_flops(512, 512, 512) // gl.matmul_flops(64, 64, 64)",
    ),
    Choices(
        "numpy_over_loops",
        {
            "about 10": "That would be right for loops in a compiled language, which multiply one "
            "number at a time.",
            "about 100": "That would need a pass of Python's inner loop to cost no more than a few "
            "dozen machine instructions.",
            "about 1,000": "That would need a Python that handles a number in a tenth of a "
            "microsecond or less, or a NumPy that is held up.",
            "about 10,000 or more": "That would need a processor that does more with one "
            "instruction, or one that is less busy.",
        },
        came="f'{ratio:,.0f} times as fast'",
        pick=below({"about 10": 30, "about 100": 300, "about 1,000": 3000}, "about 10,000 or more"),
    ),
    Choices(
        "rate_of_a_small_product",
        {
            "higher: a small matrix stays in the cache": "That would be right if waiting for "
            "memory held it up. A small product is held up by the price of the call.",
            "the same: it is the same code": "That would need a call that costs nothing by itself.",
            "lower": "",
        },
        came="'{:.3g} GFLOP/s against {:.3g}'.format("
        "*(gl.perf.rates(numpy_times)[k] / 1e9 for k in (0, -1)))",
    ),
    Choices(
        "t4_against_this_cpu",
        {
            "fewer than 3": "That would need a CPU of more than 2,700 GFLOP/s, as large servers "
            "have.",
            "3 to 30": "That would need a CPU of 270 to 2,700 GFLOP/s, as laptops and desktops "
            "with several cores have.",
            "30 to 300": "That would need a CPU of 27 to 270 GFLOP/s: few cores, or a busy "
            "machine.",
            "more than 300": "That would need cores that do one operation at a time. Each does "
            "many with one instruction, at a higher clock.",
        },
        came='f\'{gl.gpu_spec("T4").vector["float32"] / peak:.1f} times\'',
        pick=below({"fewer than 3": 3, "3 to 30": 30, "30 to 300": 300}, "more than 300"),
    ),
    Choices(
        "crossover_without_copies",
        {
            "64 or smaller": "That would need a CPU that takes longer for 64 × 64 than a launch "
            "does, some microseconds.",
            "128 or 256": "That would need a CPU that is quicker than a launch at 64 × 64, and "
            "slower at 256 × 256.",
            "512 or 1,024": "That would need a CPU that is done with 256 × 256 in about the time "
            "of a launch.",
            "2,048, or none of ours": "That would need a CPU with about as much arithmetic as the "
            "GPU.",
        },
        came="next(f'from n = {n}' if n else 'at none of our sizes'"
        " for n in [gl.perf.crossover(sizes, cpu.seconds, gpu_resident.seconds)])",
        pick=below(
            {"64 or smaller": 65, "128 or 256": 257, "512 or 1,024": 1025}, "2,048, or none of ours"
        ),
    ),
    Choices(
        "rates_of_the_gpu",
        {
            "it is at its peak from the start": "That would need launches that cost nothing. At "
            "small n the launch is most of the time.",
            "it climbs, and levels off": "",
            "it climbs without end": "That would need a GPU whose arithmetic has no limit.",
            "it falls: large products take longer": "That would be right if the time grew faster "
            "than the work. A rate is work divided by time.",
        },
        came="'from {:.3g} to {:,.0f} GFLOP/s'.format("
        "*(gl.perf.rates(gpu_resident)[k] / 1e9 for k in (0, -1)))",
    ),
    Choices(
        "crossover_with_copies",
        {
            "at a smaller n": "That would need copies that save time. They only add to it.",
            "at the same n": "That would be right if the copies took so little that the GPU's "
            "lead at that size was enough to pay for them.",
            "at a larger n": "That would need copies that cost more than the GPU's lead at the "
            "size where it overtook.",
        },
        came="'n = {} without copies, n = {} with copies'.format("
        "*(gl.perf.crossover(sizes, cpu.seconds, gpu.seconds) or 'inf'"
        " for gpu in (gpu_resident, gpu_copied)))",
        pick=_move_of_the_crossover,
    ),
    Choices(
        "trip_at_2048",
        {
            "hardly any": "That would be right at a far larger n: copies grow with n², the "
            "product with n³.",
            "less than half": "That would need a link that carries three matrices in less time "
            "than the GPU takes for their product.",
            "half or more": "That would need a link that takes as long for three matrices as the "
            "GPU for their product, or longer.",
        },
        came="f'{1 - gpu_resident.seconds[-1] / gpu_copied.seconds[-1]:.0%} of it'",
        pick=below({"hardly any": 5, "less than half": 50}, "half or more"),
    ),
    Choices(
        "float64_on_a_t4",
        {
            "all of it": "That would be right if the T4 lost as little by float64 as the CPU, "
            "which does about half the operations.",
            "half of it": "That would be right if the CPU lost nothing by float64 and the T4 did "
            "half the operations.",
            "a sixteenth of it": "That would need a CPU that does about half the operations in "
            "float64, beside a T4 that does a 32nd.",
            "a 32nd of it": "That would be right if the CPU lost nothing by float64. It does "
            "about half the operations.",
        },
        came='next(f\'{slower * t4["float64"] / t4["float32"]:.1%} of it\' for slower, t4 in'
        " [(cpu_double.seconds[-1] / cpu.seconds[-1], gl.gpu_spec('T4').vector)])",
        pick=below({"a 32nd of it": 4.4, "a sixteenth of it": 18, "half of it": 70}, "all of it"),
    ),
    Choices(
        "clock_without_waiting",
        {
            "somewhat less than this CPU's peak": "That would be right for a clock that waits for "
            "the product, and counts the queue as well.",
            "about this CPU's peak": "That would need a call that waits for the product. It "
            "returns as soon as the job is in the queue.",
            "far more than this CPU's peak": "That would need a launch that returns at once. It "
            "was held up here, by other programs.",
        },
        came="f'{work / wrong / peak:.1f} times the peak'",
        pick=below(
            {"somewhat less than this CPU's peak": 0.9, "about this CPU's peak": 1.5},
            "far more than this CPU's peak",
        ),
    ),
    Choices(
        "first_call",
        {
            "about as long as a later call": "That would be right if the function had been "
            "translated before.",
            "up to 1,000 times as long": "That would need a translation that is done in a "
            "millisecond or two.",
            "more than 1,000 times as long": "That would need a translation that takes longer, or "
            "a loop that takes less time.",
        },
        came="f'{fast.first / fast.median:,.0f} times as long as a later call'",
        pick=below(
            {"about as long as a later call": 3, "up to 1,000 times as long": 1000},
            "more than 1,000 times as long",
        ),
    ),
    Number(
        "error_of_bfloat16",
        "times",
        {
            3: "3 would be right if each bit added as much error as the one before. Each bit that "
            "is dropped doubles it.",
            6: "6 is 3 · 2. Three doublings make 2 · 2 · 2.",
            1000: "1,000 would be right for three decimal digits. These are binary ones.",
        },
        came="error['bfloat16'] / error['tf32']",
        within=0.15,
    ),
    Choices(
        "bfloat16_on_this_cpu",
        {
            "yes, it is faster": "That would need units for bfloat16, as some recent CPUs have, "
            "and nothing that holds them up.",
            "no, about as fast": "That would need a CPU that does as many operations a second "
            "with 16 bits as with 32.",
            "no, it is slower": "That would need a CPU without units for bfloat16, which has to "
            "imitate it.",
        },
        came="f\"{fewer_bits['float32'].seconds[0] / fewer_bits['bfloat16'].seconds[0]:.2f} times "
        'as fast as float32"',
        pick=below({"no, it is slower": 0.8, "no, about as fast": 1.25}, "yes, it is faster"),
    ),
)
