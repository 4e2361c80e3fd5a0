"""Every name that C, C++, their headers or the module itself use, as a dim, an input, a parameter, a result, a routine,
a function and a scalar: the header compiles as C and C++, written C without a warning, and a program links with it."""
import os
import subprocess
import sys

TSRC, PREFIX = os.environ["TSRC"], "m"
KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool
_Complex _Imaginary _Alignas _Alignof _Atomic _Generic _Noreturn _Static_assert _Thread_local asm typeof alignas alignof
and and_eq bitand bitor bool catch char8_t char16_t char32_t class compl concept consteval constexpr constinit
const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast requires static_assert
static_cast template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq final override
module""".split()
LIBRARY = """NULL EOF errno INFINITY NAN SIZE_MAX offsetof size_t ptrdiff_t max_align_t int64_t uintptr_t INT64_C INT64_MAX
INT64_MIN INT_FAST16_WIDTH PTRDIFF_MAX WCHAR_MAX HUGE_VAL HUGE_VALF MATH_ERRNO math_errhandling FP_NAN FP_ZERO M_PI I
complex imaginary isnan linux unix __LINE__ __func__ __x86_64__ _Pragma __cplusplus __attribute__ assert main exp log
sqrt pow sin erf fmod fma exp2 expf fabs floor j0 y1 gamma signgam memcpy malloc free exit abort index time remove
environ strlen puts read write LONG_MAX DBL_MAX CHAR_BIT BUFSIZ _mm512_max_ps _cvtsh_ss""".split()
OWN = """TSR_OK TSR_ABI TSR_BAD_DIM TSR_CHECK_FIRST TSR_CALL_H TSR_NONE tsr_call tsr_module tsr_i tsr_bytes tsr_fail tsr
tsr_ call state workspace seed code i n acc parts chunk lane r c i0 message bound words""".split()
OWN += [PREFIX + name for name in """_pack _init _module _state_size _forward _forward_workspace __k_y __p_y_0 __a_y
__invoke_init __routine_forward __uniform_f32 __const_0 _CHECK_0 __first __routine_pack""".split()]
TSR = "const else for if import".split()  # keywords of this language
NAMES = [name for name in KEYWORDS + LIBRARY + OWN if name not in TSR]


def lines(text, names=NAMES):
    return "".join(text.replace("NAME", name) + "\n" for name in names)


def total(text, names=NAMES):
    return " + ".join(text.replace("NAME", name) for name in names)


# A few at a time where the compiler would take long for all of them at once.
def by(n, program):
    return [program(NAMES[i:i + n]) for i in range(0, len(NAMES), n)]


PROGRAMS = {
    "dim": by(12, lambda names: lines("dim NAME\nrequire NAME >= 1\nparam w_NAME : [NAME] = uniform()\n"
                                      "param v_NAME : [NAME] = tanh(normal(5))\ninput x_NAME : [NAME]\n"
                                      "let z_NAME = sum(w_NAME + v_NAME .* x_NAME)\noutput y_NAME = z_NAME .* [1, 2]",
                                      names)),
    "input": by(60, lambda names: lines("input NAME : [3]", names) + "output sum_of_all = " + total("NAME", names)),
    "scalar": by(60, lambda names: "input x0 : [3]\nroutine go(%s) -> out { out =: %s + x0 }\n" % (
        ", ".join(name + " : f32" for name in names), total("NAME", names))),
    "param": by(60, lambda names: "dim d\ninput x0 : [d]\n" + lines("param NAME : [3] = uniform()", names)
                + "output sum_of_all = sum(x0) .* (" + total("NAME", names) + ")"),
    "state": by(60, lambda names: "input x0 : [3]\n" + lines("param NAME : [3] = 0", names) + "routine go() -> out {\n"
                + lines("NAME =+ x0", names) + "out =: x0 + x0 }"),
    "output": by(60, lambda names: "dim d\ninput x0 : [d]\n" + lines("output NAME = 2 * x0", names)),
    "local": by(60, lambda names: "dim d\ninput x0 : [d]\nlet first0 = [1, 2] * sum(x0)\n"
                + lines("let NAME = first0 * sum(x0)", names) + "output sum_of_all = " + total("NAME", names)),
    "instance": by(60, lambda names: "dim d\ninput x0 : [4]\nfn layer(to)(x) = {w : [to] = 0} + x\n"
                   + lines("let NAME = layer(4)\noutput of_NAME = NAME(x0)", names)),
}
MEETS = {"module", "init", "pack", "state_size", PREFIX + "_forward_workspace"}  # exported by every module, and by a routine
ROUTINES = [name for name in NAMES if name not in MEETS]
PROGRAMS["routine"] = ["input x0 : [3]\n" + lines("routine NAME() -> out { out =: x0 + x0 }", ROUTINES)]


def check(command, path):
    subprocess.run(command.split() + ["-Wall", "-Wextra", "-Wpedantic", "-Werror", path], check=True)


def compile_all(role, i, text):
    path = "%s%d" % (role, i)
    with open(path + ".tsr", "w", encoding="utf8") as out:
        out.write(text)
    tsrc = [TSRC, "-Wno-dims-meet", "--prefix=" + PREFIX, path + ".tsr", "-O0", "-o"]
    for suffix in (".c", ".h"):
        subprocess.run(tsrc + [path + suffix], check=True)
    check("gcc -std=c17 -fsyntax-only -x c", path + ".h")
    check("g++ -std=c++17 -fsyntax-only -x c++", path + ".h")
    # The first is linked; of the others it is the language's front end that may object.
    check("gcc -std=c17 -fsyntax-only" if i else "gcc -std=c17 -O0 -c -o %s.o" % path, path + ".c")


def link(path, compiler, source, *more):
    """Without undefined symbols but those of the C library, in a program that includes the header."""
    with open(source, "w", encoding="utf8") as out:
        out.write('#include "%s.h"\nint main(void) { return %s_state_size == 0; }\n' % (path, PREFIX))
    subprocess.run([*compiler.split(), "-Werror", "-w", source, *more, "-lm", "-o", "run"], check=True)
    subprocess.run(["./run"], check=True)


count = 0
for role, programs in PROGRAMS.items():
    for i, text in enumerate(programs):
        compile_all(role, i, text)
        count += 1
    path = role + "0"
    subprocess.run([TSRC, "-Wno-dims-meet", "--prefix=" + PREFIX, "-O0", path + ".tsr", "-o", path + "-made.o"], check=True)
    link(path, "gcc -std=c17", "use.c", path + ".o")
    link(path, "g++ -std=c++17", "use.cc", path + "-made.o")
print("%d names, %d roles" % (len(NAMES), len(PROGRAMS)))
