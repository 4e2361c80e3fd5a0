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
/* The threads of a block on a CPU: behind the type tsr_call. */
extern const char cuda_host_text[];

/* cuda_kernel.c: functions of the GPU; `function` of a kernel is its name there. */
void cuda_put_kernels(FILE *out, const Module *module);
/* Launchers; their names, for the modules' kernels. */
const char *cuda_launcher(const Module *module, KernelId kernel);
void cuda_put_launchers(FILE *out, const Module *module);

/* cuda_plan.c: what a runtime does with the kernels, a comment line each:
 *
 *   plan     := "//tsr: plan 1" target dims line*
 *   target   := "//tsr: target" NAME
 *   dims     := "//tsr: dims" [NAME ("," NAME)*]
 *   line     := "//tsr: state" SIZE
 *            | "//tsr: param" NAME DTYPE SIZE "at" SIZE            elements, bytes from the state's start
 *            | "//tsr: const" NAME DTYPE NUMBER "symbol" NAME
 *            | "//tsr: routine" NAME "workspace" SIZE
 *            | "//tsr: in" NAME DTYPE SIZE | "//tsr: out" NAME DTYPE SIZE
 *            | "//tsr: temp" NAME DTYPE SIZE "at" SIZE
 *            | "//tsr: launch" FUNCTION "blocks" SIZE "threads" NUMBER "args" ARG ("," ARG)*
 *            | "//tsr: check" CODE TEXT
 *   ARG      := DIM | SCALAR | NAME ["+" SIZE]                      elements from the buffer's start
 *
 * Lines of a routine follow its own; launches are in order. SIZE is an expression over the dims.
 */
void cuda_put_plan(FILE *out, const Module *module);

/* emit_cuda.c: the whole file. Changes names of the module's kernels. */
const char *cuda_text(Module *module);

#endif
