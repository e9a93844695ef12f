"""The whole script of notebook 16: `DistributedDataParallel` under torchrun, without gpulearn."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def mend_the_script() -> None:
    """Train on digits.pt, print the loss of all test images in each epoch, save weights.pt.

    Every rank must call, with torchrun's variables set and the process group made.
    """
    rank, ranks, local_rank = dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"])
    gpu = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)

    data = torch.load("digits.pt")
    train = TensorDataset(*data["train"])
    sampler = DistributedSampler(train)
    loader = DataLoader(train, batch_size=32, sampler=sampler)
    mine = range(rank, len(data["test"][1]), ranks)
    images, labels = (tensor[mine].to(device) for tensor in data["test"])

    torch.manual_seed(0)
    layers = [nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(64, 10)).to(device)
    replica = DistributedDataParallel(model, device_ids=[local_rank] if gpu else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = functional.cross_entropy(replica(inputs.to(device)), targets.to(device))
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            outputs = model(images)
            loss = functional.cross_entropy(outputs, labels, reduction="sum")
            right = (outputs.argmax(dim=1) == labels).sum()
        sums = torch.tensor([loss.item(), right.item(), len(labels)], device=device)
        dist.all_reduce(sums)
        if rank == 0:
            print(f"epoch {epoch}: loss {sums[0] / sums[2]:.5f}, {sums[1] / sums[2]:.2%} right")

    if rank == 0:
        torch.save(replica.module.state_dict(), "weights.pt")
