"""Programs whose shapes follow from the rules of docs/language.md and docs/inference.md by hand: lines of the shapes and
guards (after `!`: of which there is none), or the code of the error, the same under every order of the constraints."""
import subprocess
import sys

TSRC = sys.argv[1]
CASES = [
    # rows and their variables
    ("row1",'input x : [2, 3 | 4, 5 -> 6]\noutput y = sum("..b.., q | i, j -> o => q | ..b.. -> o", x)',"y : f32 [3 | 2 -> 6]"),
    ("row2",'input x : [2 | 3]\ninput z : [2 | 4]\noutput y = einsum("...|a; ...|b => ...|a,b", x, z)',"y : f32 [2 | 3, 4]"),
    ("row3",'input x : [4, 5, 6]\noutput y = permute("a, ..r.., c => c, ..r.., a", x)',"y : f32 [6, 5, 4]"),
    ("row4",'input x : [4, 6]\noutput y = permute("a, ..r.., c => c, ..r.., a", x)',"y : f32 [6, 4]"),
    ("row5",'input x : [2, 3 -> 2, 3]\noutput y = sum("..r.. -> ..r.. => ..r..", x)',"y : f32 [2, 3]"),
    ("row5e",'input x : [2, 3 -> 3, 2]\noutput y = sum("..r.. -> ..r.. => ..r..", x)',"E0301"),
    ("row6",'input x : [2, 3]\noutput y = sum("..r.. => ..r.. -> ..r..", x)',"y : f32 [2, 3 -> 2, 3]"),
    ("row7",'input x : [4]\noutput y = sum("a, ..r.., c => a", x)',"E0303"),
    ("row8",'input x : [4, 5]\noutput y = sum("a => a", x)',"E0303"),
    ("row9",'input x : [2 | 3]\ninput z : [4 | 3]\noutput y = einsum("...|a; ...|a => ...", x, z)',"E0301"),
    ("row10",'input x : [2 | 3]\ninput z : [3]\noutput y = einsum("...|a; a => ...|", x, z)',"y : f32 [2 |]"),
    # affine axes
    ("aff1",'input x : [19]\noutput y = sum("3*o <+ 2*k => o", x) with (k = 4)',"y : f32 [5]"),
    ("aff2",'input x : [20]\noutput y = sum("3*o <+ 2*k => o", x) with (k = 4)',"E0341"),
    ("aff2f",'input x : [20]\noutput y = sum("3*o <+? 2*k => o", x) with (k = 4)',"y : f32 [5]"),
    ("aff3",'input x : [12]\noutput y = sum("4*o =+ k => o", x) with (k = 5)',"y : f32 [3]"),
    ("aff3e",'input x : [13]\noutput y = sum("4*o =+ k => o", x) with (k = 5)',"E0341"),
    ("aff3c",'input x : [13]\noutput y = sum("4*o =+? k => o", x) with (k = 5)',"y : f32 [4]"),
    ("aff4",'input x : [8]\noutput y = sum("2*o + 1 => o", x)',"y : f32 [4]"),
    ("aff4e",'input x : [7]\noutput y = sum("2*o + 1 => o", x)',"E0341"),
    ("aff5",'input x : [10]\noutput y = sum("2*o + 3 => o", x)',"y : f32 [4]"),
    ("aff5e",'input x : [9]\noutput y = sum("2*o + 3 => o", x)',"E0341"),
    ("aff6",'input x : [7]\noutput y = sum("i + 2 => i", x)',"y : f32 [5]"),
    ("aff7",'input x : [9]\ninput z : [7]\noutput y = z + einsum("o <+ k; k => o", x, {w})',"w : f32 [3]"),
    ("aff7s",'input x : [9]\ninput z : [4]\noutput y = z + einsum("2*o <+ k; k => o", x, {w})',"w : f32 [3]"),
    ("aff8",'input x : [10]\noutput y = sum("2*o <+ 1 + k => o", x) with (k = 3)',"y : f32 [4]"),
    ("aff9",'input x : [4]\ninput k : [3]\noutput y = einsum("o; k => 2*o <+ k", x, k)',"y : f32 [9]"),
    ("aff10",'input x : [4]\noutput y = sum("i => 3*i + 2", x)',"y : f32 [12]"),
    ("aff11",'input x : [4]\noutput y = sum("i => i + 2", x)',"y : f32 [6]"),
    ("aff12",'dim n\ninput x : [2*n]\noutput y = sum("2*i, => i", x)',"y : f32 [n]","!requires"),
    ("aff12d",'dim n\ninput x : [n]\noutput y = sum("2*i, => i", x)',"y : f32 [n/2]","requires: n must be a multiple of 2"),
    ("aff13",'dim n\ninput x : [n]\noutput y = sum("o <+ k => o", x) with (k = 3)',"y : f32 [n - 2]","requires: n must be at least 2"),
    ("aff14",'dim n\ninput x : [n]\noutput y = sum("2*o <+? k => o", x) with (k = 3)',"y : f32 [floor((n - 1)/2)]","requires: n must be at least 1"),
    ("aff15",'dim n\ninput x : [4*n]\noutput y = sum("2*o =+ 3*k => o", x) with (k = 3)',"y : f32 [2*n]","!requires"),
    ("aff16",'input x : [3]\noutput y = sum("o <+ k => o", x) with (k = 5)',"E0342"),
    ("aff17",'input x : [6, 6]\noutput y = sum("o <+ k, p <+ k => o, p, k", x) with (k = 2)',"y : f32 [5, 5, 2]"),
    ("aff18",'input x : [5]\noutput y = sum("o <+ k => o, k", x) with (o = 4)',"y : f32 [4, 2]"),
    # concatenations, some parts empty
    ("cat1",'input x : [5]\noutput y = sum("a^b => b^a", x) with (a = 2)',"y : f32 [5]"),
    ("cat2",'input x : [7]\noutput y = sum("a^b^c => b", x) with (a = 2)',"y : f32 [5]"),
    ("cat3",'input x : [5]\noutput y = sum("a^b => b^c", x) with (a = 2, c = 4)',"y : f32 [7]"),
    ("cat4",'input x : [8]\noutput y = sum("2^i^1 => i", x)',"y : f32 [5]"),
    ("cat5",'input x : [2]\noutput y = sum("3^i => i", x)',"E0344"),
    ("cat6",'input x : [4]\noutput y = sum("i => i^3", x)',"y : f32 [7]"),
    ("cat7",'input a : [3, 4]\ninput b : [5, 6]\noutput y = concat("x, f; y, f => x^y, f", a, b)',"E0301"),
    ("cat8",'input a : [3]\ninput b : [0]\noutput y = concat("x; y => x^y", a, b)',"y : f32 [3]"),
    ("cat9",'input a : [2]\ninput b : [3]\ninput z : [9]\noutput y = z + concat("x; y; w => x^y^w", a, {p}, b)',"p : f32 [4]"),
    ("cat10",'input x : [9]\ninput y : [9]\noutput z = einsum("a^b; a => b", x, y)',"z : f32 [0]"),
    ("cat11",'dim n\ninput x : [n]\ninput c : [1]\noutput y = concat("a; b => a^b", c, x)',"y : f32 [n + 1]"),
    ("cat12",'dim n\ninput x : [n]\noutput y = sum("a^b => b", x) with (a = 2)',"y : f32 [n - 2]","requires: n must be at least 2"),
    ("cat13",'input x : [6]\noutput y = sum("a^b => a", x)\nrequire 2 >= 1',"y : f32 [6]"),
    ("cat14",'input x : [2 | 3, 4]\ninput z : [2 | 5, 4]\noutput y = concat("...|a, ..r..; ...|b, ..r.. => ...|a^b, ..r..", x, z)',"y : f32 [2 | 8, 4]"),
    # fixed indices
    ("fix1",'input x : [3]\noutput y = sum("3 => ", x)',"E0306"),
    ("fix2",'let p = offsets()\noutput y = sum("2, i => i", p) with (i = 4)',"p : i32 [3, 4]"),
    ("fix3",'let p = offsets()\noutput y = sum("2, i => i", p) with (i = 4)\noutput z = sum("5, i => i", p)',"p : i32 [6, 4]"),
    ("fix4",'input x : [4]\noutput y = sum("i => i, 2", x)',"y : f32 [4, 3]"),
    ("fix5",'input x : [4]\ninput z : [4, 5]\nlet y = sum("i=>i0", x)\noutput o = y + z',"y : f32 [4, 1]","o : f32 [4, 5]"),
    ("fix6",'output y = sum("2, i => i", {p : [_, 4]})',"E0307"),
    ("fix7",'dim n\ninput x : [n]\noutput y = sum("3 => ", x)',"requires: n must be at least 4"),
    ("fix8",'input x : [4, 3]\noutput y = sum("i, 1 => i, 0", x)',"y : f32 [4, 1]"),
    # totals
    ("tot1",'input x : [6, 4]\ninput z : [8]\noutput y = z + reshape(x)',"y : f32 [3, 8]"),
    ("tot2",'input x : [6, 4]\ninput z : [5]\noutput y = z + reshape(x)',"E0345"),
    ("tot3",'dim n\ninput x : [n, 4]\ninput z : [8]\noutput y = z + reshape(x)',"y : f32 [n/2, 8]","requires: n must be a multiple of 2"),
    ("tot4",'input x : [12]\noutput y = sum("i, j => j", reshape(x)) with (i = 3)',"y : f32 [4]"),
    ("tot5",'input x : [0, 4]\ninput z : [3]\noutput y = z + reshape(x)',"y : f32 [0, 3]"),
    ("tot6",'input x : [2, 3, 4]\nlet s = sum("..r.., i => i", x) with (r)\noutput k = {q : [r] = 0} + 0\noutput t = s',"k : f32 [6]"),
    ("tot7",'let p = offsets()\noutput y = sum("i, ..r.. => ..r..", p) with (i = 2, r = 12)',"p : i32 [2, 12]"),
    ("tot8",'input x : [2 | 3 -> 4]\noutput y = sum("a, b, c => a, b, c", reshape(x)) with (a = 2, b = 4)',"y : f32 [2, 4, 3]"),
    ("tot9",'dim n\ndim m\ninput x : [n, m]\noutput y = sum("a, b => b, a", reshape(x)) with (a = m)',"y : f32 [n, m]"),
    ("tot10",'input x : [24]\noutput y = sum("a, b => a", reshape({p : [_, 6]})) + sum("c => ", x) with (a = 4, b = 3)',"p : f32 [2, 6]"),
    # captured and given sizes
    ("cap1",'input x : [3, 5]\nlet s = sum("i, j => i", x) with (j)\noutput k = {q : [j] = 0} + 0\noutput t = s',"k : f32 [5]"),
    ("cap2",'input x : [3, 5]\noutput y = sum("i, j => i", x) with (j = 4)',"E0301"),
    ("cap3",'input x : [3, 5]\noutput y = sum("i, j => i", x) with (z = 4)',"E0218"),
    ("cap4",'dim n\ninput x : [n, 5]\noutput y = sum("i, j => i", x) with (i = 7)',"y : f32 [7]","requires: n must equal 7"),
    # labels
    ("lab1",'input a : [rgb:3]\ninput b : [3]\noutput y = a + b',"y : f32 [rgb:3]"),
    ("lab2",'input a : [rgb:3]\ninput w : [3 -> 2]\noutput y = w * a',"y : f32 [2]","w : f32 [rgb:3 -> 2]"),
    ("lab3",'input a : [rgb:3, rgb:3]\noutput y = sum("ij => i", a)',"y : f32 [rgb:3]"),
    ("lab4",'input a : [rgb:3, hsv:3]\noutput y = sum("ii => i", a)',"E0304"),
    ("lab5",'input a : [rgb:4]\noutput y = sum("2*i, => i", a)',"y : f32 [rgb:2]"),
    ("lab6",'input a : [q:1]\ninput b : [3]\noutput y = a + b',"E0301"),
    # broadcasting
    ("pw1",'input x : [1, 4]\ninput z : [3, 1]\noutput y = x + z',"y : f32 [3, 4]"),
    ("pw2",'dim n\ninput x : [n]\ninput z : [1]\noutput y = x + z',"y : f32 [n]","!requires"),
    ("pw3",'dim n\ninput x : [n]\ninput z : [3]\noutput y = x + z',"y : f32 [3]","requires: n must equal 3"),
    ("pw4",'dim one = 1\ninput x : [one]\ninput z : [3]\noutput y = x + z',"E0301"),
    ("pw5",'input a : [2 | 3]\ninput b : [4 -> 3]\noutput y = a + b',"y : f32 [2 | 4 -> 3]"),
    ("pw6",'dim n\ninput a : [n, 1]\ninput b : [1, n]\noutput y = a + b',"y : f32 [n, n]","!requires"),
    # slices
    ("sl1",'input x : [3, 4 | 5]\noutput y = x @ 2 @ 1',"y : f32 [5]"),
    ("sl2",'input x : [3 | 5]\noutput y = x @ 3',"E0306"),
    ("sl3",'input x : [5]\noutput y = x @ 0',"E0303"),
    ("sl4",'let p = offsets()\ninput z : [2 | 3]\noutput y = (p @ 4) + z',"p : i32 [5, 2 | 3]"),
    # parameters
    ("par1",'input x : [2, 7]\noutput y = {w : [... -> 3]} * x',"w : f32 [2, 7 -> 3]"),
    ("par2",'input x : [2 | 3]\noutput y = {b} + x',"b : f32 [3]","y : f32 [2 | 3]"),
    ("par3",'input x : [4]\noutput y = einsum("i; i => i", x, {w})',"w : f32 [4]"),
    ("par4",'input x : [4]\noutput y = einsum("i; j => i, j", x, {w})',"E0307"),
    ("par5",'input x : [4, 3]\noutput y = {w : [_, 3]} + x',"w : f32 [4, 3]"),
    ("par6",'input x : [3]\noutput y = {w : [_, 3]} + x',"E0307"),
    ("par7",'input x : [1]\noutput y = {w : [_]} + x',"w : f32 [1]"),
    ("par8",'input x : [5]\noutput y = {a} * ({b : [... -> 4]} * x) + [1, 2]',"a : f32 [4 -> 2]","b : f32 [5 -> 4]"),
    ("par9",'input x : [5]\noutput y = {a} * ({b} * x) + [1, 2]',"E0307"),
    ("par10", 'input x : [5]\noutput y = {a} * relu({b} * x + {c}) + [1, 2]', "E0307"),
    ("par11", 'input x : [5]\nlet v = {a : [... -> 2]} + 0\noutput y = v * relu({b : [5 -> ...]} * x)', "E0307"),
    # products
    ("cmp1",'input a : [2 | 3 -> 4]\ninput b : [5 | 3]\noutput y = a * b',"E0301"),
    ("cmp2",'input a : [3 -> 4]\ninput b : [6 -> 3]\noutput y = a * b',"y : f32 [6 -> 4]"),
    ("cmp3",'input a : [1 -> 4]\ninput b : [3]\noutput y = a * b',"E0301"),
    ("cmp4",'input a : [3 -> 4]\ninput b : [1]\noutput y = a * b',"y : f32 [4]"),
    ("cmp5",'input a : [2, 3 -> 4]\ninput b : [3]\noutput y = a * b',"y : f32 [4]"),
    ("cmp6",'input a : [3 -> 4]\ninput b : [2, 3]\noutput y = a * b',"E0302"),
    # stacks
    ("st1",'input a : [2 | 3]\noutput y = stack(batch, a, a, a)',"y : f32 [3, 2 | 3]"),
    ("st2",'input a : [3]\ninput b : [1]\noutput y = stack(output, a, b)',"E0301"),
    ("st3",'input a : [3]\noutput y = [[a, a], {c}, {d : [2, 3]}]',"c : f32 [2, 3]","y : f32 [3, 2, 3]"),
    # gather
    ("ga1",'input t : [10, 4]\ninput i : i32 [7, 2 |]\noutput y = gather(t, i)',"y : f32 [7, 2 | 4]"),
    ("ga2",'input t : [5 | 10]\ninput i : i32 [7 |]\noutput y = gather(t, i)',"E0303"),
    ("ga3",'input i : i32 [7 |]\noutput y = gather({e : [100, 8]}, i)',"y : f32 [7 | 8]"),
    # other forms
    ("tr1",'input x : [2 | 3 -> 4]\noutput y = x.T',"y : f32 [2 | 4 -> 3]"),
    ("am1",'input x : [3, 4]\noutput y = argmax("i, j => j", x)',"y : i32 [4]"),
    ("am2",'input x : [3, 4]\noutput y = argmax("i, j => ", x)',"E0332"),
    ("us1",'input x : [3, 4]\noutput y = sum("_, _ => ", x)',"y : f32 []"),
    ("us2",'input x : [3, 4]\noutput y = sum("i, _ => i", x)',"y : f32 [3]"),
]


def fits(run, line):
    if line.startswith("E0"):
        return run.returncode == 1 and "[%s]" % line in run.stderr
    if line.startswith("!"):
        return run.returncode == 0 and line[1:] not in run.stdout
    return run.returncode == 0 and any(said == line or said.startswith(line + " (") for said in run.stdout.splitlines())


failed = 0
for name, program, *lines in CASES:
    for order in (0, 1, 3):
        options = ["--shuffle=%d" % order] if order else []
        run = subprocess.run([TSRC, "--dump=shapes,guards", *options, "-"], input=program + "\n", capture_output=True,
                             text=True)
        if not all(fits(run, line) for line in lines):
            failed += 1
            print("%s, order %d: %s\n%s%s" % (name, order, lines, run.stdout, run.stderr))
            break
print("%d programs, %d fail" % (len(CASES), failed))
