"""functions_of_constants.py TSRC TSR DIR [OPTION...]: a program of every function, of f32 and f64, of constants alone is compiled so that
its tables are computed while compiling, and so that each call computes them: the results have the same bits."""
import filecmp
import os
import re
import subprocess
import sys

tsrc, tsr, folder, *options = sys.argv[1:]
with open(os.path.join(os.path.dirname(__file__), "../../../../base/ops.def"), encoding="utf8") as rows:
    functions = re.findall(r'^OP\(\w+, +"(\w+)", +1, F, (?!"!")', rows.read(), re.M)
lines = ["input s : []", "let a = range(300) .* 0.0742 - 9.25, b = f64(range(300)) .* 0.0742 - 9.25", "let c = 1e6 - f64(range(300)) ** 4"]
for x in "abc":
    lines += [f"output {x}_{f} = {f}({x}) .* s" for f in functions if f != "id"]
    lines += [f"output {x}_power = abs({x}) ** min({x} / 3, 4) .* s", f"output {x}_rest = {x} % 0.7 / 1.3 .* s",
              f"output {x}_angle = atan2({x}, 1 - {x}) + hypot({x}, 1 - {x}) .* s",
              f"output {x}_fused = exp({x}) .* {x} - sin({x}) .* {x} + copysign({x} / 3, 1 - {x}) .* s",
              f'output {x}_sum = sum("i, j => i", einsum("i; j => i, j", {x}, cos({x})) / 3) .* s',
              f"output {x}_narrow = f32(f16({x} / 3)) + f32(bf16({x} / 3)) .* s + f32(f8e4m3({x} / 3)) + f32(f8e5m2({x} / 3))",
              f'output {x}_running = cumulate(sum, "[i] => i", {x} / 3 .* {x}) .* s',
              f"output {x}_whole = i32({x} .* 1e3 / 7) .* i32(s)"]
results = [re.search(r"\w+ (\w+)", line).group(1) for line in lines if line.startswith("output")]
assert len(functions) > 30, functions
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
with open("all.tsr", "w") as program:
    program.write("\n".join(lines) + "\n")
for name, words in ("once", []), ("each", ["--no-prepack"]):
    os.makedirs(name, exist_ok=True)
    subprocess.run([tsrc, *options, *words, "all.tsr", "-o", f"{name}/all.so"], check=True)
    outputs = [word for result in results for word in ("-o", f"{result}={name}/{result}.npy")]
    subprocess.run([tsr, "run", f"{name}/all.so", "s=1", *outputs], check=True)
loops = subprocess.run([tsrc, *options, "--dump=loops", "all.tsr"], check=True, capture_output=True, text=True).stdout
kept = re.findall(r" (?:exp|sin|lgamma|acosh)\(", loops)
other = [result for result in results if not filecmp.cmp(f"once/{result}.npy", f"each/{result}.npy", shallow=False)]
print(f"{len(results)} results, {len(other)} have other bits {other}, computed at each call: {kept}")
