"""What notebook 18 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number


def _better_mean(came: str) -> str:
    by_samples, alike = (float(part.split("%")[0]) for part in came.split(", "))
    if abs(by_samples - alike) < 1:
        return "no difference"
    return "each sample counts the same" if by_samples > alike else "each client counts the same"


PREDICTIONS = (
    Number(
        "one_straggler",
        "times",
        {
            1: "That would need workers that do not wait for each other.",
            1.75: "1.75 is the mean of 1, 1, 1 and 4. The others cannot use the time in which they "
            "wait.",
            1.23: "1.23 would need the other three to take over what the straggler does not do.",
        },
        came="slowed.seconds / equal.seconds",
        within=0.02,
    ),
    Number(
        "asynchronous_speed",
        "times",
        {
            4: "4 would need updates by the quick workers alone, four of them. There are three.",
            1: "That would need a server that waits for the straggler.",
        },
        came="waits.results[0].seconds / goes_on.results[0].seconds",
        within=0.1,
    ),
    Choices(
        "bytes_for_a_gradient",
        {
            "fewer": "That would need gradients that are smaller, or weights that are not sent "
            "back. It waits less; it does not send less.",
            "as many": "",
            "more": "In each second it sends more, since it does more. The question is for each "
            "gradient.",
        },
        came="'{:.1f} and {:.1f} bytes'.format(*costs.values())",
    ),
    Number(
        "staleness_of_equals",
        "updates",
        {
            0: "0 would need the server to wait for this worker.",
            4: "4 would count its own gradient, too.",
            1.5: "1.5 is the mean over one synchronous step. Here the others never stop.",
            2: "Between two of its gradients each of the three others sends one.",
        },
        came="common",
    ),
    Number(
        "staleness_of_the_slow",
        "updates",
        {
            4: "4 would be right with one other worker: three of them send four each.",
            3: "3 would be right for a worker as quick as the others.",
            16: "16 would be right with four others.",
        },
        came="usual",
        within=0.01,
    ),
    Number(
        "limit_at_3",
        "",
        {
            2: "2 is the limit without delay.",
            0.5: "0.5 is 2 divided by τ + 1, and is not far off.",
            0.667: "That is 2 divided by τ.",
            1: "1 is the limit for a delay of one update.",
        },
        came="limit",
        within=0.02,
    ),
    Choices(
        "above_the_limit",
        {
            "nearer than at the start": "That would need a descent that only swings for longer. "
            "Beyond the limit each swing is larger than the one before.",
            "about as far as at the start": "That would be right at the limit itself.",
            "more than 10 times as far": "",
        },
        came="'{:.2g} times as far'.format(ends[1.05])",
    ),
    Choices(
        "eight_workers",
        {
            "as many digits are right": "That would need a rate far below the limit that a "
            "staleness of 7 sets.",
            "a little fewer": "That would need a rate at which staleness costs little. This one is "
            "too large for it.",
            "less than half of them": "",
        },
        came="'{:.0%}, and {:.0%} by one worker'.format(by_workers[8], by_workers[1])",
    ),
    Choices(
        "aware_of_staleness",
        {
            "as few as before": "That would need a limit that lies even below an eighth of this "
            "rate.",
            "more than half, but fewer than by one worker": "",
            "more than by one worker": "That would need more updates. The digits are eight times "
            "as many, but each step is an eighth as long.",
        },
        came="f'{aware_right:.0%}'",
    ),
    Choices(
        "bound_for_a_straggler",
        {
            "as asynchronous": "That would need a straggler that catches up at times. This one is "
            "always slow.",
            "halfway between": "At first, yes. In the long run everybody is held 3 steps ahead of "
            "it.",
            "nearly as synchronous": "",
        },
        came="'{:.1f} s, synchronous {:.1f} s'.format(seconds[3], seconds[0])",
    ),
    Choices(
        "bound_for_hiccups",
        {
            "as asynchronous": "",
            "halfway between": "That would need hiccups that hold a worker up for more than the "
            "three steps of the bound.",
            "nearly as synchronous": "That was right for a worker that is always slow. Here each "
            "catches up while another has its hiccup.",
        },
        came="'{:.1f} s, asynchronous {:.1f} s'.format(hiccup_seconds[3], "
        "hiccup_seconds[__import__('math').inf])",
    ),
    Choices(
        "loss_after_ten_seconds",
        {
            "bound 0": "That would need stale gradients to be so bad that more of them do not make "
            "up for it.",
            "bound 3": "",
            "no difference": "For each update there is hardly any. In ten seconds, one makes more "
            "updates.",
        },
        came="min(after_ten, key=after_ten.get)",
    ),
    Choices(
        "no_copy",
        {
            "nothing: the backup has a copy": "That would need somebody to send it one.",
            "the one push that was under way": "That one is sent again. Lost is what will not be "
            "sent again: what was acknowledged.",
            "all that was acknowledged before": "",
        },
        came="f'{alone.lost} acknowledged pushes'",
    ),
    Number(
        "count_600",
        "",
        {
            600: "600 would need a server that knows the push when it comes again.",
            599: "599 would need a push that the backup does not have. It has it, and gets it "
            "again.",
        },
        came="repeated.applied.sum()",
    ),
    Number(
        "twenty_kills",
        "",
        {
            20: "20 would be one for each kill: no push is acknowledged before both servers have "
            "it.",
            1: "Each push is either acknowledged, and on both servers, or it is sent again.",
        },
        came="survived.lost",
    ),
    Number(
        "many_local_steps",
        "",
        {
            0.9: "0.9 is where the mean loss is least; it would need a mean after every step.",
            1: "1 is the minimum of the steep bowl alone.",
            0: "0 is the minimum of the flat bowl alone.",
        },
        came="rests[100]",
        within=0.02,
    ),
    Choices(
        "who_counts_how_much",
        {
            "each client counts the same": "That would need small clients that go as far in a "
            "round as the large one.",
            "each sample counts the same": "That would need the large client to have gone further, "
            "and in a direction that is good for all.",
            "no difference": "That would need clients with about as many samples each.",
        },
        came="'{:.0%} by samples, {:.0%} each the same'.format(right[True], right[False])",
        pick=_better_mean,
    ),
    Number(
        "rounds_for_steps",
        "times",
        {
            4: "4 is the number of rounds, which is how often it sends.",
            20: "20 is the number of digits in a batch.",
            1000: "1,000 would need steps with one digit each.",
        },
        came="saved",
    ),
)
