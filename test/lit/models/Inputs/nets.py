"""nets.py TSRC FOLDER: nets of many kinds in FOLDER are trained for some steps, beside PyTorch in f64, whose losses are recorded below.
`nets.py TSRC FOLDER --record` prints them anew, with PyTorch."""
import os
import sys

import numpy as np

import tsr

TSRC, FOLDER = sys.argv[1:3]
OPTIONS = os.environ.get("OPTIONS", "-O0").split()
STEPS, RATE = 6, 0.02
SIZES = {"n": 3, "s": 5, "t": 7}
RANGES = {"label": 5, "tag": 5, "length": 7, "src": 11, "dst": 13, "next": 13}
LOSSES = {
    "crf": [3.7036963, 3.514622, 3.3322231, 3.1567778, 2.9884555, 2.8275709],
    "gan": [1.3640197, 0.5511707, 1.3430647, 0.5616476, 1.3254253, 0.5770854, 1.3147491, 0.5930606, 1.3110879, 0.6130022, 1.3237731, 0.6265143],
    "ode": [1.4371395, 1.331816, 1.2474149, 1.1748799, 1.1089222, 1.0459218],
    "pinn": [0.7226917, 0.6624947, 0.6383967, 0.6458117, 0.6509715, 0.6420303],
    "residual": [2.4646074, 2.4004183, 2.3009175, 2.1676236, 2.0031588, 1.8081197],
    "transformer": [1.8688169, 0.6941439, 0.5557132, 0.3025019, 0.1940508, 0.1310151],
    "translate": [2.6488629, 2.5598613, 2.487222, 2.4257698, 2.3710905, 2.3188583],
    "unet": [0.9282241, 0.7998731, 0.5507018, 0.1370735, 0.0026733, -0.027499],
}


def wave(shape, start):
    """Numbers between -1 and 1 that no library draws"""
    return np.sin(np.arange(1, np.prod(shape) + 1) * 1.7 + start).reshape(shape)


def given(model):
    """Arrays for the inputs, by name"""
    values = {}
    for place in model.train.inputs:
        shape = [SIZES[size] if size in SIZES else int(size) for size in place.shape]
        numbers = wave(shape, 3 * len(values))
        values[place.name] = (np.abs(numbers) * 1000 % RANGES[place.name]).astype(np.int32) if place.dtype == "i32" else np.float32(numbers)
    return values


def start(model):
    weights = {}
    for name in model.params:
        kept = name.rsplit(".", 1)[-1]
        if name != "step" and kept not in ("mean", "square", "velocity", "var"):
            numbers = wave(np.asarray(model.params[name]).shape, len(weights))
            weights[name] = model.params[name] = np.float32(1 + numbers / 10 if kept == "gain" else numbers / 3)
    return weights


# ---- the same in PyTorch ----


def residual(torch, F, w, v):
    def conv(x, weight, step, pad):
        return F.conv2d(x, weight.permute(0, 3, 1, 2), stride=step, padding=pad)

    def norm(x, name):
        return F.batch_norm(x, None, None, w[name + ".gain"], w[name + ".bias"], training=True)

    x = v["x"].permute(0, 3, 1, 2)
    for unit, step in ("u1", 1), ("u2", 2), ("u3", 2):
        h = F.relu(norm(conv(x, w[unit + ".c1.w"], step, 1), unit + ".b1"))
        h = norm(conv(h, w[unit + ".c2.w"], 1, 1), unit + ".b2")
        x = F.relu(h + norm(conv(x, w[unit + ".cs.w"], step, 0), unit + ".bs"))
    return F.cross_entropy(F.linear(x.mean((2, 3)), w["head.w"], w["head.b"]), v["label"])


def unet(torch, F, w, v):
    def double(x, name):
        for part in ".a", ".b":
            x = F.relu(F.conv2d(x, w[name + part + ".w"].permute(0, 3, 1, 2), w[name + part + ".b"], padding=1))
        return x

    def up(x, name):
        return F.conv_transpose2d(x, w[name + ".w"].permute(3, 0, 1, 2), w[name + ".b"], stride=2)

    a = double(v["x"].permute(0, 3, 1, 2), "net.d1")
    b = double(F.max_pool2d(a, 2), "net.d2")
    y = double(torch.cat([up(double(F.max_pool2d(b, 2), "net.mid"), "net.u2"), b], 1), "net.e2")
    y = double(torch.cat([up(y, "net.u1"), a], 1), "net.e1")
    y = F.conv2d(y, w["net.out.w"].permute(0, 3, 1, 2), w["net.out.b"])
    return F.binary_cross_entropy_with_logits(y, v["mask"].permute(0, 3, 1, 2))


def transformer(torch, F, w, v):
    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[name + ".gain"], w[name + ".bias"], 1e-5)

    x = F.linear(v["x"], w["proj.w"], w["proj.b"]) + w["pos.table"][:v["x"].shape[1]]
    for i in range(2):
        name = "block.%d." % i
        y = norm(x, name + "norm_1")
        q, k, z = (torch.einsum("nse,hde->nhsd", y, w[name + "attend.w" + part]) for part in "qkv")
        x = x + torch.einsum("nhsd,ehd->nse", F.scaled_dot_product_attention(q, k, z), w[name + "attend.wo"])
        y = F.gelu(F.linear(norm(x, name + "norm_2"), w[name + "dense.up.w"], w[name + "dense.up.b"]))
        x = x + F.linear(y, w[name + "dense.down.w"], w[name + "dense.down.b"])
    return F.cross_entropy(F.linear(norm(x, "norm").mean(1), w["head.w"], w["head.b"]), v["label"])


