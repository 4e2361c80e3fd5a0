"""Products of a warpgroup from boxes of tensors, as loops, each time with one fault, and what is said of it:
mbarrier_faults.py TSRC FILE"""
import re

from loop_faults import find, read

TEXT = read("mbarriers.loops")
OVERWRITTEN = "a copy to what may still be read or copied to"
NOT_THERE = "a product of what may not have been copied"
NOT_DONE = "sums of products that may not be done"
NOT_AGAIN = "a place that is not the same again after each ring of rounds"
ENDLESS = "a wait for what does not come before it"



def after_a_ring(text):
    """Rings of two completions, and a wait for the one before that which is awaited"""
    wait = "            await y_full, round\n"
    text = text.replace("y_full : i64 [8]", "y_full : i64 [2]").replace("await y_empty, round - 8", "await y_empty, round - 2")
    return text.replace(wait, wait + wait.replace("round", "round - 2"))


# what is planted, the text that stands there, what stands there instead, the message
WRONG = [
    ("no wait for copies", "            await y_full, round\n", "", NOT_THERE),
    ("no wait for room", "          await y_empty, round - 8\n", "", "an arrival before all have seen the completion a ring before"),
    ("another thread waits for room", "          await y_empty, round - 8\n",
     "          await y_empty, round - 8\n        block other in 0..1 behind 257\n",
     "an arrival before all have seen the completion a ring before"),
    ("the wrong phase", "await y_full, round\n", "await y_full, round - 1\n", NOT_THERE),
    ("the wrong phase of the ring", "await y_empty, round - 8", "await y_empty, round - 9",
     "an arrival before all have seen the completion a ring before"),
    ("a wait that is too early for ever", "await y_empty, round - 8", "await y_empty, round", ENDLESS),
    ("a stage that is given back early", "arrive y_empty, round - 1", "arrive y_empty, round", OVERWRITTEN),
    ("too many products under way", "wait products 1", "wait products 2", OVERWRITTEN),
    ("no wait for products", "            wait products 1\n", "", OVERWRITTEN),
    ("no wait for the last products", "          wait products 0\n", "          unroll none in 0..1\n", NOT_DONE),
    ("a missing arrival", "            arrive y_empty, round - 1\n", "", ENDLESS),
    ("an arrival for nobody", "shared arrivals 8", "shared arrivals 9", ENDLESS),
    ("an arrival too many", "shared arrivals 8", "shared arrivals 4", "more arrivals than an mbarrier awaits"),
    ("bytes that do not come", "bytes 24576", "bytes 24592", ENDLESS),
    ("bytes that nobody counts", "bytes 24576", "bytes 8192", ENDLESS),
    ("fewer stages", "y_rows[(round%8)*8192] =", "y_rows[(round%4)*8192] =", OVERWRITTEN),
    ("another ring of stages", "y_rows[(round%8)*8192] =", "y_rows[(round%7)*8192] =", NOT_AGAIN),
    ("another stage after many rounds", "y_rows[(round%8)*8192 + row1", "y_rows[((round + round/20)%8)*8192 + row1", NOT_AGAIN),
    ("a completion in two rounds", "await y_full, round\n", "await y_full, round/2\n",
     "a completion that is not the next one in each round"),
    ("another stage is multiplied", "y_rows[(round%8)*8192 + row1", "y_rows[((round + 1)%8)*8192 + row1", OVERWRITTEN),
    ("a box behind the ring", "y_rows[(round%8)*8192] =", "y_rows[(round%8)*8192 + 512] =",
     "a box that is not copied to a place in a swizzled buffer"),
    ("a box at an odd place", "y_rows[(round%8)*8192] =", "y_rows[(round%8)*8192 + 8] =",
     "a box that is not copied to a place in a swizzled buffer"),
    ("threads twice", "behind 256", "behind 224", "loops of a block that share some of their threads"),
    ("a second thread that copies", "copier in 0..1 behind", "copier in 0..2 behind", "more arrivals than an mbarrier awaits"),
    ("a condition around a wait", "            await y_full, round\n", "            if rows < 1\n              await y_full, round\n",
     "an mbarrier that not all threads of a loop come to, in each round"),
    ("rows where they are not", "row1*1024 + i1*64", "row1*1024 + i1*72",
     "operands of a warpgroup that are not where the instruction reads them"),
    ("a matrix of another side", "step*1024 + k1*64", "step*512 + k1*64",
     "operands of a warpgroup that are not where the instruction reads them"),
    ("threads behind others, in a nest", "block row1 in 0..8", "block row1 in 0..8 behind 288",
     "a loop of a block behind threads that there are not"),
    ("a box of 32 elements", "round*64 of 64 in 200 by 1", "round*64 of 32 in 200 by 1", "a box that no instruction copies"),
    ("lines of 396 bytes", "m by 200", "m by 198", "a box of elements that do not lie at multiples of 16 bytes"),
    ("a tensor of more rows", "in m by 200", "in m + 1 by 200", "a box of a tensor that is larger than its buffer"),
    ("more steps than a line has", "group step in 0..4", "group step in 0..8", "more steps of a warpgroup than a line has"),
    ("a wait for what was there a ring before", "            await y_full, round\n", after_a_ring,
     "a wait for a completion that the next one may have followed"),
    ("a ring that is too long", "y_full : i64 [8]", "y_full : i64 [64]", "a ring of more mbarriers than are looked at"),
    ("rounds without end", "          await y_empty, round - 8\n",
     "          await y_empty, round - 8\n" + "".join("          %sunroll z%d in 0..1024\n" % ("  " * i, i) for i in range(3)) +
     "                arrive y_full, round - 99\n", "more rounds and statements than are looked at"),
    ("no mbarrier", "await y_full, round\n", "await y_rows, round\n", "no mbarrier"),
    ("a box to what is not swizzled", "[65536] temp of forward scratch shared swizzled", "[65536] temp of forward scratch shared",
     "a box that is not copied to a swizzled buffer"),
    ("a swizzled element as any other", "      for round in 0..4\n",
     "      block z in 0..1\n        local a : f32 = f32(y_rows[0])\n      for round in 0..4\n",
     "a swizzled buffer, or an mbarrier, that is read as any other"),
]

