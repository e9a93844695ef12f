"""What notebook 21 asks of the interval between checkpoints, of monitoring and of queues."""

from gpulearn.exercise.prediction import Choices

PREDICTIONS = (
    Choices(
        "half_as_often",
        {
            "about 2% more": "That would need an interval much nearer to the best one.",
            "about a fifth more": "",
            "twice as much": "That would need a loss that is all repeated work. A part is saving, "
            "which is halved, and a part restarts, which stay.",
        },
        came="f'{twice / best - 1:.0%} more'",
    ),
    Choices(
        "four_times_as_many",
        {
            "it stays": "That would need failures that stay as rare.",
            "it is halved": "",
            "it is a quarter": "That would need an interval in proportion to the MTBF. It goes "
            "with the root.",
        },
        came="f'from {minutes[0]:.0f} to {minutes[1]:.0f} minutes'",
    ),
    Choices(
        "young_at_the_mtbf",
        {
            "less than 1% longer": "That would need a save of about a sixth of the MTBF or less.",
            "about 14% longer": "",
            "more than twice as long": "That would need an interval of about 2.5 times the MTBF. "
            "Young's is 1.4 times.",
        },
        came="f'{longer:.0%} longer'",
    ),
    Choices(
        "who_computes_least",
        {
            "rank 2, the slow one": "That would need a slow rank that waits. It is the one that "
            "the others wait for.",
            "all but rank 2": "",
            "all the same": "That would need a time that each rank has for itself. They wait for "
            "each other in each step.",
        },
        came="', '.join(f'rank {one.rank}: {one.shares()[\"compute\"]:.0%}' for one in monitors)",
    ),
    Choices(
        "gauge_or_counter",
        {
            "both": "That would need a question that comes while the gauge still shows that step.",
            "the gauge": "That would need a counter that forgets. It keeps what was between two "
            "questions.",
            "the counter": "",
        },
        came="f'gauge at most {max(gauge):.0%}, counter {max(by_counter):.0%}'",
    ),
    Choices(
        "saved_in_the_handler",
        {
            "both of before the step": "That would need a signal that comes before the step.",
            "both of after the step": "That would need a signal that waits until the step has "
            "ended.",
            "one of after the step, one of before": "",
        },
        came="str(saved)",
    ),
    Choices(
        "in_two_parts",
        {
            "the same, to the bit": "",
            "the same, but for rounding": "That would need sums in another order.",
            "the second part has other images": "That would need an order of the images that does "
            "not follow from the number of the epoch.",
        },
        came="'the same to the bit' if in_parts.losses == in_one.losses else 'not the same'",
    ),
)
