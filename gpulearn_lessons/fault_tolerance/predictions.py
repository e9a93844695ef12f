"""What notebook 21 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Number(
        "hours_of_a_thousand",
        "hours",
        {
            3.1: "3.1 hours is for all 16,384 of them.",
            3: "3 hours is for all 16,384 of them.",
            0.19: "That would need fewer GPUs to fail more often.",
        },
        came="hours_of_1000",
        within=0.05,
    ),
    Choices(
        "the_other_three",
        {
            "they go on, three of them": "That would need a sum that does with three parts. The "
            "group was made for four.",
            "they wait for the whole timeout": "That would need a death that nobody sees. Here the "
            "system closes the dead one's connections.",
            "they fail as well, at once": "",
        },
        came="f'all over after {until_over:.1f} s'",
    ),
    Number(
        "steps_in_all",
        "steps",
        {
            10: "10 would need a group that goes on with the sixth step.",
            11: "11 would need a checkpoint after each step, and the sixth step to be done twice.",
            20: "20 would need the first start to come to its end.",
        },
        came="steps_made",
    ),
    Choices(
        "only_the_weights",
        {
            "as in the undisturbed run, to the bit": "That would need an optimiser that remembers "
            "nothing. Adam keeps two means for each weight.",
            "off by rounding": "That would need the same steps, added in another order. These are "
            "other steps.",
            "off by much more than rounding": "",
        },
        came="f'off by {apart[1]:.1g}'",
    ),
    Choices(
        "on_three_ranks",
        {
            "to the bit as on four ranks": "That would need the same parts, added in the same "
            "order. Three ranks have other parts.",
            "off by rounding": "",
            "off by more, each rank has other rows": "That would need batches that depend on the "
            "number of ranks. A batch is dealt out anew.",
        },
        came="f'off by {off:.0e}'",
    ),
    Choices(
        "wait_for_a_copy",
        {
            "hardly any time, less than a tenth": "That would need a disk that is much slower "
            "than this one, or less to copy.",
            "less than a half": "That would need a copy that takes from a tenth to a half of the "
            "time to write.",
            "as long, all bytes are moved": "That would need memory that is as slow as the disk, "
            "or a machine that is busy.",
        },
        came="f'{beside / plain:.2f} times as long'",
        pick=below(
            {"hardly any time, less than a tenth": 0.1, "less than a half": 0.5},
            "as long, all bytes are moved",
        ),
    ),
    Choices(
        "no_copy_taken",
        {
            "step 1, with the weights of step 1": "That would need a copy. The dictionary holds "
            "the tensor itself.",
            "step 1, with the weights of step 2": "",
            "step 2, with the weights of step 2": "That would need the number to change as well. "
            "A number is not changed in place.",
            "nothing: an error is raised": "That would need somebody who looks. Nobody compares "
            "the weights with the step.",
        },
        came="f\"step {found['step']}, weights {found['weights'].tolist()}\"",
    ),
    Number(
        "of_one_step",
        "combinations",
        {
            16: "16 would need files that are whole at each moment, and change together.",
            12: "12 leaves out the four with parts of two steps. In 7 more half a file is left.",
            9: "9 have whole files. In some of these one part is new and the other old.",
            1: "1 is the old checkpoint. The new one is whole as well, when both are written.",
        },
        came="of_one_step",
    ),
    Choices(
        "said_by_the_waiting",
        {
            "that rank 1 is late": "That would need to know who is missing. The rank whose "
            "message is missing may be waiting as well.",
            "that they waited in vain": "",
            "nothing: they wait for ever": "That would need a collective without a timeout.",
        },
        came="by_the_waiting",
    ),
    Choices(
        "where_it_hangs",
        {
            "in the second": "That would need collectives that know one another. Rank 1's next "
            "call meets it, and nobody sees that it is the third.",
            "in the third": "That would need rank 1 to be one call behind in it. Its last call "
            "meets the third.",
            "in the fourth": "",
        },
        came="waits",
    ),
    Choices(
        "whose_steps",
        {
            "rank 2's": "That would need others that go on without it. They wait in the "
            "all-reduce.",
            "those of the other three": "That would need a wait that is longer than what rank 2 "
            "computes more.",
            "nobody's: all take as long": "",
        },
        came="', '.join(f'{one:.1f}' for one in whole_steps.tolist()) + ' ms'",
    ),
    Number(
        "part_that_waits",
        "%",
        {
            0.1: "0.1 % is the part of the GPUs that is slow. All others wait for it.",
            100: "100 % would need others that compute nothing.",
            33: "33 % would be right for one that is 1.5 times as slow.",
        },
        came="waiting",
        within=0.02,
    ),
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
