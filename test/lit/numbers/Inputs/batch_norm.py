"""batch_norm.py BATCH_NORM.npz: batch norms in both modes beside the arrays of torch_batch_norm.py."""
import sys

import numpy as np

import tsr

NORMS = """
import nn
import optim
dim n
input x : [n | 2, 3, 4]
input target : [n | 5]
fn layers()(x) = let bn = nn.batch_norm(), out = nn.linear(5), last = nn.batch_norm() in last(out(tanh(bn(x))))
let net = layers()
let loss = nn.mean_squared_error(net(x; training = 1), target)
output y = net(x)
routine train(rate : f32) -> loss {
    backward loss
    update loss
    for p in params(loss) { optim.sgd(rate)(p) }
}
"""


def norms(path):
    """The greatest differences of losses, parameters and results behind training, and what is not compared"""
    with np.load(path) as file:
        want = dict(file)
    model = tsr.compile(NORMS)
    model.params.update({name: want[name] for name in want if name.startswith("net.")})
    rate = float(want["rate"])
    losses = [model.train(x=x, target=target, rate=rate) for x, target in zip(want["x"], want["target"])]
    got = {"after " + name: np.array(model.params[name]) for name in model.params}
    got.update(loss=np.array(losses), y=model.forward(x=want["x"][0]))
    assert set(got) == {name for name in want if name.startswith("after ")} | {"loss", "y"}, sorted(got)
    return {name: np.abs(got[name] - want[name]).max() for name in got}


far = {name: error for name, error in norms(sys.argv[1]).items() if not error < 2e-5}
print("batch norms: %s" % (far or "as PyTorch has them"))
