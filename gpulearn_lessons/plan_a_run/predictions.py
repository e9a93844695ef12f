"""What notebook 23 asks beforehand of GPUs, of models that fit, and of a cluster run."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "cheapest_hour",
        {
            "the one with the cheapest hour": "That would be right if a GPU for twice the price "
            "was less than twice as fast.",
            "the fastest": "That would be right if the price rose more slowly than the speed, up "
            "to the largest GPU.",
            "neither of them": "",
        },
        came="'{} has the cheapest hour, {} is the fastest, {} does the cheapest step'.format(*("
        "min((g for g in offers('half') if g.price and g.memory >= needed), key=by).name "
        "for by in (lambda g: g.price, lambda g: g.seconds(flops, moved), "
        "lambda g: g.price * g.seconds(flops, moved))))",
    ),
    Choices(
        "cheapest_for_a_token",
        {
            "the same as for the step": "That would be right if arithmetic was the limit of both "
            "jobs. One token needs every weight for only two operations.",
            "the one with the most bandwidth": "That would need a price that rises more slowly "
            "than the bandwidth.",
            "the one with the most bandwidth for a dollar": "",
        },
        came="'{} for the training step, {} for one token'.format(*("
        "cheapest_gpu_that_fits(offers('half'), *jobs[name]) for name in jobs))",
    ),
    Choices(
        "spot_breaks_even",
        {
            "once a day": "That would need a spot price of 97.5 % of the other: of a day, some 36 "
            "minutes are lost.",
            "every six hours": "That would need a spot price of 90 % of the other: 100 hours "
            "become 111.",
            "every two hours": "That would need a spot price of 73 % of the other: 100 hours "
            "become 137.",
            "every half hour": "",
        },
        came="'at one in {:g} hours it is dearer, at one in {:g} still cheaper'.format("
        "max(gap for gap, one in zip(between, paid) if spot * one > on_demand * 100), "
        "min(gap for gap, one in zip(between, paid) if spot * one < on_demand * 100))",
    ),
    Choices(
        "half_as_many_again",
        {
            "less: they are done sooner": "That would need less than two thirds of the time on "
            "half as many again. All of them are paid until the last is done.",
            "the same": "That would need two thirds of the time on half as many again: 40.1 "
            "seconds instead of 44.4.",
            "about a tenth more": "",
            "half more": "That would need steps that do not become any faster.",
        },
        came="'{:.0%} more'.format(dollars[3360] / dollars[2240] - 1)",
    ),
    Choices(
        "energy_of_a_step",
        {
            "yes, ten times as much": "That would be right if the step took both the same time.",
            "no, about as much": "That would be right if the H100 was ten times as fast. By the "
            "roofline it is fifteen times as fast.",
            "no, less": "",
        },
        came="'{:.0f} J on an H100, {:.0f} J on a T4'.format(*("
        "gpu.power * gpu.seconds(flops, moved) for name in ('H100', 'T4')"
        " for gpu in offers('half') if gpu.name == name))",
    ),
    Choices(
        "electricity_in_the_rent",
        {
            "about a tenth": "",
            "about a third": "That would need a kilowatt-hour for 34 cents, as some households "
            "pay.",
            "more than half": "That would need a kilowatt-hour for more than 50 cents.",
        },
        came="f'{electricity / rent:.0%}'",
    ),
    Choices(
        "chain_on_one_unit",
        {
            "the core": "That would need a core that is not held up: one that is slow or busy "
            "loses against a unit.",
            "they are about as fast": "That would need a core that takes about 5 ns for a step of "
            "the chain.",
            "the unit": "That would need a core whose operations take as long as 4 ticks of a "
            "clock of 1.59 GHz, or longer.",
        },
        came="f'{ours * 1e9:.2g} ns on the core, {theirs * 1e9:.2g} ns on the unit'",
        pick=below({"the core": 4, "they are about as fast": 6.3}, "the unit"),
    ),
    Number(
        "work_on_the_gpu",
        "kinds of work",
        {
            0: "0 would need a CPU with more arithmetic and more bandwidth than a T4.",
            1: "1 would need a CPU that has the T4's arithmetic or its bandwidth, as large servers "
            "do.",
            2: "2 would need a CPU with less arithmetic and less bandwidth than a T4.",
            3: "3 would need a CPU that takes longer than 5 µs to add a thousand pairs, or a chain "
            "that is quicker on a T4.",
            4: "4 would need a GPU that starts at once and waits no longer for an operation than a "
            "core.",
        },
        came="sum(row['T4'] < row['here'] for row in times.values())",
    ),
    Number(
        "tree_of_32_on_64",
        "",
        {
            31: "31 would leave one lane out. Each round doubles what lane 0 has added up.",
            63: "63 would need a sixth round, and one lane left out of it.",
            64: "64 would need a sixth round, in which lane 0 takes what lane 32 has.",
            5: "5 is the number of rounds. Each doubles what lane 0 has added up.",
            6: "6 would need rounds that add one lane each. Each doubles what lane 0 has added up.",
            16: "16 would need one round less: 2 to the power of the number of rounds is added up.",
        },
        came="lanes[0]",
    ),
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
            65: "65 would be right if the 153 left out what is recomputed. It counts it.",
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
            "about a third slower": "",
            "more than three times as slow": "That would need all-reduces in one ring, which "
            "leaves each machine through one of its eight network cards.",
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
