"""Nets of lib/nn in f32 at small and odd sizes, SEED COUNT: rows of a few elements, blocks of rows, windows that leave small pictures, and in
some a step of training. Each is compiled for several targets to its last loops, which are verified on the way, and for one that
this processor runs to machine code and to C, whose numbers agree with the reference (--verify=run)."""
import random
import sys
import tempfile

import runner

ACTS = ["relu", "tanh", "sigmoid", "softplus", "gelu", "nn.silu", "nn.gelu_tanh", "nn.mish", "nn.hard_swish"]
MACHINES = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "sapphirerapids", "znver4"]
FLAGS = [("x86-64-v4", "avx512vl"), ("x86-64-v3", "avx2"), ("native", "")]
WIDTHS = [1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 17, 32, 33]


class Net:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.at, self.count = [], "x", 0
        self.pictures = self.pick(True, False)
        n, s = self.pick("n", str(self.width())), self.pick("s", str(self.width()))
        axes = "%d, %d, %d" % (self.width() + 2, self.width() + 2, self.width()) if self.pictures else str(self.width())
        self.batch = [n] if self.pictures else self.pick([n], [n, s])
        self.shape = "[%s | %s]" % (", ".join(self.batch), axes)

    def pick(self, *of):
        return self.random.choice(of)

    def width(self):
        return self.pick(*WIDTHS)

    def let(self, text):
        """`text` of the last value, @."""
        self.count += 1
        self.lines.append("let h%d = %s" % (self.count, text.replace("@", self.at)))
        self.at = "h%d" % self.count

    def layer(self, text):
        self.count += 1
        self.lines.append("let f%d = %s" % (self.count, text))
        self.let("f%d(@)" % self.count)

    def row_layer(self):
        layers = ["linear(%d)" % self.width(), "mlp(%d, %d, act = %s)" % (self.width(), self.width(), self.pick(*ACTS)),
                  "layer_norm()", "rms_norm()"]
        if len(self.batch) == 2:
            heads, width, causal = self.pick(1, 2, 3), self.pick(1, 2, 3, 4, 8), self.pick(0, 1)
            layers += ["self_attention(%d, %d, causal = %d)" % (heads, width, causal),
                       "transformer_block(%d, %d, %d, causal = %d)" % (heads, width, self.width(), causal),
                       "mixture(%d, %d, k = %d)" % (self.pick(2, 3, 4, 5), self.width(), self.pick(1, 2))]
        if self.random.random() < 0.7:
            self.layer("nn." + self.pick(*layers))
        else:
            self.let(self.pick("@ + nn.softmax(@)", "nn.log_softmax(@)", "@ - nn.mean_output(@)", self.pick(*ACTS) + "(@)"))

    def picture_layer(self):
        k, stride, dilation = self.pick(1, 2, 3, 3, 5), self.pick(1, 1, 2, 3), self.pick(1, 1, 2)
        layer = self.pick("conv2d(%d, k = %d, stride = %d, dilation = %d)" % (self.width(), k, stride, dilation),
                          "conv2d_no_bias(%d, k = 3, pad = 1)" % self.width(), "separable_conv2d(%d)" % self.width(),
                          "depthwise_conv2d(k = %d, stride = %d)" % (self.pick(1, 2, 3), self.pick(1, 2)), "max_pool2d_padded()",
                          "batch_norm()", "instance_norm()", "layer_norm()", "group_norm(1)", "upsample_nearest2d(2)", "")
        if layer:
            self.layer("nn." + layer)
        elif self.pick(True, False):
            self.let(self.pick(*ACTS) + "(@)")
        else:
            self.let("nn.global_avg_pool2d(@)")
            self.pictures = False

    def train(self):
        if self.pick(True, False):
            return "{ backward loss; for p in params(loss) { p =- rate * p.grad } }"
        self.lines.append("param step : i32 [] = 0")
        return "{ step =+ 1; backward loss; for p in params(loss) { optim.adamw(rate, step)(p) } }"

    def text(self):
        for _ in range(self.pick(1, 2, 3, 4, 5)):
            (self.picture_layer if self.pictures else self.row_layer)()
        if any(line.startswith("let f") and "norm()" not in line and "pool" not in line and "upsample" not in line
               for line in self.lines) and self.random.random() < 0.4:
            self.lines.append("let loss = nn.mean(%s .* %s)" % (self.at, self.at))
            self.lines.append("routine train(rate : f32) -> loss " + self.train())
        else:
            self.lines.append("output y = " + self.at)
        dims = [dim for dim in self.batch if dim in ("n", "s")]
        head = ["import nn", "import optim"] + ["dim " + ", ".join(dims)] * bool(dims) + ["input x : " + self.shape]
        return "\n".join(head + self.lines) + "\n"


def runnable():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = file.read().split()
    return [machine for machine, flag in FLAGS if not flag or flag in flags]


def fault(text, random_, folder):
    """What is wrong; None: nothing."""
    options = random_.choice([[], [], ["--fp=fast"], ["--fp=strict"]])
    for machine in MACHINES:
        done = runner.tsrc(text, "--stop=vector", "-march=" + machine, *options, timeout=60)
        if done.returncode != 0:
            return "-march=%s %s: %s" % (machine, options, done.stderr)
    for target, suffix in [("aarch64-linux-gnu", "c"), ("cuda", "cu")]:
        done = runner.tsrc(text, "--target=" + target, *options, "-o", "%s/net.%s" % (folder, suffix), timeout=60)
        if done.returncode != 0:
            return "--target=%s %s: %s" % (target, options, done.stderr)
    machine = "-march=" + random_.choice(runnable())
    done = runner.tsrc(text, "--verify=run", machine, "-O0", *options, "-o", folder + "/net.h", timeout=120)
    said = done.stdout + done.stderr
    return "%s %s: %s" % (machine, options, said) if done.returncode != 0 or "DIFFERS" in said else None


def main():
    seed, count, wrong = int(sys.argv[1]), int(sys.argv[2]), 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            net = Net(seed * 100003 + number)
            text = net.text()
            what = fault(text, net.random, folder)
            if what:
                wrong += 1
                print("net %d of seed %d\n%s%s" % (number, seed, text, what))
    print("%d nets are right, %d are not" % (count - wrong, wrong))


main()
