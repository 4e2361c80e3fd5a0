"""gpt2_steps.py FOLDER COUNT: decode.ptx on the device, a position a call with its cache in the state there, against whole.so on this
CPU."""
import sys

import numpy as np

import tsr


def main():
    count = int(sys.argv[2])
    whole, steps = tsr.load(f"{sys.argv[1]}/whole.so"), tsr.load(f"{sys.argv[1]}/decode.ptx")
    random = np.random.default_rng(1)
    weights = {name: random.standard_normal(value.shape).astype("f4") / 4 for name, value in whole.params.items()}
    whole.params.update(weights)
    steps.params.update(weights)
    steps.params.update({name: np.full(steps.params[name].shape, np.nan, "f4") for name in ("keys", "values")})
    ids = random.integers(0, 50, count).astype("i4")
    nothing = np.zeros((2, 0, 2, 16), "f4")
    want = whole.forward(ids=ids, keys=nothing, values=nothing, past=0)
    worst = max(np.abs(steps.decode(ids=ids[past : past + 1], past=past) - want.logits[past]).max() for past in range(count))
    assert worst < 1e-4, worst
    for name in ("keys", "values"):
        assert np.allclose(steps.params[name][:, :count], want["new_" + name], rtol=1e-4, atol=1e-5), name
        assert np.isnan(steps.params[name][:, count:]).all(), name
    print(f"{count} steps have the logits of the whole text")


if __name__ == "__main__":
    main()
