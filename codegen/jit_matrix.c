/* Products of matrices (loops/matrix.h) in the tiles of AMX, where the processor has them and the system
 * allows it when the code runs; else as the loops that they are.
 *
 *   if tiles_ok()
 *     if config != 34: ldtilecfg; config = 34           how many rows each tile has
 *     tileloadd acc[0.., 0..] -> tmm0, acc[0.., 16..] -> tmm1, ...
 *     for k in 0..512 step 32                           the loops around the product, as they are
 *       tileloadd a[..] -> tmm4; tileloadd b[..] -> tmm6; tdpbf16ps tmm6, tmm4, tmm0; ...
 *     tilestored tmm0 -> acc[0.., 0..], ...
 *   else
 *     for k in 0..512 step 32: for r: unroll q: vector lane: acc[r, lane] += ...
 *
 * Registers and their shapes (codegen/matrix_tiles.h) are lost in functions, so a function that has
 * products releases them when it ends, and one that calls another one sets them again.
 */
#include "codegen/jit_function.h"
#include "codegen/jit_kernel.h"
#include "codegen/matrix_tiles.h"

/* ---- instructions ---- */

/* An instruction with up to two operands in registers, which reads or writes memory. */
static void instruction(KernelJit *k, const char *code, Rvalue *a, Rvalue *b)
{
	gcc_jit_extended_asm *line =
		gcc_jit_block_add_extended_asm(k->f.block, k->f.location, code);
	gcc_jit_extended_asm_set_volatile_flag(line, 1);
	if (a)
		gcc_jit_extended_asm_add_input_operand(line, NULL, "r", a);
	if (b)
		gcc_jit_extended_asm_add_input_operand(line, NULL, "r", b);
	gcc_jit_extended_asm_add_clobber(line, "memory");
}

static Rvalue *number_of(KernelJit *k, Rvalue *pointer)
{
	Jit *jit = k->f.jit;
	return jit_keep(&k->f, gcc_jit_context_new_bitcast(jit->ctxt, k->f.location, pointer,
							   jit->u64));
}

static Rvalue *address_of(KernelJit *k, Lvalue *element)
{
	return jit_keep(&k->f, gcc_jit_lvalue_get_address(element, NULL));
}

/* Rows that lie `stride` bytes apart. */
static void load_tile(KernelJit *k, int tile, Rvalue *address, Rvalue *stride)
{
	const char *code =
		arena_printf(k->f.jit->arena, "tileloadd (%%0,%%1,1), %%%%tmm%d", tile);
	instruction(k, code, address, stride);
}

static void store_tile(KernelJit *k, int tile, Rvalue *address, Rvalue *stride)
{
	const char *code =
		arena_printf(k->f.jit->arena, "tilestored %%%%tmm%d, (%%0,%%1,1)", tile);
	instruction(k, code, address, stride);
}

/* ---- places ---- */

static void fix(KernelJit *k, const Stmt *loop, int64_t at)
{
	k->fixed[loop->iter] = true;
	k->at[loop->iter] = at;
}

static void fix_loops(KernelJit *k, const MatrixProduct *m, int64_t row, int64_t word,
		      int64_t column)
{
	fix(k, m->rows, row);
	fix(k, m->words, word);
	fix(k, m->lanes, column);
}

static void free_loops(KernelJit *k, const MatrixProduct *m)
{
	k->fixed[m->rows->iter] = k->fixed[m->words->iter] = k->fixed[m->lanes->iter] = false;
}

static Rvalue *load_address(KernelJit *k, const MatrixProduct *m, const Value *load, int64_t row,
			    int64_t word, int64_t column)
{
	fix_loops(k, m, row, word, column);
	Rvalue *address = address_of(k, jit_buffer_element(k, load->buffer, load->ix));
	free_loops(k, m);
	return address;
}

static Rvalue *sum_address(KernelJit *k, const MatrixProduct *m, int64_t row, int64_t column)
{
	fix_loops(k, m, row, 0, column);
	const Stmt *set = m->set;
	Rvalue *address = address_of(k, jit_kernel_element(k, set->local, set->ixs, set->nixs));
	free_loops(k, m);
	return address;
}

static Rvalue *distance(KernelJit *k, Rvalue *from, Rvalue *to)
{
	return jit_keep(&k->f, jit_binary(&k->f, GCC_JIT_BINARY_OP_MINUS, number_of(k, to),
					  number_of(k, from)));
}

/* ---- configurations ---- */

static void put_config(KernelJit *k, const MatrixTiles *tiles)
{
	Jit *jit = k->f.jit;
	uint64_t words[TILE_CONFIG_WORDS];
	tiles_config(tiles, words);
	Type *type = gcc_jit_context_new_array_type(jit->ctxt, NULL, jit->u64, TILE_CONFIG_WORDS);
	Lvalue *config = jit_local(&k->f, type, "config_words");
	for (int i = 0; i < TILE_CONFIG_WORDS; i++) {
		Lvalue *word = gcc_jit_context_new_array_access(jit->ctxt, k->f.location,
								gcc_jit_lvalue_as_rvalue(config),
								jit_long(jit, jit->i64, i));
		jit_set(&k->f, word, jit_long(jit, jit->u64, (int64_t)words[i]));
	}
	instruction(k, "ldtilecfg (%0)", address_of(k, config), NULL);
}

static void configure(KernelJit *k, const MatrixTiles *tiles)
{
	Jit *jit = k->f.jit;
	Rvalue *wanted = jit_long(jit, jit->u64, (int64_t)tiles_shape(tiles));
	Rvalue *now = gcc_jit_lvalue_as_rvalue(k->tiles.config);
	JitBlock *same = jit_if(&k->f, jit_compare(&k->f, GCC_JIT_COMPARISON_NE, now, wanted));
	put_config(k, tiles);
	jit_set(&k->f, k->tiles.config, wanted);
	jit_end_if(&k->f, same);
}

