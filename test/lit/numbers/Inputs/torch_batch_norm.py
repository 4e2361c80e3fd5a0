"""torch_batch_norm.py OUT.npz: what modes.py compares with, by PyTorch 2.15: batches of a net with two batch norms, its losses
in training by SGD, and the parameters and results behind it. Arrays have the axes of tsr."""
import sys

import numpy as np
import torch

STEPS, RATE = 4, 0.3
torch.manual_seed(1)
bn, out, last = torch.nn.BatchNorm2d(4), torch.nn.Linear(24, 5), torch.nn.BatchNorm1d(5)
x, target = torch.randn(STEPS, 7, 2, 3, 4) * 2 + 1, torch.randn(STEPS, 7, 5)
arrays = {"x": x.numpy().copy(), "target": target.numpy().copy(), "rate": RATE,
          "net.out.w": out.weight.detach().numpy().copy().reshape(5, 2, 3, 4), "net.out.b": out.bias.detach().numpy().copy()}


def net(a):
    """a : n, 2, 3, 4, whose last axis is of channels"""
    h = torch.tanh(bn(a.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)
    return last(out(h.reshape(len(a), 24)))


modules = torch.nn.ModuleList([bn, out, last])
sgd = torch.optim.SGD(modules.parameters(), RATE)
losses = []
for i in range(STEPS):
    sgd.zero_grad()
    loss = ((net(x[i]) - target[i]) ** 2).mean()
    loss.backward()
    sgd.step()
    losses.append(loss.item())
modules.eval()
arrays.update(loss=np.array(losses, np.float32), y=net(x[0]).detach().numpy())
for name, of in (("bn", bn), ("last", last)):
    for ours, theirs in (("mean", of.running_mean), ("var", of.running_var), ("gain", of.weight), ("bias", of.bias)):
        arrays["after net.%s.%s" % (name, ours)] = theirs.detach().numpy()
arrays["after net.out.w"] = out.weight.detach().numpy().reshape(5, 2, 3, 4)
arrays["after net.out.b"] = out.bias.detach().numpy()
np.savez(sys.argv[1], **arrays)
