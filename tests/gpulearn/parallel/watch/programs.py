"""Small trainings on two ranks: each mistake in several makes, and each set right."""

import copy
import gc
import os
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset, random_split

STEPS = 3


def network(seed=0, dropout=0.0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 2))


def batch(step, rank=None, rows=6):
    rank = dist.get_rank() if rank is None else rank
    draw = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(rows, 4, generator=draw), torch.randint(2, (rows,), generator=draw)


def average(model, divisor=None):
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= divisor or dist.get_world_size()


def samples(count=24):
    draw = torch.Generator().manual_seed(0)
    return TensorDataset(
        torch.randn(count, 4, generator=draw), torch.randint(2, (count,), generator=draw)
    )


def loss_of(model, step, data=batch):
    inputs, labels = data(step)
    return functional.cross_entropy(model(inputs), labels)


def loop(model, optimizer=None, *, data=batch, before=None, after=None, call=None, steps=STEPS):
    """A plain loop; `before` comes between backward and step, `after` behind the step."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), 0.1)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(call or model, step, data).backward()
        if before:
            before()
        optimizer.step()
        if after:
            after(step)


def loop_over(loader, model=None):
    """The same over a loader's batches."""
    model = model or DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for inputs, labels in loader:
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


class Trainer:
    """As a class of a library has it: the step is a method, the loader is given."""

    def __init__(self, model, loader, rate=0.1, wrap=True):
        self.plain = model
        self.model = DistributedDataParallel(model) if wrap else model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), rate)
        self.loader = loader

    def forward(self, inputs):
        return self.model(inputs)

    def exchange(self):
        """Nothing, where a wrapper does it."""

    def step(self, inputs, labels):
        self.optimizer.zero_grad()
        loss = functional.cross_entropy(self.forward(inputs), labels)
        loss.backward()
        self.exchange()
        self.optimizer.step()

    def set_epoch(self, epoch):
        self.loader.sampler.set_epoch(epoch)

    def train(self, epoch):
        self.set_epoch(epoch)
        for inputs, labels in self.loader:
            self.step(inputs, labels)

    def fit(self, epochs=2):
        for epoch in range(epochs):
            self.train(epoch)


class ByHand(Trainer):
    """Ranks average their gradients without a wrapper."""

    def __init__(self, model, loader):
        super().__init__(model, loader, wrap=False)

    def exchange(self):
        average(self.plain)


class Deaf(Trainer):
    """No sampler is told the epoch: there is none, or it is forgotten."""

    def set_epoch(self, epoch):
        pass


def shares(dataset=None, size=4, **options):
    dataset = dataset or samples()
    return DataLoader(dataset, size, sampler=DistributedSampler(dataset, **options))


def uneven_shares():
    """16 samples for rank 0, and 8 for rank 1."""
    mine = range(16) if dist.get_rank() == 0 else range(16, 24)
    return DataLoader(Subset(samples(24), list(mine)), 4)


# replicas that differ


def past_the_wrapper_in_a_loop():
    model = DistributedDataParallel(network())
    loop(model, call=model.module)


def past_the_wrapper_in_a_trainer():
    class Past(Trainer):
        def forward(self, inputs):
            return self.plain(inputs)

    Past(network(), shares()).fit()


def never_averaged_in_a_loop():
    model = network()
    loop(model)


def never_averaged_in_a_trainer():
    Trainer(network(), shares(), wrap=False).fit()


def never_averaged_under_no_sync():
    model = DistributedDataParallel(network())
    with model.no_sync():
        loop(model)


def never_averaged_but_the_loss():
    model = network()

    def log():
        dist.all_reduce(torch.zeros(1))

    loop(model, torch.optim.Adam(model.parameters(), 0.1), before=log)


def seeds_differ_in_a_loop():
    model = network(seed=dist.get_rank())
    loop(model, before=lambda: average(model))


def seeds_differ_in_a_trainer():
    ByHand(network(seed=dist.get_rank()), shares()).fit()


def seeds_differ_and_nothing_is_averaged():
    model = network(seed=dist.get_rank())
    loop(model)


def seeds_differ_without_a_network():
    weight = (torch.arange(4.0) + dist.get_rank()).requires_grad_()
    optimizer = torch.optim.SGD([weight], 0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        (batch(step)[0] @ weight).square().mean().backward()
        dist.all_reduce(weight.grad)
        weight.grad /= dist.get_world_size()
        optimizer.step()


def one_layer_left_out():
    model = network()
    loop(model, before=lambda: average(model[0]))


def head_outside_the_wrapper():
    body, head = DistributedDataParallel(nn.Linear(4, 4)), nn.Linear(4, 2)
    with torch.no_grad():
        head.weight.fill_(0.1), head.bias.zero_()
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.1)
    loop(body, optimizer, call=lambda inputs: head(body(inputs)))


