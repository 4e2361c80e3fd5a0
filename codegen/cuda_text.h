/* What a file of CUDA C is made of. Its kernels are plain C over a layer that has two bodies: CUDA, and a host
 * that runs the threads of a block one after another.
 *
 *   file := plan layer helpers constants kernels "#ifndef __CUDACC__" launchers routines table "#endif"
 *
 * A kernel's function takes its dims, scalars and buffers, and TSR_PLACE, where its thread is. Every block
 * goes on to the block a whole grid further, so that no number of elements is too large for a grid.
 * A launcher is the kernel as a function of the host: with it the routines are those of written C.
 */
#ifndef TSR_CODEGEN_CUDA_TEXT_H
#define TSR_CODEGEN_CUDA_TEXT_H

#include "codegen/c_kernel.h"

/* cuda_layer.c */
extern const char cuda_layer_text[];
/* ... What it has for clusters of blocks, where there are some. */
extern const char cuda_cluster_text[];
/* ... of wide loads of elements of four bits. */
extern const char cuda_packed_text[];
/* The threads of a block on a CPU: behind the type tsr_call. */
extern const char cuda_host_text[];

/* cuda_kernel.c: functions of the GPU; `function` of a kernel is its name there. */
void cuda_put_kernels(FILE *out, const Module *module);
/* Launchers; their names, for the modules' kernels. */
const char *cuda_launcher(const Module *module, KernelId kernel);
void cuda_put_launchers(FILE *out, const Module *module);

/* cuda_lanes.c: a loop of lanes; the loop that sets the elements of a local with axes to a C expression. */
void cuda_lanes_loop(KernelText *k, const Stmt *loop);
void cuda_lanes_fill(KernelText *k, LocalId local, const char *value);

/* cuda_fragment.c: a nest of loops of a warp; of a local of matrices its declaration and an assignment. */
void cuda_warp_loop(KernelText *k, const Stmt *loop);
void cuda_fragment_declare(KernelText *k, const Stmt *stmt);
void cuda_fragment_set(KernelText *k, const Stmt *stmt);

/* cuda_group.c: products of a warpgroup, the functions that they call; a copy, an arrival or a wait; the kernel's
 * mbarriers, made or ended; expressions for the maps of its copies, each with a comma behind. */
/* Is it a serial loop of loops of a block alone, which mbarriers keep from each other? */
bool cuda_is_rounds(const Stmt *loop);
void cuda_group_loop(KernelText *k, const Stmt *loop);
void cuda_put_group_functions(FILE *out, const Module *module);
void cuda_completion(KernelText *k, const Stmt *stmt);
/* ... a loop of boxes; an element that it stores, where that is on its way. */
void cuda_box_loop(KernelText *k, const Stmt *loop);
const char *cuda_box_element(KernelText *k, const Ix *ix);
void cuda_put_mbarriers(KernelText *k, bool end);
void cuda_put_maps(const KernelText *k);

