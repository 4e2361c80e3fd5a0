"""check_grad_all.py TSRC EXAMPLE...: --check-grad over examples, and over all functions of lib/nn.tsr that have a gradient, at small sizes. To each
program gradients and tangents are added of what its outputs come to, with respect to all inputs and parameters of floats."""
import os
import re
import subprocess
import sys
import tempfile

TSRC, EXAMPLES = sys.argv[1], sys.argv[2:]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4)
NN = open(os.path.join(ROOT, "lib", "nn.tsr"), encoding="utf8").read()

# functions of the library, in programs by what they have in common
LIBRARY = {
    "elementwise": ["mean(x)", "mean_output(x)", "silu(x)", "gelu_tanh(x)", "relu6(4 * x)", "leaky_relu()(x)", "elu()(x)", "selu(x)",
                    "mish(x)", "hard_sigmoid(x)", "hard_swish(x)", "softmax(x)",
                    "log_softmax(x)", "absolute_error(x, y)", "huber()(x, y)", "huber(0.3)(x, y)", "binary_cross_entropy(x, abs(y))",
                    "kl_divergence(x, abs(y))", "difference(x, y)", "product(x, y)", "mean_squared_error(x, y)",
                    "cross_entropy(x, ids)"],
    "layers": ["linear(3)(x)", "linear_no_bias(3)(x)", "linear_heads(2, 3)(x)", "mlp(3, 2)(x)", "mlp(3, 2, tanh)(x)", "embedding(3, 4)(ids)",
               "layer_norm()(x)", "rms_norm()(x)", "batch_norm()(x)", "batch_norm()(x; training = 1)", "group_norm(2)(x)",
               "dropout()(x)", "dropout()(x; training = 1, seed = 3)", "mixture(3, 4)(x)", "one_hot(3)(ids) .* sum(x)"],
    "pictures": ["conv2d(3)(picture)", "conv2d_no_bias(3, k = 2, pad = 1)(picture)", "conv2d(2, stride = 2)(picture)",
                 "conv2d(2, padding_mode = reflect)(picture)", "conv_transpose2d(2, stride = 2, pad = 1)(picture)", "conv2d_valid(2)(picture)",
                 "depthwise_conv2d()(picture)", "depthwise_conv2d_no_bias()(picture)", "separable_conv2d(3)(picture)", "pad2d(picture, 1)",
                 "global_avg_pool2d(picture)", "max_pool2d()(picture)", "max_pool2d_padded()(picture)", "avg_pool2d()(picture)",
                 "upsample_nearest2d()(picture)", "upsample_bilinear2d(3)(picture)", "instance_norm()(picture)"],
    "lines": ["conv1d(3)(line)", "conv_transpose1d(2)(line)", "pad1d(line, 1)", "rotary()(text, range(3))"],
    "attention": ["attention(2, 2)(text, memory)", "self_attention(2, 2)(text)", "self_attention(2, 2, causal = 1)(text)",
                  "cached_attention(2, 2, 1)(text, keys, keys)", "transformer_block(2, 2, 3)(text)"],
    "steps": ["lstm_cell(3)(x, 0, 0)", "lstm(2)(steps, 0, 0)", "gru_cell(3)(x, 0)", "gru(2)(steps, 0)", "lstm_gates(gates4, x)",
              "gru_gates(gates3, 2 * gates3, x)"],
}
INPUTS = """x : [2 | 4], y : [2 | 4], ids : i32 [2 |], picture : [1 | 6, 6, 2], line : [1 | 6, 2], text : [3 | 4], memory : [2 | 4],
keys : [2 | 2, 2], steps : [3, 2 | 2], gates4 : [2 | 4, 4], gates3 : [2 | 3, 4]"""
WITHOUT = {"he", "glorot", "sample"}  # what starts parameters, and what draws ids, have no gradient


def tsrc(*args):
    return subprocess.run([TSRC, "-Wno-all", *args], capture_output=True, text=True)


def library(names):
    lines = ["import nn"] + ["input " + one for one in re.findall(r"\w+ : (?:i32 )?\[.*?\]", INPUTS)
                             if re.search(r"\b%s\b" % one.split()[0], " ".join(names))]
    for i, call in enumerate(names):
        name, rest = re.match(r"(\w+)(.*)", call).groups()
        configured = re.match(r"(\([^()]*\))(\(.*)", rest)
        if configured:
            lines.append("let f%d = nn.%s%s" % (i, name, configured.group(1)))
            call = "f%d%s" % (i, configured.group(2))
        else:
            call = "nn." + call
        results = 3 if name in ("lstm", "cached_attention") else 2 if name in ("lstm_cell", "gru", "lstm_gates") else 1
        one = ["r%d_%d" % (i, k) for k in range(results)]
        lines.append("let %s = %s" % (one[0] if results == 1 else "(%s)" % ", ".join(one), call))
        lines += ["output o%s = sin(%s)" % (r, r) for r in one]
    return "\n".join(lines) + "\n"


def with_gradients(path, text):
    """What the outputs come to, and its gradients; tangents for each input."""
    shapes = re.findall(r"^([\w.]+) : (\w+) ", tsrc("--dump=shapes", "--stop=shapes", path).stdout, re.M)
    floats = [name for name, dtype in shapes if dtype in ("f32", "f64", "f16", "bf16")]

    def declared(word):
        lines = re.findall(r"^%s (.*)" % word, text, re.M)
        return [name for line in lines for name in re.findall(r"(?:^|, )(\w+)(?= *[:=,]|$)", line) if name in floats]
    of, inputs = declared("output"), declared("input")
    if not of:
        return text  # a routine that trains has its own
    params = [name for name in floats if "." in name] + declared("param")
    lines = ["let check_grad = " + " + ".join("sum(sin(%s))" % name for name in of)]
    lines += ["output check_%d = grad(check_grad, %s)" % (i, x) for i, x in enumerate(inputs + params)]
    lines += ["output check_t%d = jvp(check_grad, %s, cos(%s))" % (i, x, x) for i, x in enumerate(inputs)]
    return text + "\n" + "\n".join(lines) + "\n"


def checked(path, text):
    """Whether all is right, the gradients and tangents that agree, and those that were compared nowhere."""
    for number in range(2):  # the second time with gradients
        with open(path, "w", encoding="utf8") as out:
            out.write(text)
        run = tsrc("--check-grad", path) if number else None
        text = with_gradients(path, text)
    agree, rest = [set(re.findall(r": (gradient|tangent) .*with respect to (.*): (?:%s)" % what, run.stdout))
                   for what in ("agrees", "nothing|left out")]
    if run.returncode:
        print(path, run.stdout[-600:], run.stderr[:3000])
    return run.returncode == 0, agree, [" ".join(one) for one in rest - agree]


def main():
    used = {re.match(r"\w+", call).group() for calls in LIBRARY.values() for call in calls}
    print("functions of nn without a program:", " ".join(sorted(set(re.findall(r"^fn (\w+)", NN, re.M)) - used - WITHOUT)) or "none")
    programs = [(name, library(calls)) for name, calls in LIBRARY.items()]
    programs += [(os.path.basename(path)[:-4], open(path, encoding="utf8").read()) for path in EXAMPLES]
    right, total = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs:
            good, agree, rest = checked(os.path.join(folder, name + ".tsr"), text)
            right += good
            total += len(agree)
            print("%s: %d agree%s" % (name, len(agree), ", not compared: " + "; ".join(sorted(rest)) if rest else ""))
    print("%d of %d programs are right, %d gradients and tangents agree" % (right, len(programs), total))


main()