def translate(torch, F, w, v):
    def gru(x, h, name):
        gates = [torch.einsum("nd,gjd->gnj", u, w[name + ".w" + of]) + w[name + ".b" + of][:, None] for u, of in ((x, "x"), (h, "h"))]
        reset, update = torch.sigmoid(gates[0][:2] + gates[1][:2])
        return (1 - update) * torch.tanh(gates[0][2] + reset * gates[1][2]) + update * h

    h, memory = torch.zeros(v["src"].shape[1], 8, dtype=torch.float64), []
    for x in w["es.table"][v["src"]]:
        h = gru(x, h, "enc")
        memory.append(h)
    memory, logits = torch.stack(memory), []
    for x in w["ed.table"][v["dst"]]:
        share = torch.einsum("nd,snd->ns", h, memory).softmax(1)
        h = gru(torch.cat([x, torch.einsum("ns,snd->nd", share, memory)], 1), h, "cell")
        logits.append(F.linear(h, w["out.w"], w["out.b"]))
    return F.cross_entropy(torch.stack(logits).flatten(0, 1), v["next"].flatten())


def crf(torch, F, w, v):
    e, steps, tag = F.linear(v["x"], w["emit.w"], w["emit.b"]), len(v["x"]), v["tag"]
    alpha = e[0]
    for i in range(1, steps):
        alpha = torch.where((i < v["length"])[:, None], torch.logsumexp(alpha[:, :, None] + w["trans"], 1) + e[i], alpha)
    valid = torch.arange(steps)[:, None] < v["length"]
    score = (e.gather(2, tag[:, :, None])[:, :, 0] * valid).sum(0) + (w["trans"][tag[:-1], tag[1:]] * valid[1:]).sum(0)
    return (torch.logsumexp(alpha, 1) - score).mean()


def ode(torch, F, w, v):
    def f(x):
        return F.linear(torch.tanh(F.linear(x ** 3, w["a.w"], w["a.b"])), w["b.w"], w["b.b"])

    x, h = v["x"], 0.05
    for _ in range(40):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + h * k3))
    return (x - v["target"]).abs().mean()


def pinn(torch, F, w, v):
    def net(x):
        for name in "ab":
            x = torch.tanh(F.linear(x, w[name + ".w"], w[name + ".b"]))
        return F.linear(x, w["c.w"], w["c.b"])

    xt = v["xt"].requires_grad_()
    u = net(xt)
    du, = torch.autograd.grad(u.sum(), xt, create_graph=True)
    ddu, = torch.autograd.grad(du[:, 0].sum(), xt, create_graph=True)
    f = du[:, 1] + u[:, 0] * du[:, 0] - 0.01 * ddu[:, 0]
    return (f ** 2).mean() + F.mse_loss(net(v["x0"]), v["u0"])


def gan(torch, F, w, v):
    """Both losses: the second one behind a step along the gradient of the first"""
    def net(x, name):
        h = F.linear(x, w[name + ".up.w"], w[name + ".up.b"])
        h = F.relu(h) if name == "gen" else F.leaky_relu(h, 0.2)
        return F.linear(h, w[name + ".down.w"], w[name + ".down.b"])

    fake = net(v["z"], "gen")
    yield F.softplus(-net(v["real"], "dis")).mean() + F.softplus(net(fake.detach(), "dis")).mean(), "dis."
    yield F.softplus(-net(net(v["z"], "gen"), "dis")).mean(), "gen."


def optimiser(torch, name, w):
    if name == "residual":
        return torch.optim.SGD(w.values(), RATE, momentum=0.9, weight_decay=0.0005)
    if name == "transformer":
        matrices = [value for key, value in w.items() if ".w" in key]
        return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01},
                                  {"params": [value for key, value in w.items() if ".w" not in key], "weight_decay": 0}], RATE)
    return torch.optim.Adam(w.values(), RATE, betas=(0.5 if name == "gan" else 0.9, 0.999))


def record(name, weights, values):
    import torch
    from torch.nn import functional as F
    w = {key: torch.tensor(value, dtype=torch.float64, requires_grad=True) for key, value in weights.items()}
    v = {key: torch.tensor(value).long() if value.dtype == np.int32 else torch.tensor(value).double() for key, value in values.items()}
    of = {part: optimiser(torch, name, {key: value for key, value in w.items() if key.startswith(part)})
          for part in (("dis.", "gen.") if name == "gan" else ("",))}
    losses = []
    for _ in range(STEPS):
        made = globals()[name](torch, F, w, v)
        for loss, part in made if name == "gan" else [(made, "")]:
            for value in w.values():
                value.grad = None
            loss.backward()
            if name == "transformer":
                torch.nn.utils.clip_grad_norm_(w.values(), 1)
            of[part].step()
            losses.append(round(loss.item(), 7))
    return losses


# ---- both ----


def main():
    for name in sorted(file[:-4] for file in os.listdir(FOLDER)):
        model = tsr.compile(os.path.join(FOLDER, name + ".tsr"), options=OPTIONS)
        weights, values = start(model), given(model)
        if sys.argv[3:] == ["--record"]:
            print("    \"%s\": %s," % (name, record(name, weights, values)))
            continue
        losses = []
        for _ in range(STEPS):
            got = model.train(**values, rate=RATE)
            losses += [float(loss) for loss in (got if name == "gan" else [got])]
        good = np.allclose(losses, LOSSES[name], rtol=1e-4)
        print("%s: %d losses %s" % (name, len(losses), "as PyTorch has them" if good else "%s for %s" % (losses, LOSSES[name])))


main()