def one_rank_changes_weights():
    model = DistributedDataParallel(network())

    def reset(step):
        if step == 0 and dist.get_rank() == 1:
            with torch.no_grad():
                model.module[0].weight.mul_(0.5)

    loop(model, after=reset)


# what ranks train on


def same_batches_in_a_loop():
    model = DistributedDataParallel(network())
    loop(model, data=lambda step: batch(step, rank=0))


def same_batches_without_a_sampler():
    loop_over(DataLoader(samples(), 4))


def same_batches_by_a_fixed_rank():
    Trainer(network(), shares(num_replicas=2, rank=0)).fit()


def each_rank_draws_all():
    dataset = samples()
    generator = torch.Generator().manual_seed(dist.get_rank())
    loader = DataLoader(dataset, 4, shuffle=True, generator=generator)
    Deaf(network(), loader).fit()


def cut_after_shuffles_of_its_own():
    dataset = samples()
    generator = torch.Generator().manual_seed(dist.get_rank())
    order = torch.randperm(len(dataset), generator=generator).tolist()
    loader = DataLoader(Subset(dataset, order[dist.get_rank() :: 2]), 4)
    loop_over(loader)


def seeds_of_samplers_differ():
    Trainer(network(), shares(seed=dist.get_rank())).fit()


def split_by_seeds_of_their_own():
    draw = torch.Generator().manual_seed(dist.get_rank())
    train, _ = random_split(samples(40), [24, 16], draw)
    Trainer(network(), shares(train)).fit()


def seeds_of_samplers_differ_behind_a_batch_taken_out():
    trainer = Trainer(network(), shares(seed=dist.get_rank()))
    next(iter(trainer.loader))
    trainer.fit()


def world_size_too_large():
    Trainer(network(), shares(num_replicas=4, rank=dist.get_rank())).fit()


def epochs_in_one_order():
    Deaf(network(), shares()).fit()


def epochs_set_to_a_constant():
    loader = shares()
    model = DistributedDataParallel(network())
    for _ in range(3):
        loader.sampler.set_epoch(0)
        loop_over(loader, model)


def epochs_only_read():
    loader = shares(shuffle=True)
    for _ in range(3):
        list(loader)


# steps of the wrong length


def summed_in_a_loop():
    model = network()
    loop(model, before=lambda: average(model, divisor=1))


def summed_in_a_trainer():
    class Sums(ByHand):
        def exchange(self):
            average(self.plain, divisor=1)

    Sums(network(), shares()).fit()


def divided_twice_under_the_wrapper():
    model = DistributedDataParallel(network())

    def divide():
        for parameter in model.parameters():
            parameter.grad /= dist.get_world_size()

    loop(model, before=divide)


def micro_batches_undivided():
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        with model.no_sync():
            loss_of(model, 2 * step).backward()
        loss_of(model, 2 * step + 1).backward()
        optimizer.step()


def micro_batches_all_exchanged():
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        for micro in range(3):
            (loss_of(model, 3 * step + micro) / 3).backward()
        optimizer.step()


def clipped_before_in_a_loop():
    model = network()

    def clip_and_average():
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        average(model)

    loop(model, before=clip_and_average)


def clipped_before_in_a_trainer():
    class Clips(ByHand):
        def exchange(self):
            nn.utils.clip_grad_value_(self.plain.parameters(), 0.01)
            super().exchange()

    Clips(network(), shares()).fit()


# steps that do not match, parameters that do not take part


def late_layer():
    model = DistributedDataParallel(network())
    model.module.add_module("late", nn.Linear(2, 2))
    with torch.no_grad():
        model.module.late.weight.fill_(0.1), model.module.late.bias.zero_()
    loop(model)


def optimizer_of_another_model():
    plain = network()
    model = DistributedDataParallel(copy.deepcopy(plain))
    loop(model, torch.optim.SGD(plain.parameters(), 0.1))


# buffers, random numbers, files


def statistics_apart():
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    model = DistributedDataParallel(inner, broadcast_buffers=False)
    loop(model)


def statistics_apart_by_hand():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    loop(model, before=lambda: average(model))


def dropout_alike():
    model = DistributedDataParallel(network(dropout=0.5))
    torch.manual_seed(7)
    loop(model)


def saved_by_all():
    model = DistributedDataParallel(network())
    loop(model)
    torch.save(model.module.state_dict(), os.environ["WATCH_TEST_FILE"])


def saved_with_the_wrapper():
    model = DistributedDataParallel(network())
    loop(model)
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict()}, os.environ["WATCH_TEST_FILE"])


# right, though some of it is unusual


def right_in_a_loop():
    model = DistributedDataParallel(network())
    torch.manual_seed(dist.get_rank())
    loop(model, steps=6)


