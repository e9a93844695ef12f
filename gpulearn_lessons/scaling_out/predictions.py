"""What notebook 17 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "four_ranks_here",
        {
            "slower than one": "That would need an exchange that costs more than sharing saves, "
            "or cores that are busy with something else.",
            "up to twice as fast": "That would need four ranks that share about two cores, or "
            "lose half of their time to the exchange and to waiting.",
            "more than twice as fast": "That would need more than two free cores, and an "
            "exchange that takes less time than the computing.",
        },
        came="'{:.2g} times as fast, with {}'.format(strong.speedup(4).median, strong.places)",
        pick=below({"slower than one": 1.0, "up to twice as fast": 2.0}, "more than twice as fast"),
    ),
    Number(
        "a_tenth_is_fixed",
        "times",
        {
            64: "64 would need a step that can be shared as a whole.",
            57.6: "57.6 is 0.9 · 64. The shared part takes a 64th of its time, and the tenth takes "
            "as long as before.",
            10: "10 is the limit, with however many ranks.",
            6.4: "6.4 would be a tenth of 64.",
        },
        came="speedups[64]",
        within=0.03,
    ),
    Number(
        "gustafson_64",
        "times",
        {
            64: "64 would need the fixed tenth to be useful work on every rank; it is done once "
            "for all.",
            8.77: "8.77 is Amdahl's: one problem, shared. Here the problem grows.",
            10: "10 is the limit of Amdahl's law, for one problem that is shared.",
        },
        came="done / together * alone",
        within=0.02,
    ),
    Choices(
        "shared_by_1024",
        {
            "nearly 1,000 times": "That would be right if each had a batch of its own: weak "
            "scaling.",
            "about 100 times": "That would need bytes that are divided with the batch. All "
            "gradients travel, whatever the shard.",
            "about 10 times": "That would be right for 32 GPUs. With more of them, the latency "
            "of the ring's many rounds adds up.",
            "about twice": "",
        },
        came="f\"{modelled['strong'].speedup(1024).median:.2g} times\"",
    ),
    Choices(
        "the_best_cure",
        {
            "overlapping": "That would need enough computing to hide the sending behind. Here "
            "the sending takes three times as long.",
            "half the bytes": "It halves the sending, and ten times the bandwidth leaves only a "
            "tenth of it.",
            "4 times the batch, or 4 micro-batches": "That would need ten times the batch or "
            "more. It makes the computing four times as long.",
            "10 times the bandwidth": "",
        },
        came="max(cures, key=cures.get)",
    ),
    Choices(
        "the_rate_for_512",
        {
            "kept": "That would need 16 times fewer steps to go as far. They are no longer than "
            "before.",
            "linear": "That would need a rate of 1.6 to be below the limit of this network.",
            "linear, warm-up": "That would need a rate of 1.6 to be below the limit once it has "
            "been reached slowly.",
            "square root": "",
        },
        came="max(study.rules, key=lambda rule: study.accuracy(rule, 512).median)",
    ),
    Choices(
        "quotients_of_layers",
        {
            "not by more than twice": "That would need gradients that grow with the weights of "
            "their layer.",
            "by about 5 times": "That would need layers that are more alike: the first layer's "
            "gradient has come through all others.",
            "by more than 10 times": "",
        },
        came="f'{max(quotients.values()) / min(quotients.values()):.0f} times'",
    ),
    Choices(
        "lars_for_512",
        {
            "about as badly as the linear rule": "That would need a rate that is too large for "
            "some layer. Here each layer has its own.",
            "between the two": "That would need layers that are still thrown out of the valley "
            "for some of the seeds.",
            "better than the root": "",
        },
        came="'{:.0%}, and the root {:.0%}'.format(*(layerwise.accuracy(rule, 512).median "
        "for rule in ('LARS', 'square root')))",
    ),
    Choices(
        "local_steps",
        {
            "far fewer": "That would need replicas that leave the valley which they share within "
            "ten steps.",
            "about as many": "That would need replicas that have parted so little that their "
            "mean is a good network.",
            "far more": "That would need ten steps of one rank to be worth more than ten steps "
            "of the mean.",
        },
        came="'{:+.0f} of 100'.format(100 * (often['parameters averaged'].mean_accuracy "
        "- often['gradients averaged'].mean_accuracy))",
        pick=below({"far fewer": -10, "about as many": 10}, "far more"),
    ),
    Choices(
        "rare_means",
        {
            "more are right: each rank learns longer": "That would need ranks that learn the "
            "same. Each unlearns the others' digits.",
            "about as many": "That would need data that are alike on all ranks, as when they "
            "were shuffled.",
            "fewer are right": "",
        },
        came="', '.join(f'{right:.0%}' for right in rarely.values())",
    ),
    Choices(
        "float16_sum",
        {
            "80,000": "That would need a format that goes beyond 65,504.",
            "65,504, the largest": "That would be right if sums stopped at the largest number. "
            "They go over to infinity.",
            "infinity": "",
        },
        came="f'{means[False][0]}'",
    ),
    Number(
        "bytes_of_top_k",
        "%",
        {
            1: "1 % would need numbers that know their places.",
            0.5: "0.5 % would be right for float16 without places.",
            100: "100 % would need zeros that travel too.",
        },
        came="100 * compressed['top-k'].bytes_sent / compressed['top-k'].bytes_whole",
        within=0.05,
    ),
    Number(
        "how_many_losses",
        "",
        {
            2: "2 would be right if 5 ranks made other batches, or if a script started from "
            "other weights.",
            3: "3 would be right if each number of ranks made batches of its own.",
            4: "4 would need runs that differ in more than rounding.",
        },
        came="len(set(__import__('re').findall('[0-9][.][0-9]+', "
        "' '.join([*from_cells, finished.stdout]))))",
    ),
    Choices(
        "price_of_64",
        {
            "a 64th": "That would need one GPU's time for all of them: each of the 64 is paid for.",
            "as many": "That would need an efficiency of 1.",
            "twice as many": "That would be right for an efficiency of a half, as 13 GPUs have.",
            "more than five times as many": "",
        },
        came="f'{priced[64] / priced[1]:.2g} times as many'",
    ),
)
