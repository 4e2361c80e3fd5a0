"""gpt2_train.py MODULE: steps of training a small GPT-2 beside PyTorch in f64, whose losses and sizes of the parameters are recorded
below. `gpt2_train.py MODULE --record` prints them anew, with PyTorch."""
import sys

import numpy as np

import tsr

STEPS, RATE, HEADS, WIDTH = 10, 0.1, 2, 8
LOSSES = [3.7747145, 3.6591378, 3.4513443, 3.2078157, 3.014894, 2.9272405, 2.9689264, 2.9152494, 2.8618571, 2.8678511]
NORMS = {"wte.table": 4.118764, "wpe.table": 2.735313, "h.0.ln_1.gain": 4.022344, "h.0.ln_1.bias": 0.90711,
         "h.0.attn.q.w": 3.832695, "h.0.attn.q.b": 0.888441, "h.0.attn.k.w": 3.820957, "h.0.attn.k.b": 0.930468,
         "h.0.attn.v.w": 3.746304, "h.0.attn.v.b": 1.040493, "h.0.attn.proj.w": 3.79811, "h.0.attn.proj.b": 0.915431,
         "h.0.ln_2.gain": 4.03339, "h.0.ln_2.bias": 0.987439, "h.0.mlp.up.w": 7.580504, "h.0.mlp.up.b": 1.780293,
         "h.0.mlp.down.w": 7.524681, "h.0.mlp.down.b": 0.862738, "h.1.ln_1.gain": 4.097181, "h.1.ln_1.bias": 1.033462,
         "h.1.attn.q.w": 3.802861, "h.1.attn.q.b": 0.894076, "h.1.attn.k.w": 3.848623, "h.1.attn.k.b": 0.919575,
         "h.1.attn.v.w": 3.801735, "h.1.attn.v.b": 1.040832, "h.1.attn.proj.w": 3.783243, "h.1.attn.proj.b": 0.932708,
         "h.1.ln_2.gain": 3.987976, "h.1.ln_2.bias": 0.926571, "h.1.mlp.up.w": 7.569368, "h.1.mlp.up.b": 1.842155,
         "h.1.mlp.down.w": 7.528549, "h.1.mlp.down.b": 0.977228, "ln_f.gain": 3.927311, "ln_f.bias": 0.832667}


def start(model):
    """Parameters by name, of numbers that no library draws"""
    weights = {}
    for name in model.params:
        if name != "step" and not name.endswith((".mean", ".square")):
            shape = np.asarray(model.params[name]).shape
            wave = np.sin(np.arange(1, np.prod(shape) + 1) * 1.7 + len(weights)).reshape(shape)
            weights[name] = np.float32(1 + wave / 10 if name.endswith("gain") else wave / 3)
            model.params[name] = weights[name]
    return weights


def tokens(vocab):
    ids = np.arange(3 * 8).reshape(3, 8)
    return (ids * ids + 3 * ids) % vocab, (ids * 7 + 2) % vocab


def record(weights, ids, following):
    import torch
    from torch.nn import functional as F
    w = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in weights.items()}

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], w[name + ".gain"], w[name + ".bias"], 1e-5)

    def heads(name, x):
        return torch.einsum("nse,hde->nhsd", x, w[name + ".w"]) + w[name + ".b"][:, None]

    def logits(ids):
        x = w["wte.table"][ids] + w["wpe.table"][:ids.shape[1]]
        for i in range(sum(name.endswith("ln_1.gain") for name in w)):
            h, y = "h.%d." % i, norm("h.%d.ln_1" % i, x)
            mixed = F.scaled_dot_product_attention(*(heads(h + "attn." + part, y) for part in "qkv"), is_causal=True)
            x = x + torch.einsum("nhsd,ehd->nse", mixed, w[h + "attn.proj.w"]) + w[h + "attn.proj.b"]
            y = F.gelu(F.linear(norm(h + "ln_2", x), w[h + "mlp.up.w"], w[h + "mlp.up.b"]), approximate="tanh")
            x = x + F.linear(y, w[h + "mlp.down.w"], w[h + "mlp.down.b"])
        return norm("ln_f", x) @ w["wte.table"].T

    decayed = [value for name, value in w.items() if name.endswith((".w", ".table"))]
    plain = [value for name, value in w.items() if not name.endswith((".w", ".table"))]
    adam = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0}], lr=RATE)
    losses = []
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 100)
        adam.zero_grad()
        loss = F.cross_entropy(logits(torch.tensor(ids)).flatten(0, 1), torch.tensor(following).flatten())
        loss.backward()
        adam.step()
        losses.append(round(loss.item(), 7))
    print("LOSSES =", losses)
    print("NORMS =", {name: round(value.detach().norm().item(), 6) for name, value in w.items()})


def main():
    model = tsr.load(sys.argv[1])
    weights = start(model)
    ids, following = tokens(len(weights["wte.table"]))
    if sys.argv[2:] == ["--record"]:
        record(weights, ids, following)
        return
    losses = [float(model.train(ids=ids.astype(np.int32), next=following.astype(np.int32), rate=RATE)) for _ in range(STEPS)]
    norms = {name: float(np.linalg.norm(model.params[name])) for name in weights}
    # scores that are all moved alike have the same softmax: a bias of keys has the gradient 0, of which Adam makes noise
    bad = [name for name in norms if not np.isclose(norms[name], NORMS[name], rtol=1e-4) and not name.endswith("attn.k.b")]
    good = np.allclose(losses, LOSSES, rtol=1e-4)
    print("%d losses %s, %d parameters, other than PyTorch's: %s" % (
        len(losses), "as PyTorch has them" if good else losses, len(norms), bad or "none"))


main()