def right_in_a_trainer():
    Trainer(network(), shares()).fit()


def right_by_hand():
    model = network()

    def average_and_clip():
        average(model)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)

    loop(model, before=average_and_clip)


def right_with_evaluation():
    train, held_out = random_split(samples(40), [24, 16], torch.Generator().manual_seed(0))
    trainer = Trainer(network(), shares(train))
    for epoch in range(2):
        trainer.train(epoch)
        trainer.model.eval()
        for inputs, _ in DataLoader(held_out, 4):  # the whole, on every rank
            trainer.model(inputs)
        trainer.model.train()
    if dist.get_rank() == 0:
        torch.save(trainer.model.module.state_dict(), os.environ["WATCH_TEST_FILE"])


def right_accumulation():
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        with model.no_sync():
            (loss_of(model, step) / 2).backward()
        (loss_of(model, step + 50) / 2).backward()
        optimizer.step()


def local_steps():
    model = network()

    def meet(step):
        if step % 2:
            for parameter in model.parameters():
                dist.all_reduce(parameter.data)
                parameter.data /= dist.get_world_size()

    loop(model, after=meet, steps=6)


def parameter_server():
    weight = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    for step in range(STEPS):
        if dist.get_rank() == 0:
            weight.grad = torch.zeros(4)
            dist.recv(weight.grad, 1)
            optimizer.step()
            dist.send(weight.detach(), 1)
        else:
            optimizer.zero_grad()
            (batch(step)[0] @ weight).square().mean().backward()
            dist.send(weight.grad, 0)
            dist.recv(weight.data, 0)


def two_optimizers():
    maker, judge = (DistributedDataParallel(nn.Linear(4, 4)) for _ in range(2))
    first, second = (torch.optim.Adam(m.parameters(), 0.01) for m in (maker, judge))
    for step in range(STEPS):
        inputs, _ = batch(step)
        second.zero_grad()
        judge(inputs).mean().backward()
        (-judge(maker(inputs).detach()).mean()).backward()
        second.step()
        first.zero_grad()
        judge(maker(inputs)).mean().backward()
        first.step()


def joined_loaders():
    model = DistributedDataParallel(network())
    with model.join():
        loop_over(uneven_shares(), model)


def right_statistics():
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    model = DistributedDataParallel(inner)
    loop(model)
    del model
    gc.collect()


def right_with_a_frozen_layer():
    plain = network()
    plain[0].requires_grad_(False)
    model = DistributedDataParallel(plain)
    loop(model)


def one_batch_taken_out_first():
    trainer = Trainer(network(), shares())
    next(iter(trainer.loader))
    trainer.fit(epochs=1)


def evaluation_in_one_order():
    trainer = Trainer(network(), shares())
    held_out = shares(samples(16))
    for epoch in range(2):
        trainer.train(epoch)
        for inputs, _ in held_out:
            trainer.model(inputs)


def closures(make, call):
    """Steps of an optimizer that is given a closure, by position or by name."""
    model = DistributedDataParallel(network())
    optimizer = make(model.parameters(), 0.1)
    for step in range(STEPS):
        inputs, labels = batch(step)

        def closure(inputs=inputs, labels=labels):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(inputs), labels)
            loss.backward()
            return loss

        call(optimizer, closure)


def steps_of_closures():
    closures(partial(torch.optim.LBFGS, max_iter=3), lambda of, closure: of.step(closure))


def closures_of_one_step():
    closures(torch.optim.SGD, lambda of, closure: of.step(closure=closure))


class Sharded(torch.optim.Optimizer):
    """Each rank steps every other parameter and sends it to the others."""

    def __init__(self, parameters, rate):
        self.whole = list(parameters)
        super().__init__(self.whole, {"lr": rate})
        self.mine = torch.optim.AdamW(self.whole[dist.get_rank() :: 2], rate)

    def step(self, closure=None):
        self.mine.step()
        self.spread()

    def spread(self):
        for index, parameter in enumerate(self.whole):
            dist.broadcast(parameter.data, index % 2)


def optimizer_that_shards_its_state():
    model = DistributedDataParallel(network())
    loop(model, Sharded(model.parameters(), 0.1))


def optimizer_that_shards_by_hand():
    model = DistributedDataParallel(network())
    sharded = Sharded(model.parameters(), 0.1)
    loop(model, sharded.mine, after=lambda _: sharded.spread())


class Whole(torch.autograd.Function):
    """The sum over ranks, which each rank's part of the model makes a part of."""

    @staticmethod
    def forward(_context, part):
        whole = part.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(_context, gradient):
        return gradient


class ByRows(nn.Linear):
    """Half of the hidden units on each of two ranks."""

    def forward(self, hidden):
        return Whole.apply(super().forward(hidden))


