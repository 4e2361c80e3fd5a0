"""Blocks of clusters as loops, each time with one fault, and what is said of it: cluster_faults.py TSRC FILE"""
from loop_faults import bound, find, read

TEXT = read("cluster.loops")
NO_BARRIER = "a loop of a cluster's blocks without their barrier behind it"
MEET = "blocks of a cluster that may meet"
OTHERS = "beside a cluster's loop another statement, or one of other blocks"
WHOSE = "an index of a cluster's buffer that does not say whose part it is in"

# what is planted, the text that stands there, what stands there instead, the message
WRONG = [
    ("no barrier before others read", "    barrier cluster\n    cluster rank", "    cluster rank", NO_BARRIER),
    ("a barrier of a block there", "    barrier cluster\n    cluster rank", "    barrier\n    cluster rank", NO_BARRIER),
    ("no barrier behind what others read", "    barrier cluster\n\n", "\n", NO_BARRIER),
    ("a result of all blocks", "y[i*128 + rank*32 + thread1]", "y[i*128 + thread1]", MEET),
    ("a part of another block", "parts[slice*128 + thread]", "parts[384 + slice*-128 + thread]", WHOSE),
    ("all in one part", "parts[slice*128 + thread]", "parts[thread]", MEET),
    ("a store next door", "parts[slice*128 + thread] = sum", "parts[thread + (slice*128 + 128)%512] = sum", MEET),
    ("an index beyond the part", "parts[k1*128 + rank*32 + thread1]", "parts[k1*128 + rank*48 + thread1]", WHOSE),
    ("a place that a dim moves", "parts[k1*128 + rank*32 + thread1]", "parts[k1*128 + rank*32 + thread1 + n]", WHOSE),
    ("a store into the reader's part", "        y[i*128 + rank*32 + thread1] = all\n",
     "        y[i*128 + rank*32 + thread1] = all\n        parts[rank*128 + thread1] = all\n", MEET),
    ("a block too few", "cluster rank in 0..4", "cluster rank in 0..3", OTHERS),
    ("a buffer of other blocks", "cluster 4\n", "cluster 2\n", "a buffer of other blocks than a cluster has"),
    ("more blocks than run together", "cluster 4\n", "cluster 16\n", "2 to 8 blocks of a cluster have equal parts of a buffer [E0610]"),
    ("a statement beside", "    cluster rank in 0..4\n", "    prefetch x[i]\n    cluster rank in 0..4\n", OTHERS),
    ("several threads a block of the grid", "grid i in 0..n\n", "grid i in 0..n of 2\n", "a cluster outside of a grid, of blocks that take "
     "turns, or beside mbarriers or prefetches"),
]

if "more blocks a cluster than the GPU has" not in bound(TEXT, "cuda:sm_80").stderr:
    print("a GPU without clusters has some")
find((TEXT, WRONG), target="cuda:sm_90")
