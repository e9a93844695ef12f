"""What notebook 06 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

PREDICTIONS = (
    Choices(
        "sectors_of_the_first_rung",
        {
            "a 1, b 4, c 4": "That would be right if x was the column. It is the row, i.",
            "a 4, b 4, c 4": "That would need lanes that read and write 32 neighbours in a row.",
            "a 32, b 1, c 32": "",
            "a 32, b 4, c 32": "That would need lanes with different j. They share j, and want the "
            "same element of b.",
            "a 32, b 32, c 32": "32 for b would need lanes in 32 rows of it. They share k and j, "
            "and want the same element.",
        },
        came="f'{first.totals.sectors_per_load:g} sectors for a load on average, "
        "{first.totals.sectors_per_store:g} for a store'",
    ),
    Number(
        "bytes_of_the_second_rung",
        "times",
        {
            32: "32 is how many times fewer sectors a request to a moves. Those to b move more "
            "than before.",
            8: "8 would be right if every request fell from 32 sectors to 4. Loads fall from 33 to "
            "5 for each product.",
            16: "16 would be right if both loads now moved a single sector. The one of b moves 4.",
            16.5: "16.5 is how many sectors a load moved before, on average. Now it moves 2.5.",
            4: "4 is how many sectors a request to b moves now.",
        },
        came="first.totals.bytes_moved / second.totals.bytes_moved",
        within=0.1,
    ),
    Number(
        "bytes_of_the_third_rung",
        "times",
        {
            32: "32 would be right if the second rung had moved 8 sectors for 32 products. It "
            "moves 5, since one serves a whole warp in a.",
            64: "64 adds up what is saved in A and in B. A factor of 32 on both is a factor of 32.",
            1024: "1,024 is the number of threads in a block. An element of a tile serves 32 of "
            "them.",
            2: "2 is the number of tiles. Each of their elements serves 32 threads.",
        },
        came="second.totals.bytes_moved / third.totals.bytes_moved",
        within=0.1,
    ),
    Choices(
        "operations_at_an_edge",
        {
            "none: what hangs over is left out": "That would need threads that leave products "
            "out. They multiply the zeros that fill the tiles.",
            "about a tenth more": "That would be right if one size was rounded up to the next "
            "tile. All three are.",
            "about a third more": "",
            "twice as many": "That would need a size just above a multiple of 32, such as 33 for "
            "which there are 64.",
        },
        came="f'{report.totals.flops32 / useful - 1:.0%} more'",
    ),
    Choices(
        "type_of_the_total",
        {
            "nothing": "That would need a total that becomes a float32. A Python float has 64 "
            "bits, and Numba keeps them.",
            "the result becomes less exact": "That would need fewer bits. A Python float has 64, "
            "twice as many.",
            "half of the operations become float64": "",
            "all operations become float64": "That would need products in float64. Two float32 "
            "make a float32; only the sum has 64 bits.",
            "twice as many bytes are moved": "That would need arrays of float64. Only the sum has "
            "64 bits, and it is in a register.",
        },
        came="f'{leak.totals.flops64:,} operations in float64, {leak.totals.flops32:,} in float32'",
    ),
    Number(
        "float64_in_a_sum",
        "times",
        {
            32: "32 would be right if all operations were in float64. Half of them are.",
            64: "64 would be right for twice as many operations, all in float64.",
            2: "2 would be right for bytes: a float64 has twice as many.",
            1.5: "1.5 would be right on an H200, which does 1 for 2.",
            33: "33 is nearer to a real T4, where product and sum were one instruction before. "
            "In operations, half are float64.",
        },
        came="longer['T4']",
        within=0.04,
    ),
    Choices(
        "roof_of_shared_memory",
        {
            "a half": "That would need shared memory that makes two passes in a cycle.",
            "a quarter": "That would be right if a pass took one cycle, as on later GPUs. On a T4 "
            "it takes two.",
            "an eighth": "",
            "a sixteenth": "That would need four passes for each product.",
        },
        came="f\"{kernel_roofs(third)['shared memory'] / gl.roof('T4').peak:.1%} of the "
        'peak rate"',
    ),
    Number(
        "passes_of_the_strip",
        "passes",
        {
            2: "2 would be right if the element of B was loaded anew for each product.",
            1: "1 counts the elements of A alone. There is one of B for every 8 products.",
            0.125: "1/8 counts the element of B alone. For 8 products there are 8 of A as well.",
            9: "9 is for 8 products.",
            0.25: "1/4 would be right if A was loaded once for 8 products as well. Only B is.",
        },
        came="fourth.totals.shared_load_wavefronts / (fourth.totals.flops32 / 64)",
        within=0.01,
    ),
    Choices(
        "patch_or_comb",
        {
            "neither: both load as much": "That would be right if a load cost the same wherever "
            "its lanes read. Different words of one bank need a pass each.",
            "the patch: a thread keeps neighbours together": "That would be right on a CPU core. "
            "Here those count that 32 lanes touch in the same step.",
            "the comb: a warp keeps neighbours together": "",
        },
        came="f'{patch.totals.shared_load_conflicts:,} conflicts with patches, "
        "{fifth.totals.shared_load_conflicts:,} with combs'",
    ),
    Choices(
        "requests_of_wide_loads",
        {
            "as many requests, twice the bytes": "That would be right if a lane loaded as often as "
            "before. It needs half as many loads for the same tile.",
            "half the requests, the same bytes": "",
            "half the requests, half the bytes": "That would need tiles of half the size. Half as "
            "many requests fill the same tiles.",
            "as many requests, the same bytes": "That would be right if a load of 8 bytes was two "
            "requests. It is one, with 8 sectors.",
        },
        came="'{:g} times the requests, {:g} times the bytes'.format(*("
        "getattr(sixth.totals, what) / getattr(fifth.totals, what)"
        " for what in ('global_load_requests', 'bytes_moved')))",
    ),
    Number(
        "stores_of_warp_tiles",
        "sectors",
        {
            4: "4 would be right if the lanes wrote 32 neighbours. In one store they stand 4 "
            "columns apart.",
            32: "32 would be right if each lane had a sector of its own. 4 columns apart, two "
            "share one.",
            8: "8 is the number of rows in which the lanes stand. Each row needs 2 sectors.",
            2: "2 is right for one of the 8 rows.",
            1: "1 would need all lanes to write within the same 32 bytes.",
        },
        came="seventh.totals.sectors_per_store",
    ),
    Choices(
        "step_to_registers",
        {
            "FLOP per byte": "That would be right if the shared tile waited for memory. It waits "
            "for shared memory, and this counter only doubles.",
            "passes over shared memory": "",
            "operations": "That would need a kernel that computes less. All rungs make the same "
            "products.",
            "bank conflicts": "That would need conflicts in the shared tile. It has none.",
        },
        came="'{:,} passes of loads fall to {:,}'.format("
        "*(ladder[rung].totals.shared_load_wavefronts for rung in ('shared tile', "
        "'register tile')))",
    ),
    Choices(
        "deep_tile",
        {
            "no, there are fewer barriers": "That would be right if barriers were all that "
            "changed. With rows of 32 words, lanes in two rows meet in a bank.",
            "yes, it moves more bytes": "That would be right if a tile of C used an element less "
            "often. It does so as often, 64 times.",
            "yes, it meets bank conflicts": "",
            "yes, it does more operations": "That would need an edge. 32 divides 256 as 8 does.",
        },
        came="next(f'{report.totals.shared_load_conflicts:,} conflicts' for rung, report in"
        " tried.items() if ' × 32,' in rung.name)",
    ),
)
