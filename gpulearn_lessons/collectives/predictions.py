"""What notebook 15 asks beforehand."""

from gpulearn.judge.prediction import Choices, Number, below

PREDICTIONS = (
    Choices(
        "lines_of_four_ranks",
        {
            "one line": "That would need ranks that share the work of one call. Each makes a call "
            "of its own.",
            "four lines, in order of rank": "That would need each rank to wait for the one before "
            "it. They may come in order by chance.",
            "four lines, in any order": "",
            "five lines, the notebook's too": "That would need the notebook to be a rank as well. "
            "It only starts them and waits.",
        },
        came="'{} lines, from {} processes'.format(len(processes), len(set(processes)))",
    ),
    Choices(
        "list_of_the_notebook",
        {
            "[100, 0, 1, 2, 3]": "That would be right for threads, which share the memory of "
            "their process.",
            "[100, 3]": "That would need results that are copied back into the notebook, the last "
            "one over the others.",
            "[100]": "",
            "[100, 0]": "That would need rank 0 to be the notebook itself, as it is in some other "
            "systems.",
        },
        came="str(numbers)",
    ),
    Choices(
        "send_facing_send",
        {
            "each gets the other's number": "That would need a send that returns before anybody "
            "has received, as if messages waited in a mailbox.",
            "an error at once": "That would need somebody who sees both ranks. Each sees only "
            "that its partner is not ready yet.",
            "both wait until the timeout": "",
            "each gets its own number back": "That would need a send that meets the sender's own "
            "recv.",
        },
        came="str(facing).partition('\\n')[0]",
    ),
    Choices(
        "seen_by_rank_0",
        {
            "0, 1, 2, 3": "That would be right if numbers went to the left: then rank 1's would "
            "come first.",
            "0, 1, 0, 1": "That would be right if two ranks exchanged their numbers again and "
            "again.",
            "0, 3, 3, 3": "That would be right if each rank sent its own number each time, and "
            "passed nothing on.",
            "0, 3, 2, 1": "",
        },
        came="', '.join(map(str, seen[0]))",
    ),
    Number(
        "kept_by_rank_2",
        "",
        {
            2: "2 is what rank 0 has in this place: the sum is over all four ranks.",
            22: "22 is its own number in this place, to which the others' are added.",
            60: "60 would be right if the part was number 0 of the list; it is number 2.",
            86: "86 is the sum of rank 2's own list. What is added is one place over all ranks.",
            264: "264 is the sum of everything; each rank keeps a quarter of the places.",
        },
        came="int(str(scattered.rows[2][2]).strip('[]'))",
    ),
    Number(
        "messages_of_doubling",
        "messages",
        {
            3: "3 is the number of rounds; in each of them several messages are under way.",
            8: "8 are the messages of one round.",
            12: "12 would be right if an exchange was one message. It is two, one each way.",
            14: "14 is what the root and the tree need, 2(N−1).",
            56: "56 would be right if everybody wrote to everybody else.",
        },
        came="whole[2]['messages']",
    ),
    Number(
        "first_complete_chunk",
        "steps",
        {
            1: "1 would be right for 2 ranks: after one step a chunk holds the numbers of two.",
            2: "2 would be right for 3 ranks: after two steps a chunk holds the numbers of three.",
            4: "4 would be right if a chunk had to come home. It begins with one rank's numbers "
            "and needs three more.",
            6: "6 is both laps together.",
        },
        came="next(n for n, row in enumerate(steps.rows, 1) if str(row[3])[0] != '0')",
    ),
    Number(
        "bytes_of_a_long_ring",
        "S",
        {
            1: "1 would be right for one lap; there are two, one that adds and one that hands out.",
            63: "63 would be right if whole tensors went round one lap.",
            64: "64 would need whole tensors, one for each rank.",
            126: "126 is the number of messages; each carries a 64th of S.",
            0.03125: "1/32 would be one chunk in each lap; there are 63 steps in each.",
        },
        came="each[64]",
        within=0.02,
    ),
    Number(
        "whole_tensors_round",
        "S",
        {
            1: "1 would be right if each rank sent its own tensor alone; it passes on the others' "
            "too.",
            1.875: "1.875 is the ring of chunks: 30 steps of a 16th.",
            2: "2 is where the ring of chunks goes for many ranks.",
            16: "16 would bring each rank its own tensor back, which it has.",
            30: "30 would be two laps; with whole tensors one is enough.",
        },
        came="wrong.bytes_sent[0] / S",
    ),
    Number(
        "root_against_ring",
        "times",
        {
            1: "1 would be right if only the number of messages in a row counted: both have 6.",
            2: "2 would be right for 2 ranks, where a chunk is half of the tensor.",
            6: "6 would be right if the ring took the time of one whole tensor.",
            12: "12 would be right if all messages of a lap went at once; its steps wait for one "
            "another.",
        },
        came="large['root'].seconds / large['ring'].seconds",
        within=0.15,
    ),
    Choices(
        "root_against_ring_here",
        {
            "it is the faster of the two": "That would need a ring whose many messages cost more "
            "than the bytes they save, as with ranks that wait for a core.",
            "about as long": "That would need a machine in which messages take turns, so that "
            "sending at the same time gains nothing.",
            "about twice as long": "That is the model's answer for 2 ranks: there the ring's bytes "
            "in a row are half of the root's.",
            "three times as long, or more": "That is the model's answer for 4 ranks that send "
            "without disturbing one another.",
        },
        came="f'{times_root:.2g} times as long'",
        pick=below(
            {"it is the faster of the two": 0.85, "about as long": 1.3, "about twice as long": 3.0},
            "three times as long, or more",
        ),
    ),
    Number(
        "bus_bandwidth",
        "GB/s",
        {
            265: "265 is the tensor's bytes per second; a ring of 8 sends 1.75 times as many.",
            450: "450 is the data sheet of NVLink 4. What was measured is a time.",
            530: "530 would be right if each rank sent 2S; with 8 ranks it is 14/8 of S.",
            232: "232 is one lap; an all-reduce has two.",
            900: "900 is what data sheets give for both directions together.",
        },
        came="bus['8 H200', 2**30]",
        within=0.03,
    ),
    Number(
        "ring_for_one_number",
        "times",
        {
            1: "1 would need as many rounds in both. For one number nearly all is latency.",
            2: "2 would count the ring's two laps, but a lap has 1,023 rounds.",
            102: "102 would be right for one lap; there are two.",
            1024: "1,024 would be right if doubling took 2 rounds; it takes 10.",
            2046: "2,046 is the ring's number of rounds; doubling takes 10.",
        },
        came="modelled('ring', 4) / modelled('doubling', 4)",
        within=0.1,
    ),
    Number(
        "two_levels",
        "times",
        {
            1: "1 would be right if all bytes still went through every network card.",
            8: "8 would be right if the way through NVLink took no time.",
            9: "9 is how much faster NVLink is; but the network still carries an eighth.",
            128: "128 is the number of machines.",
        },
        came="flat / (inside + between)",
        within=0.15,
    ),
    Choices(
        "swapped_order",
        {
            "an error at once": "That would need messages that say which tensor they belong to.",
            "an error after the timeout": "That would need calls that do not meet. Both ranks call "
            "an all-reduce of two numbers, twice.",
            "no error, and both sums are right": "That would need sums that find their tensor by "
            "its name. The first call meets the first call.",
            "no error, and both sums are wrong": "",
        },
        came="f'no error; a and b on rank 0: {exchanged[0]}'",
    ),
)
