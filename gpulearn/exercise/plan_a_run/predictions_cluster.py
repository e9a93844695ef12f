"""What the second half of notebook 23 asks beforehand: the plan of a cluster run."""

from gpulearn.exercise.prediction import Choices, Number, Prediction

PREDICTIONS: tuple[Prediction, ...] = (
    Number(
        "years_on_one_gpu",
        "years",
        {
            11: "11 would be forward alone; backward takes twice as many operations.",
            5: "5 would be one operation for each parameter. A multiplication and an addition are "
            "two, and backward takes twice as many as forward.",
        },
        came="years",
        within=0.2,
    ),
    Choices(
        "attention_share",
        {
            "about 3 % and 4 %": "That would need an attention that hardly grows with the row.",
            "about 3 % and 64 %": "",
            "about 30 % and 96 %": "That would need fewer parameters: 4·s·h·l is compared with "
            "2·P.",
        },
        came="f'{shares[0]:.0%} and {shares[1]:.0%}'",
    ),
    Number(
        "without_recomputation",
        "per cent",
        {
            49: "49 is with the operations that are carried out twice.",
            65: "65 would be right if operations were left out of the count. They are in it.",
        },
        came="100 * for_the_model",
        within=0.03,
    ),
    Number(
        "gpus_for_state",
        "GPUs",
        {
            5: "5 hold the weights alone. There are gradients and the optimiser's state too.",
            9: "9 hold weights and gradients of 2 bytes. The optimiser's state is larger.",
            39: "39 hold 3,120 GB, and what is over needs one more.",
            35: "35 would be right with gradients of 2 bytes. Here they have 4.",
        },
        came="at_least",
    ),
    Choices(
        "tensor_16",
        {
            "somewhat faster": "That would need links between machines that are faster "
            "than those inside.",
            "about as fast": "That would need all-reduces that hardly count.",
            "more than three times as slow": "",
        },
        came="f'{steps[16] / steps[8]:.1f} times as slow'",
    ),
    Choices(
        "left_out",
        {
            "by less than 10 %": "That would need other runs that tell as much about the network.",
            "by 10 to 20 %": "That would need other runs that tell something about the network.",
            "by more than 20 %": "",
        },
        came="', '.join(f'{one.left_out:+.0%}' for one in held if 'ZeRO' in one.row.run)",
    ),
    Number(
        "palm_whole_run",
        "per cent",
        {
            45.7: "45.7 would need steps without a pause, all of which count, on all of the chips.",
            57.8: "57.8 counts what is recomputed, in a step.",
        },
        came="100 * of_the_run",
        within=0.05,
    ),
    Choices(
        "sixteen_times_as_many",
        {
            "about 16 times as fast": "That would need as much work for each GPU as before. The "
            "batch is the same.",
            "about 12 times as fast": "That would need a bubble and exchanges that shrink with "
            "the computing.",
            "about 8 times as fast": "",
        },
        came="f'{speed_up:.1f} times as fast'",
    ),
)