/* cuda_plan.c: all that a runtime has to know of the kernels, a comment line each:
 *
 *   plan     := "//tsr: plan 2" [digest] target [overlap] prefix source producer dim* place* step* state check* const* param*
 *               packed* routine* [start] [pack] "//tsr: code"
 *   digest   := "//tsr: digest" HEX                         of all behind this line, the code too (base/digest.h)
 *   target   := "//tsr: target" NAME
 *   overlap  := "//tsr: overlap"                            a kernel waits for the launch in front itself, so that its
 *                                                           launch may begin before that one ends
 *   prefix   := "//tsr: prefix" NAME
 *   source   := "//tsr: source" TEXT
 *   producer := "//tsr: producer" TEXT
 *   dim      := "//tsr: dim" NAME "at least" NUMBER
 *   place    := "//tsr: place" NAME                         the value of a scalar of one routine, in its sizes
 *   step     := "//tsr: step" NAME                          the number of a loop's step, in sizes of its launches
 *   state    := "//tsr: state" SIZE                         bytes
 *   check    := "//tsr: check" CODE PLACE ": " TEXT         in the order of their codes; PLACE may be empty
 *   const    := "//tsr: const" ID NAME DTYPE NUMBER "symbol" NAME
 *   param    := "//tsr: param" ID tensor "at" SIZE first "type" TEXT axis*   bytes from the state's start
 *   packed   := "//tsr: packed" ID NAME DTYPE NUMBER "at" NUMBER      what `pack` stores, elements, and bytes from where
 *                                                           the device has it
 *   first    := "uniform" KEY "fan" SIZE | "value" NUMBER | "computed"      what it holds at first
 *   tensor   := NAME DTYPE SIZE                             elements
 *   axis     := "//tsr: axis" ("batch" | "output" | "input") SIZE ["label" NAME]
 *   routine  := "//tsr: routine" NAME "workspace" SIZE body
 *   start    := "//tsr: start workspace" SIZE body          sets the parameters that are computed
 *   pack     := "//tsr: pack" reads* line*                  stores what is packed, of parameters that are set
 *   body     := ["//tsr: dims" NAME ("," NAME)*] scalar* arg* temp* reads* assigns* guard* line*
 *   scalar   := "//tsr: scalar" NAME DTYPE ["place" NAME]   whose value that place has
 *   arg      := "//tsr:" ("in" | "out") ID tensor "line" NUMBER "type" TEXT axis*
 *   temp     := "//tsr: temp" ID tensor "at" SIZE           bytes from the workspace's start
 *   reads    := "//tsr: reads" ID                           a parameter that it touches
 *   assigns  := "//tsr: assigns" ID                         ... that it writes
 *   guard    := "//tsr: guard" CODE ("eq" | "ge" | "divides") SIZE "," SIZE  is a = b, a >= b, does b divide a?
 *   line     := launch | loop
 *   launch   := "//tsr: launch" FUNCTION "blocks" SIZE ["most" NUMBER] "threads" NUMBER    or so many that take turns
 *               ["shared" NUMBER]                           bytes that it asks for
 *               "args" [ARG ("," ARG)*] ["from" PLACE]
 *   loop     := "//tsr: for" STEP ("count" SIZE | "scalar" NAME) ["made" ID] ["down"] ["until" ID] ["exchange" ID ID ("," ID ID)*]
 *               line* "//tsr: end"
 *   ARG      := NAME | "$" NAME | ID ["+" SIZE]        a dim, place or step; a scalar; elements from the buffer's start
 *             | "tensor" ID ("of" NUMBER "in" SIZE "by" SIZE)+    a map of a tensor, whose boxes are swizzled by 128
 *                                                     bytes: of each axis what a box has, its extent and the elements
 *                                                     between neighbours, the innermost first; of f32 elements are
 *                                                     rounded to tf32
 *             | "tensor" ID "of" NUMBER "in" SIZE "by" SIZE WINDOWS+     ... of windows of one, of which each axis but the
 *                                                     first has some: so many are copied of all
 *             | "result" ID ("of" NUMBER "in" SIZE "by" SIZE)+    ... of one that boxes are stored to, as they are
 *   WINDOWS  := "windows" SIZE "low" NUMBER "step" NUMBER "of" NUMBER "in" SIZE "by" SIZE
 *   ID       := "%" NUMBER                                  a buffer
 *
 *   SIZE     := PRODUCT (("+" | "-") PRODUCT)*;  PRODUCT := FACTOR (("*" | "/") FACTOR)*, quotients are exact
 *   FACTOR   := ["-"] NUMBER | NAME | "(" SIZE ")" | "floor(" FACTOR "/" FACTOR ")"
 *
 * Launches are in order. The kernels note a failed check in the variable `tsr_status`.
 */
void cuda_put_plan(FILE *out, const Module *module);

/* emit_cuda.c: the whole file. Changes names of the module's kernels. */
const char *cuda_text(Module *module);

#endif
