"""What notebook 08 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "share_of_the_kernel",
        {
            "less than half": "That would need copies that take longer than the kernel, both "
            "together.",
            "about two thirds": "That would need a kernel that takes about twice as long as both "
            "copies.",
            "nearly all": "That would be right if copies cost little beside 120 operations for "
            "each number. A link moves far fewer bytes in a second than the GPU's own memory.",
        },
        came="f'{100 * serial.busy[\"compute\"]:.0f} % of the time'",
        pick=below({"less than half": 50, "about two thirds": 85}, "nearly all"),
    ),
    Choices(
        "after_the_copy",
        {
            "the results": "That would be right if the call waited for the copy. From pinned "
            "memory on a stream it does not.",
            "the numbers as they were copied in": "That would need a kernel that has not run, and "
            "a copy out that has. A stream keeps its order.",
            "-1 three times": "",
            "an error": "That would need something that watches the host's reads. Nothing does.",
        },
        came="'-1 at first, then the results'",
    ),
    Choices(
        "pinned_alone",
        {
            "hardly": "That would need a link that carries pageable memory as fast as pinned.",
            "by a third": "That would be right if one of the three engines worked "
            "beside the others. One stream does one thing after the other.",
            "by two thirds": "That would be right if all three engines worked at once. "
            "One stream does one thing after the other.",
        },
        came="f'It takes {100 * asked.makespan / serial.makespan:.0f} % as long.'",
        pick=below({"by two thirds": 45, "by a third": 80}, "hardly"),
    ),
    Choices(
        "two_halves",
        {
            "about half": "That would need twice as many engines. The first half has nothing to "
            "overlap with at the start, nor the second at the end.",
            "about two thirds": "That would need three engines that take about the same time each.",
            "the same": "That would be right if streams took turns for the whole GPU. The engines "
            "work beside each other.",
        },
        came="f'It takes {100 * halves.makespan / asked.makespan:.0f} % as long.'",
        pick=below({"about half": 58, "about two thirds": 85}, "the same"),
    ),
    Choices(
        "sum_of_two_streams",
        {
            "11": "That would be right if something said that the kernel comes after the copy of "
            "b. Nothing does: it is on another stream.",
            "1": "That would need a copy of b that is still under way when the kernel begins.",
            "10": "That would need a copy of a that comes too late. It is on the kernel's own "
            "stream.",
            "0": "That would need both copies to come too late, or a result that is copied before "
            "the kernel. They are on one stream, in order.",
        },
        came="f'{total[0]:g}'",
        pick=str,
    ),
    Choices(
        "event_in_time",
        {
            "yes": "That would be right if an event stood for all that its stream ever does. It "
            "stands for what came before it.",
            "no, the same wrong sum": "That would need a copy of b that is still under way when "
            "the kernel begins.",
            "the program never ends": "That would be right if a stream waited for an event that "
            "is never reached. This one is reached at once.",
        },
        came="f'{total[0]:g}, races found: {len(early.findings)}'",
        pick=below({"no, the same wrong sum": 11}, "yes"),
    ),
    Choices(
        "best_number",
        {
            "1": "That would be right if nothing could overlap. With one chunk, two of the three "
            "engines stand still at any moment.",
            "2 or 4": "That would need chunks that still take longer on an engine than to ask for.",
            "8 or 16": "That would need a host that asks for a chunk in less time than an engine "
            "needs for it.",
            "32": "That would be right if it cost the host nothing to ask.",
        },
        came="f'{min(times, key=lambda k: times[k].makespan)} chunks'",
        pick=below({"1": 2, "2 or 4": 8, "8 or 16": 32}, "32"),
    ),
    Choices(
        "twenty_kernels",
        {
            "less than a tenth of the time": "That would need launches that take more than ten "
            "times as long as the kernels.",
            "about half of the time": "That would need a kernel that takes about as long as half "
            "a launch.",
            "nearly all of the time": "That would be right if a launch cost nothing, or if the "
            "kernels were longer than their launches.",
        },
        came="f'{100 * twenty.busy[\"compute\"]:.0f} % of the time'",
        pick=below(
            {"less than a tenth of the time": 10, "about half of the time": 75},
            "nearly all of the time",
        ),
    ),
    Number(
        "twenty_in_a_graph",
        "times",
        {
            1: "1 would be right if the kernels took longer than their launches.",
            20: "20 would be right if nothing but launches cost time. The gaps in the graph are "
            "left, and the kernels.",
            14: "14 would be right if there were no gaps between the kernels of the graph.",
            10: "10 is a launch beside a gap. The graph has a launch of its own, and its kernels "
            "take time too.",
            50: "50 is a launch beside a kernel. Between two kernels of the graph there is a gap.",
        },
        came="round(launched['one by one'] / launched['as a graph'], 1)",
        within=0.2,
    ),
    Choices(
        "which_graph_helps",
        {
            "100 kernels of 1 µs": "",
            "100 kernels of 20 µs": "That would be right if the host waited for each kernel "
            "before it launched the next. It is ahead of the GPU from the second on.",
            "one of 600 µs, then 100 of 1 µs": "That would be right if the launches waited for the "
            "long kernel. The host launches while it runs.",
            "all three": "That would be right if the number of launches counted. What counts is "
            "whether the GPU waits for them.",
        },
        came="', '.join(row['gain'] for row in rows)",
    ),
    Number(
        "bytes_of_three",
        "times",
        {
            1: "1 would be right if results stayed on the way from kernel to kernel. They go "
            "through memory.",
            3: "3 would be right if each kernel moved as much as the fused one. Two of them read "
            "one array only.",
            2: "2 would be right for 6 trips against 3. The sum reads two arrays and writes one.",
        },
        came="round(apart / at_once.totals.bytes_moved, 2)",
        within=0.03,
    ),
    Number(
        "passes_of_softmax",
        "times",
        {
            2: "2 would be one kernel that reads once and writes once. The maximum has to be known "
            "first.",
            3: "3 counts the kernels. Two of them write as well as read.",
            4: "4 is what one kernel needs, which does not store the powers.",
            6: "6 would be right if each kernel read and wrote the matrix. The first writes one "
            "number for each row.",
        },
        came="round(passes)",
    ),
    Number(
        "matrix_of_scores",
        "GB",
        {
            1.07: "1.07 would be right for a byte for each pair. A float32 has four.",
            0.004: "0.004 would be right for 32 numbers for each place, as the queries have. There "
            "is a score for each pair of places.",
            2.1: "2.1 would be right for half of the pairs, or for two bytes each.",
            8.6: "8.6 would be right for eight bytes for each pair, as in float64.",
        },
        came="round(4 * places**2 / 1e9, 2)",
        within=0.08,
    ),
    Choices(
        "traffic_of_attention",
        {
            "about as many": "That would need a matrix that stays in a cache. It is written "
            "and read several times.",
            "4 to 5 times": "That would need blocks in which 32 queries share each tile, and a "
            "matrix that passes through memory six times.",
            "more than 100 times": "Even if the tiled way read each key and value once, it "
            "would be 18 times. Each block of queries reads all of them.",
        },
        came="f'{moved / in_tiles.totals.bytes_moved:.2f} times'",
        pick=below({"about as many": 2, "4 to 5 times": 10}, "more than 100 times"),
    ),
)
