"""What notebook 22 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number

TRUE, FALSE, CONDITION = "true", "false", "true on a condition"

PREDICTIONS = (
    Choices(
        "a_launch_that_fails",
        {
            "an error code": "That would need somebody to ask for it: a launch returns nothing.",
            "cudaSuccess": "",
            "nothing: the program ends": "That would need a language that raises errors. "
            "CUDA keeps the error until it is asked for.",
        },
        came="too_wide.status",
    ),
    Number(
        "after_the_launch",
        "sectors",
        {
            4: "4 would need neighbouring threads to write neighbouring elements of a row.",
            2: "2 would be 16 neighbouring floats. These threads write a row apart.",
            32: "32 would need 32 different rows: a warp of a 16 × 16 block has 16 of them, and "
            "two neighbours in each.",
        },
        came="sectors",
    ),
    Choices(
        "formula_of_a_convolution",
        {
            "1": "",
            "36": "That would need an output index, a number for each place of the filter.",
            "64": "That would need an output index and a border that is filled up.",
        },
        came="str(by_formula.size)",
    ),
    Choices(
        "blur_suspect",
        {
            "a plus sign, five times one fifth": "That would need each of the four neighbours "
            "once.",
            "one arm of the plus is missing and the opposite one is doubled": "",
            "a plus sign whose numbers add up to more than one": "That would need more than five "
            "fifths.",
            "a plus sign with rows and columns exchanged": "That looks the same as a right one: "
            "a plus is symmetric.",
        },
        came="f'{response[2, 3]:.1f} above and {response[4, 3]:.1f} below'",
    ),
    Number(
        "right_by_turns",
        "orders",
        {
            0: "0 would need threads that interrupt each other between a read and its write.",
            10: "10 would need chance. Threads in turn never meet, whatever their order.",
        },
        came="right_orders",
    ),
    Choices(
        "counted_at_once",
        {
            "all of them": "That would need an addition that nobody can interrupt.",
            "about half": "That would need two threads, and no more, to meet in one place each "
            "time.",
            "a few hundred or thousand": "",
        },
        came="f'{sums[0]:,}'",
    ),
    Choices(
        "on_another_device",
        {
            "it runs there": "That would need the labels to be there too.",
            "it stops with an error": "",
            "it runs on the CPU, without a word": "That would need torch to move tensors by "
            "itself.",
        },
        came="elsewhere[:8]",
    ),
    Number(
        "rows_of_25_images",
        "rows",
        {
            25: "25 would need 400 numbers for each image. Here an image has 256.",
            0: "torch has no reason to complain: the numbers come out even.",
        },
        came="len(scores)",
    ),
    Choices(
        "score_of_noise",
        {
            "about 10 %": "That would be chance among ten classes, if the labels were real.",
            "about 50 %": "That would be chance between two classes. There is one.",
            "100 %": "",
        },
        came="f'{noise_score:.0%}'",
    ),
    Choices(
        "rate_of_the_first_epoch",
        {
            "0.1": "That would need a schedule that has not stepped yet.",
            "0.01": "That would need a schedule that stands between the milestones.",
            "0.001": "",
        },
        came="f'{used[0]:g}'",
    ),
    Number(
        "batches_behind_a_step",
        "batches",
        {
            4: "4 would need (number + 1) % 4: the numbers begin with 0.",
            0: "0 would need a step before the backward pass of the first batch.",
        },
        came="behind[0]",
    ),
    Choices(
        "claim_memory_bound",
        {
            TRUE: "That would need a GPU's memory to be no faster than a CPU's.",
            FALSE: "That would need data that are always on the GPU. Over the link they move more "
            "slowly.",
            CONDITION: "",
        },
        came="f'{gain:.0f} times the bandwidth, once the data are there'",
    ),
    Choices(
        "claim_data_set",
        {
            "all that is there": "That would need the whole set on the GPU. A loader brings a "
            "batch at a time.",
            "the activations alone": "That would need larger batches. They belong to 32 images, "
            "of however many.",
            "nothing": "",
        },
        came="f'nothing: {on_the_gpu:,} bytes for both'",
    ),
    Choices(
        "claim_asynchronous",
        {
            TRUE: "That would need gradients or weights that are not sent.",
            FALSE: "",
            CONDITION: "That would need a condition under which a gradient needs no sending; there "
            "is none in this scheme.",
        },
        came="' and '.join(f'{size:,.0f}' for size in per_gradient.values()) + ' bytes'",
    ),
    Choices(
        "claim_layers",
        {
            TRUE: "That would need a layer that can begin before the layer below it has ended.",
            FALSE: "That would need a batch that cannot be cut into parts that follow one another.",
            CONDITION: "",
        },
        came="f'{idle[1]:.0%} idle with one batch, {idle[64]:.0%} with 64 parts'",
    ),
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
            "none: it ends": "That would need somebody who sends. Every rank receives first.",
            "rank 0 alone": "That would need workers that reach their half. The server's stands "
            "before it, and each rank goes through it first.",
            "all three": "",
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
        },
        came="by_count.by_worker[0]",
        within=0.005,  # 303 is a misconception, and 0.7 % off
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
        "gradient_of_an_overlap",
        {
            "3, that of all four samples": "That would need each sample to be used once. The 9 is "
            "used by nobody.",
            "1": "",
            "two different ones, and the ranks part": "That would need an exchange that fails. "
            "Both get the mean of 0.5 and 1.5.",
        },
        came="of_overlap",
    ),
    Choices(
        "two_gpus_on_a_cpu",
        {
            "3, that of all four samples": "That would need a weight for each replica. Here both "
            "are one tensor.",
            "6, twice as much": "",
            "none, since there is no second device": "That would need an error. `.to` is content "
            "with a device named twice.",
        },
        came="of_moved",
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