def layers_cut_between_ranks():
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), ByRows(4, 2, bias=False))
    loop(model, data=lambda step: batch(step, rank=0))


class Elsewhere(nn.Module):
    """As torch's `RemoteModule` does: its parameters cannot be listed."""

    def named_modules(self, *_args, **_keywords):
        raise ValueError("not supported")

    def forward(self, inputs):
        return inputs


def part_of_a_model_elsewhere():
    near = DistributedDataParallel(network())
    model = nn.Sequential(near, Elsewhere())
    loop(near, torch.optim.SGD(near.parameters(), 0.1), call=model)


def two_losses_of_one_step():
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(STEPS):
        real, fake = batch(step)[0], batch(step + 50)[0]
        optimizer.zero_grad()
        functional.cross_entropy(model(real), torch.ones(6).long()).backward()
        functional.cross_entropy(model(fake), torch.zeros(6).long()).backward()
        optimizer.step()


# these end in an error of torch's own, which the finding explains


def uneven_steps():
    model = DistributedDataParallel(network())
    loop(model, steps=5 if dist.get_rank() == 0 else 3)


def uneven_loader():
    loop_over(uneven_shares())


def barrier_of_one_rank():
    model = DistributedDataParallel(network())
    loop(model)
    if dist.get_rank() == 0:
        dist.barrier()


def unused_layer():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.spare = nn.Linear(4, 2), nn.Linear(4, 2)

        def forward(self, inputs):
            return self.used(inputs)

    torch.manual_seed(0)
    model = DistributedDataParallel(Two())
    loop(model)


# each of these kinds in two makes more


def world_size_too_large_in_a_loop():
    loader = shares(num_replicas=3, rank=dist.get_rank())
    loop_over(loader)


def held_out_cut_for_more_ranks():
    trainer = Trainer(network(), shares())
    trainer.fit(epochs=1)
    trainer.model.eval()
    with torch.no_grad():
        for inputs, _ in shares(num_replicas=4, rank=dist.get_rank(), shuffle=False):
            trainer.model(inputs)


def clipped_before_one_flat_exchange():
    model = network()

    def clip_and_average():
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        flat = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        dist.all_reduce(flat)
        flat /= dist.get_world_size()
        parts = flat.split([parameter.numel() for parameter in model.parameters()])
        for parameter, part in zip(model.parameters(), parts, strict=True):
            parameter.grad.copy_(part.view_as(parameter))

    loop(model, before=clip_and_average)


def statistics_apart_in_a_trainer():
    torch.manual_seed(0)
    ByHand(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)), shares()).fit()


def dropout_alike_in_a_trainer():
    trainer = Trainer(network(dropout=0.3), shares())
    torch.manual_seed(1)
    trainer.fit()


def dropout_alike_by_hand():
    model = network(dropout=0.1)
    loop(model, before=lambda: average(model))


def checkpoints_of_all():
    class Saves(Trainer):
        def set_epoch(self, epoch):
            super().set_epoch(epoch)
            torch.save(self.optimizer.state_dict(), os.environ["WATCH_TEST_FILE"])

    Saves(network(), shares()).fit()


def saved_by_hand_by_all():
    model = network()
    loop(model, before=lambda: average(model))
    torch.save({"step": STEPS, "model": model}, os.environ["WATCH_TEST_FILE"])


def wrapper_saved_in_a_trainer():
    trainer = Trainer(network(), shares())
    trainer.fit()
    if dist.get_rank() == 0:
        torch.save(trainer.model.state_dict(), os.environ["WATCH_TEST_FILE"])


def optimizer_before_the_model_in_a_trainer():
    class Early(Trainer):
        def __init__(self, model, loader):
            super().__init__(copy.deepcopy(model), loader)
            self.optimizer = torch.optim.AdamW(model.parameters(), 0.1)

    Early(network(), shares()).fit()


def parameter_beside_the_wrapper():
    model = DistributedDataParallel(network())
    scale = nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.SGD([*model.parameters(), scale], 0.1)
    loop(model, optimizer, call=lambda inputs: model(inputs) + 0 * scale)


def uneven_trainer():
    Deaf(network(), uneven_shares()).fit()


def unused_head_in_a_trainer():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head, self.auxiliary = network(), nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, inputs):
            return self.head(self.body(inputs))

    Trainer(Heads(), shares()).fit()


def layer_used_by_one_rank():
    torch.manual_seed(0)
    model = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 2)])

    def forward(inputs):
        return model[0](inputs) + (model[1](inputs) if dist.get_rank() else 0)

    def average_the_first():
        average(model[0])
        model[1].zero_grad(set_to_none=False)

    loop(model, call=forward, before=average_the_first)