/* ---- code ---- */

static void move_sums(KernelJit *k, const MatrixProduct *m, const MatrixTiles *tiles,
		      void (*move)(KernelJit *, int, Rvalue *, Rvalue *))
{
	const KernelLocal *local = &k->kernel->locals[m->set->local];
	int64_t bytes = (int64_t)local->extent[1] * TILE_WORD_BYTES;
	Rvalue *stride = jit_long(k->f.jit, k->f.jit->i64, bytes);
	for (int64_t i = 0; i < tiles->row_tiles; i++)
		for (int64_t j = 0; j < tiles->column_tiles; j++)
			move(k, tiles_sums(tiles, i, j),
			     sum_address(k, m, i * tiles->tile_rows, j * tiles->tile_columns),
			     stride);
}

/* sums += rows * columns */
static void multiply(KernelJit *k, const char *name, int sums, int rows, int columns)
{
	const char *code = arena_printf(k->f.jit->arena, "%s %%%%tmm%d, %%%%tmm%d, %%%%tmm%d",
					name, columns, rows, sums);
	instruction(k, code, NULL, NULL);
}

/* Each tile of rows meets all columns before the next one. */
void jit_matrix_loop(KernelJit *k, const Stmt *loop)
{
	MatrixProduct m;
	REQUIRE(matrix_product((Program *)k->program, loop, &m));
	MatrixTiles tiles = matrix_tiles(k->f.jit->target, &m);
	Rvalue *a = load_address(k, &m, m.a, 0, 0, 0), *b = load_address(k, &m, m.b, 0, 0, 0);
	Rvalue *row_stride =
		distance(k, a, load_address(k, &m, m.a, 1, 0, 0)); /* of one row: not used */
	Rvalue *word_stride = distance(k, b, load_address(k, &m, m.b, 0, 1, 0));
	for (int64_t i = 0; i < tiles.row_tiles; i++) {
		load_tile(k, tiles_rows(&tiles, i),
			  load_address(k, &m, m.a, i * tiles.tile_rows, 0, 0), row_stride);
		for (int64_t j = 0; j < tiles.column_tiles; j++) {
			if (i == 0)
				load_tile(k, tiles_columns(j),
					  load_address(k, &m, m.b, 0, 0, j * tiles.tile_columns),
					  word_stride);
			multiply(k, tiles_instruction(&m), tiles_sums(&tiles, i, j),
				 tiles_rows(&tiles, i), tiles_columns(j));
		}
	}
}

bool jit_matrix_stmt(KernelJit *k, const Stmt *stmt, void (*code)(KernelJit *, const Stmt *))
{
	MatrixProduct m;
	if (!k->tiles.ok || k->tiles.open ||
	    !matrix_only((Program *)k->program, stmt, matrix_fits_tiles, &m))
		return false;
	Jit *jit = k->f.jit;
	MatrixTiles tiles = matrix_tiles(jit->target, &m);
	Rvalue *ok = gcc_jit_lvalue_as_rvalue(k->tiles.ok), *zero = jit_long(jit, jit->int_, 0);
	k->tiles.open = true;
	jit_kernel_forget(k);
	JitBlock *after = jit_if(&k->f, jit_compare(&k->f, GCC_JIT_COMPARISON_NE, ok, zero));
	configure(k, &tiles);
	move_sums(k, &m, &tiles, load_tile);
	k->tiles.used = true;
	code(k, stmt);
	k->tiles.used = false;
	move_sums(k, &m, &tiles, store_tile);
	jit_kernel_forget(k);
	jit_end_if(&k->f, after);
	after = jit_if(&k->f, jit_compare(&k->f, GCC_JIT_COMPARISON_EQ, ok, zero));
	code(k, stmt);
	jit_kernel_forget(k);
	jit_end_if(&k->f, after);
	k->tiles.open = false;
	return true;
}

/* ---- functions ---- */

bool jit_needs_tiles(const Jit *jit, Block block)
{
	return jit->extras & (CPU_TILES_BF16 | CPU_TILES_INT8) && block_has_matrix(block, false);
}

void jit_tiles_begin(KernelJit *k, Block block)
{
	Jit *jit = k->f.jit;
	if (!jit_needs_tiles(jit, block))
		return;
	const char *name = arena_printf(jit->arena, "%s__tiles_ok", jit->module->prefix);
	gcc_jit_function *ask = jit_import(jit, jit->int_, name, NULL, 0);
	k->tiles.ok = jit_local(&k->f, jit->int_, "tiles_ok");
	k->tiles.config = jit_local(&k->f, jit->u64, "tile_config");
	jit_set(&k->f, k->tiles.ok,
		k->tiles.given ? k->tiles.given : jit_call(&k->f, ask, NULL, 0));
	jit_tiles_forget(k);
}

void jit_tiles_forget(KernelJit *k)
{
	if (k->tiles.ok)
		jit_set(&k->f, k->tiles.config, jit_long(k->f.jit, k->f.jit->u64, 0));
}

void jit_tiles_end(KernelJit *k)
{
	Jit *jit = k->f.jit;
	if (!k->tiles.ok)
		return;
	Rvalue *now = gcc_jit_lvalue_as_rvalue(k->tiles.config);
	JitBlock *none = jit_if(&k->f, jit_compare(&k->f, GCC_JIT_COMPARISON_NE, now,
						   jit_long(jit, jit->u64, 0)));
	instruction(k, "tilerelease", NULL, NULL);
	jit_end_if(&k->f, none);
}