# ... where blocks take turns
TURNS = re.sub(r"(y_full|y_empty), round", r"\1, turn*4 + round", TEXT.replace("(round%8)", "((turn*4 + round)%8)"))
TURNS = TURNS.replace("grid columns in 0..1", "grid columns in 0..1 turn of 132").replace("/128))\n", "/128)) raster 8\n", 1)
WRONG_TURNS = [
    ("a completion of each turn anew", "await y_full, turn*4 + round\n", "await y_full, round\n",
     "a completion that is not the next one in each round"),
    ("a turn of other rounds", "await y_empty, turn*4 + round - 8", "await y_empty, turn*5 + round - 8",
     "a completion that is not the next one in each round"),
    ("a stage of each turn anew", "y_rows[((turn*4 + round)%8)*8192] =", "y_rows[(round%8)*8192] =", NOT_AGAIN),
    ("a stage of a turn of other rounds", "y_rows[((turn*4 + round)%8)*8192 + row1", "y_rows[((turn*3 + round)%8)*8192 + row1",
     NOT_AGAIN),
    ("a place of a turn alone", "y_rows[((turn*4 + round)%8)*8192] =", "y_rows[((turn*4 + round)%8)*8192 + turn*0 + turn%2*512] =",
     NOT_AGAIN),
    ("no wait for the last products of a turn", "wait products 0", "wait products 1", NOT_DONE),
    ("a stage that is given back early", "arrive y_empty, turn*4 + round - 1", "arrive y_empty, turn*4 + round", OVERWRITTEN),
    ("a result of a turn", "y[rows*6144 +", "y[rows*6144 + min(turn, 0) +", "the number of a turn in what is not of a ring"),
    ("a condition of a turn", "if rows*128 + row3*16 + p*16 + i2 < m", "if rows*128 + row3*16 + p*16 + i2 < m + turn",
     "the number of a turn in what is not of a ring"),
    ("a box of a turn", "x[round*64 of", "x[round*64 + turn of", "the number of a turn in what is not of a ring"),
    ("a barrier", "      block row2 in", "      barrier\n      block row2 in", "a barrier of a block that takes turns"),
    ("turns outside", "raster 8\n", "outer of 132\n", "turns of blocks in a loop that is not the innermost of a grid"),
    ("an order of one loop", "turn of 132", "turn of 132 raster 8", "an order of loops of a grid that are not the innermost two"),
    ("other threads behind rounds", "      block row2 in", "      block z in 0..4\n        y_z[z] = 0\n      block row2 in",
     "loops of a block that share some of their threads"),
    ("other shared memory", "      block row2 in", "      block z in 0..256\n        y_z[z] = 0\n      block row2 in",
     "swizzled buffers, or those of blocks that take turns, beside other shared ones"),
]


def other_shared(fault):
    """The fault, with the buffer that it stores to"""
    name, old, new, rule = fault
    if "y_z" not in new:
        return fault
    return name, old, lambda text: text.replace(old, new).replace(
        "buffer y_full", "buffer y_z : f32 [256] temp of forward scratch shared\nbuffer y_full").replace(
            "-> y_empty", "-> y_z f32 temp, y_empty"), rule


find((TEXT, WRONG), (TURNS, [other_shared(fault) for fault in WRONG_TURNS]))
