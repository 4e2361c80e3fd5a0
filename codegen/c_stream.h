/* Streaming stores in C. */
#ifndef TSR_CODEGEN_C_STREAM_H
#define TSR_CODEGEN_C_STREAM_H

#include "codegen/c_kernel.h"

/* Writes a loop of a streaming store as a call. Requires: it is one (loop_streams). */
void c_stream_loop(KernelText *k, const Stmt *loop);
/* Behind the block of a function: lets other threads see what it has streamed. */
void c_stream_end(KernelText *k, Block block);
/* What a module needs for them, where it has any. */
void c_put_stream(FILE *out);

#endif
