/* Products of matrices in C, in tiles of AMX. */
#ifndef TSR_CODEGEN_C_MATRIX_H
#define TSR_CODEGEN_C_MATRIX_H

#include "codegen/c_kernel.h"

/* Does the statement hold nothing but products of matrices, and may the function use tiles? */
bool c_matrix_fits(const KernelText *k, const Stmt *stmt);
/* Writes it in tiles, and without, as `code` writes it. Requires that it fits. */
void c_matrix_stmt(KernelText *k, const Stmt *stmt, void (*code)(KernelText *, const Stmt *));
/* One LOOP_MATRIX, whose sums are in tiles. Requires: a product that fits (c_matrix_fits). */
void c_matrix_loop(KernelText *k, const Stmt *loop);
/* Around the block of a function: its variables; tiles are released. */
void c_matrix_begin(KernelText *k, Block block);
void c_matrix_end(KernelText *k);
/* What a module needs for them, where it has such products. */
void c_put_tiles(FILE *out, const Module *module);

#endif
