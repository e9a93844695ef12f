"""What the cases of many ranks ask beforehand."""

from gpulearn.exercise.prediction import Choices, Number, Prediction

OF_RANKS: tuple[Prediction, ...] = (
    Choices(
        "used_by_nobody",
        {
            "none": "That would need both ranks to cut the same order. Each has one of its own.",
            "about four": "",
            "eight": "That would need both to leave out the same half. Each leaves out a half by "
            "chance, and about a quarter of the samples is in both halves.",
        },
        came="f'{unused} samples'",
    ),
    Choices(
        "cause_of_unused",
        {
            "randperm gives some numbers twice": "That would need an order with gaps. Each rank's "
            "own numbers are all different.",
            "each rank cuts an order of its own": "",
            "every second batch is left out": "That would need ranks that take the same batches. "
            "Rank 0 takes batches 0 and 2, rank 1 takes 1 and 3.",
        },
        came="f'with one seed, {16 - len(set(same_seed.tolist()))} are unused'",
    ),
    Number(
        "vector_of_losses",
        "",
        {
            1.5: "1.5 is the gradient of the mean. Nobody has taken it.",
            0: "0 would be the gradient of the first sample alone.",
            3: "3 is the gradient of the last sample alone; all four are added up.",
            4: "4 is how many samples there are.",
        },
        came="of_vector.item()",
    ),
    Choices(
        "started_by_hand",
        {
            "it goes on as rank 0 of 1": "That would need somebody to say that there is one rank. "
            "Nothing says how many there are.",
            "it starts a process for each GPU": "That is what torchrun does. This line only joins.",
            "it waits for the other ranks": "That would need to know how many, and where.",
            "it stops with an error": "",
        },
        came="by_hand",
    ),
    Choices(
        "apart_after_50",
        {
            "equal to the bit": "That would need the same start, and the same gradient in each "
            "step.",
            "by rounding": "That would need the same start, and gradients that are exchanged and "
            "added up in another order.",
            "by more than a tenth": "",
        },
        came="f'{found_apart[2]:.2f} of their length'",
    ),
    Choices(
        "same_start_alone",
        {
            "equal at step 0 and ever after": "That would need equal gradients, too. Each rank has "
            "images of its own, and nothing is exchanged.",
            "equal at step 0, apart from step 1 on": "",
            "apart at step 0, equal at step 50": "That would need one minimum that both have "
            "reached after 50 steps, whatever images they see.",
        },
        came="'apart by {:.3f}, {:.3f} and {:.3f}'.format(*rows['same start alone'])",
    ),
    Choices(
        "gpu_of_rank_3",
        {
            "cuda:0": "That is rank 2's, and what the program takes on every rank.",
            "cuda:1": "",
            "cuda:3": "That would need a machine with four GPUs. Ranks are counted over all "
            "machines, GPUs on each.",
        },
        came="gpu_of_3",
    ),
    Choices(
        "who_waits",
        {
            "rank 0 for the workers, and they for it": "That would need workers that have come to "
            "their half. It stands behind the server's.",
            "every rank for another one": "",
            "nobody: it ends": "That would need somebody who sends. Every rank receives first.",
        },
        came="waiting[0]",
    ),
    Number(
        "gradients_of_the_quick",
        "gradients",
        {
            101: "101 is a third: that would need a server that waits for each worker.",
            303: "303 would be all. The other two have sent their first.",
            202: "202 would need workers a quarter as fast. They take 250 times as long.",
            300: "The other two send one each in this time.",
        },
        came="by_count.by_worker[0]",
        within=0.01,
    ),
    Choices(
        "cause_of_301",
        {
            "gradients of slow workers are thrown away": "That would need gradients that came and "
            "were not counted. The slow ones have sent one each.",
            "who is answered at once gives another to the same step": "",
            "all three have worker 0's number": "That was the second fault. Here each gradient is "
            "counted for the worker that it came from.",
        },
        came="str(each_once.by_worker)",
    ),
    Choices(
        "plain_to_two",
        {
            "each a half": "That would need a data set that was distributed. A plain value is "
            "handed over as it is.",
            "both all of it": "",
            "replica 0 all, replica 1 nothing": "That would need a strategy that uses one replica. "
            "The function is called on both.",
        },
        came="'{} and {}'.format(*seen['given']['plain'])",
    ),
    Number(
        "applied_to_parts",
        "",
        {
            1.5: "1.5 is the mean of 0.5 and 2.5. The two are added up.",
            0.5: "0.5 is what replica 0 computes alone.",
            2.5: "2.5 is what replica 1 computes alone.",
            6: "6 would be right if each added its samples up. Each takes the mean of two.",
        },
        came="applied['distributed batch, own mean']",
    ),
    Choices(
        "optimizer_inside",
        {
            "at −0.561, as with one optimiser": "That would need a velocity that outlives the "
            "call.",
            "at −0.3, without an error": "",
            "at −0.6: both replicas step": "That would need a gradient of 1 from each replica. "
            "Here the sum of the two is 1.",
        },
        came="str(seen['momentum']['made in each call'])",
    ),
    Choices(
        "twice_the_bytes",
        {
            "an exchange after each micro-batch": "It would, and so would whole tensors: 3·S both.",
            "whole tensors go round": "They would, and so would an exchange after each "
            "micro-batch: 3·S both.",
            "either of the two": "",
            "neither": "For four ranks a ring sends 1.5·S, and both send 3·S.",
        },
        came="' and '.join(f'{sent} bytes' for sent in list(bytes_of.values())[1:])",
    ),
    Number(
        "whole_between_two",
        "times",
        {
            2: "2 is right for four ranks: 3·S in place of 1.5·S.",
            0.5: "0.5 would need whole tensors that are smaller than parts.",
        },
        came="of_two[1] / of_two[0]",
    ),
)
