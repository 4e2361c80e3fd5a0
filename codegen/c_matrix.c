/* Products of matrices (loops/matrix.h) in C: in the tiles of AMX where the compiler of the C may use them and
 * the system permits it when the code runs, else as the loops that they are.
 *
 *   if (tsr_tiles) {
 *           tsr_tile_shape(&tsr_tile_config, ...);              how many rows each tile has
 *           TSR_TILE_LOAD(0, &acc[0][0], 128); ...
 *           for (int64_t k = 0; k < 512; k += 32) {             the loops around the product, as they are
 *                   TSR_TILE_LOAD(4, &a[...], 1024); TSR_TILE_LOAD(6, &b[...], 128);
 *                   TSR_TILE_ADD("tdpbf16ps", 0, 4, 6); ...
 *           }
 *           TSR_TILE_STORE(0, &acc[0][0], 128); ...
 *   } else {
 *           for (int64_t k = 0; k < 512; k += 32) for r: for q: tsr_add_bf16_bf16(&acc[r][lane], ...);
 *   }
 *
 * Registers and their shapes (codegen/matrix_tiles.h) are lost in functions, so a function that has products
 * releases them where it ends, and before threads run its chunks.
 */
#include "codegen/c_matrix.h"

#include "codegen/matrix_tiles.h"
#include "loops/linear.h"

/* ---- places ---- */

static void fix_loops(KernelText *k, const MatrixProduct *m, int64_t row, int64_t word,
		      int64_t column)
{
	c_kernel_fix(k, m->rows->iter, row);
	c_kernel_fix(k, m->words->iter, word);
	c_kernel_fix(k, m->lanes->iter, column);
}

static const char *element_at(KernelText *k, const MatrixProduct *m, const Value *load, int64_t row,
			      int64_t column)
{
	const char *rows = k->iters[m->rows->iter], *words = k->iters[m->words->iter],
		   *lanes = k->iters[m->lanes->iter];
	fix_loops(k, m, row, 0, column);
	const char *text = load ? c_buffer_element(k, load->buffer, load->ix)
				: c_kernel_local(k, m->set->local, m->set->ixs, m->set->nixs);
	c_kernel_release(k, m->rows->iter, rows);
	c_kernel_release(k, m->words->iter, words);
	c_kernel_release(k, m->lanes->iter, lanes);
	return text;
}

/* How far the loop moves what is loaded: bytes. */
static const char *stride_of(KernelText *k, const Value *load, const Stmt *loop)
{
	Program *program = (Program *)k->m->program;
	Size stride = ix_stride(program, load->ix, loop->iter);
	Size bytes = size_const(program->sizes, dtype_bytes(load->dtype));
	return c_size(k->m, size_mul(program->sizes, stride, bytes));
}

/* ---- code ---- */

static void put_move(KernelText *k, const char *move, int tile, const char *element,
		     const char *stride)
{
	c_kernel_indent(k);
	fprintf(k->out, "%s(%d, &%s, %s);\n", move, tile, element, stride);
}

static void move_sums(KernelText *k, const MatrixProduct *m, const MatrixTiles *tiles,
		      const char *move)
{
	const KernelLocal *local = &k->kernel->locals[m->set->local];
	const char *stride =
		arena_printf(k->arena, "%d", (int)local->extent[1] * TILE_WORD_BYTES);
	for (int64_t i = 0; i < tiles->row_tiles; i++)
		for (int64_t j = 0; j < tiles->column_tiles; j++)
			put_move(k, move, tiles_sums(tiles, i, j),
				 element_at(k, m, NULL, i * tiles->tile_rows,
					    j * tiles->tile_columns),
				 stride);
}

static void put_shape(KernelText *k, const MatrixTiles *tiles)
{
	uint64_t words[TILE_CONFIG_WORDS];
	tiles_config(tiles, words);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_tile_shape(&tsr_tile_config, 0x%llxu, 0x%llxu, 0x%llxu);\n",
		(unsigned long long)tiles_shape(tiles), (unsigned long long)words[2],
		(unsigned long long)words[3]);
}

/* Each tile of rows meets all columns before the next one. */
void c_matrix_loop(KernelText *k, const Stmt *loop)
{
	MatrixProduct m;
	REQUIRE(matrix_product((Program *)k->m->program, loop, &m));
	MatrixTiles tiles = matrix_tiles(k->m->program->options.target, &m);
	const char *row_stride = stride_of(k, m.a, m.rows), *word_stride = stride_of(k, m.b, m.words);
	for (int64_t i = 0; i < tiles.row_tiles; i++) {
		put_move(k, "TSR_TILE_LOAD", tiles_rows(&tiles, i),
			 element_at(k, &m, m.a, i * tiles.tile_rows, 0), row_stride);
		for (int64_t j = 0; j < tiles.column_tiles; j++) {
			if (i == 0)
				put_move(k, "TSR_TILE_LOAD", tiles_columns(j),
					 element_at(k, &m, m.b, 0, j * tiles.tile_columns),
					 word_stride);
			c_kernel_indent(k);
			fprintf(k->out, "TSR_TILE_ADD(\"%s\", %d, %d, %d);\n", tiles_instruction(&m),
				tiles_sums(&tiles, i, j), tiles_rows(&tiles, i), tiles_columns(j));
		}
	}
}

bool c_matrix_fits(const KernelText *k, const Stmt *stmt)
{
	MatrixProduct m;
	return k->tiles && !k->tiles_open &&
	       matrix_only((Program *)k->m->program, stmt, matrix_fits_tiles, &m);
}

void c_matrix_stmt(KernelText *k, const Stmt *stmt, void (*code)(KernelText *, const Stmt *))
{
	MatrixProduct m;
	REQUIRE(matrix_only((Program *)k->m->program, stmt, matrix_fits_tiles, &m));
	MatrixTiles tiles = matrix_tiles(k->m->program->options.target, &m);
	k->tiles_open = true;
	c_kernel_count(k, NULL);
	c_kernel_indent(k);
	fprintf(k->out, "if (tsr_tiles) {\n");
	k->indent++;
	put_shape(k, &tiles);
	move_sums(k, &m, &tiles, "TSR_TILE_LOAD");
	k->tiles_used = true;
	code(k, stmt);
	k->tiles_used = false;
	move_sums(k, &m, &tiles, "TSR_TILE_STORE");
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "} else {\n");
	k->indent++;
	code(k, stmt);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
	k->tiles_open = false;
}

/* ---- functions ---- */

void c_matrix_begin(KernelText *k, Block block)
{
	k->tiles = !k->device && module_has_tiles(k->m) && block_has_matrix(block, false);
	if (k->tiles)
		fprintf(k->out, "\tconst int tsr_tiles = tsr_tiles_permitted();\n"
				"\tuint64_t tsr_tile_config = 0;\n");
}

void c_matrix_end(KernelText *k)
{
	if (!k->tiles)
		return;
	c_kernel_indent(k);
	fprintf(k->out, "tsr_tile_release(&tsr_tile_config);\n");
}

static const char tiles_text[] =
	"/* Products of matrices in tiles of AMX, registers of up to 16 rows of 64 bytes: where the compiler is told that\n"
	" * the processor has them (-march=sapphirerapids) and Linux permits them to the process; else in vectors. */\n"
	"#if defined __GNUC__ && defined __linux__ && defined __AMX_TILE__ && defined __AMX_BF16__ && defined __AMX_INT8__\n"
	"long syscall(long number, ...);\n\n"
	"static int tsr_tiles_permitted(void)\n{\n"
	"\tuint64_t mask = 0;\n"
	"\tsyscall(158, 0x1022, &mask); /* arch_prctl(ARCH_GET_XCOMP_PERM, &mask) */\n"
	"\treturn mask >> 18 & 1;\n}\n\n"
	"static int tsr_tiles_ask(void)\n{\n"
	"\tsyscall(158, 0x1023, 18); /* arch_prctl(ARCH_REQ_XCOMP_PERM, 18) */\n"
	"\treturn tsr_tiles_permitted();\n}\n\n"
	"/* The rows of each register, a byte each; the bytes of a row of registers 0 to 3, and of 4 to 7. */\n"
	"static inline void tsr_tile_shape(uint64_t *config, uint64_t rows, uint64_t low, uint64_t high)\n{\n"
	"\tconst uint64_t words[8] = {1, 0, low, high, 0, 0, rows, 0};\n"
	"\tif (*config != rows)\n"
	"\t\t__asm__ volatile(\"ldtilecfg (%%0)\" : : \"r\"(words) : \"memory\");\n"
	"\t*config = rows;\n}\n\n"
	"static inline void tsr_tile_release(uint64_t *config)\n{\n"
	"\tif (*config)\n\t\t__asm__ volatile(\"tilerelease\" : : : \"memory\");\n"
	"\t*config = 0;\n}\n\n"
	"/* Rows of a register lie `stride` bytes from each other. */\n"
	"#define TSR_TILE_LOAD(tile, at, stride) \\\n"
	"\t__asm__ volatile(\"tileloadd (%%0,%%1,1), %%%%tmm\" #tile : : \"r\"(at), \"r\"((int64_t)(stride)) : \"memory\")\n"
	"#define TSR_TILE_STORE(tile, at, stride) \\\n"
	"\t__asm__ volatile(\"tilestored %%%%tmm\" #tile \", (%%0,%%1,1)\" : : \"r\"(at), \"r\"((int64_t)(stride)) : \"memory\")\n"
	"/* sums += rows * columns */\n"
	"#define TSR_TILE_ADD(name, sums, rows, columns) \\\n"
	"\t__asm__ volatile(name \" %%%%tmm\" #columns \", %%%%tmm\" #rows \", %%%%tmm\" #sums : : : \"memory\")\n"
	"#else\n"
	"static int tsr_tiles_permitted(void) { return 0; }\n"
	"static int tsr_tiles_ask(void) { return 0; }\n"
	"static void tsr_tile_release(uint64_t *config) { (void)config; }\n"
	"#define tsr_tile_shape(config, rows, low, high) ((void)(config))\n"
	"#define TSR_TILE_LOAD(tile, at, stride) ((void)(at))\n"
	"#define TSR_TILE_STORE(tile, at, stride) ((void)(at))\n"
	"#define TSR_TILE_ADD(name, sums, rows, columns) ((void)0)\n"
	"#endif\n\n"
	"int %s_use_tiles(void) { return tsr_tiles_ask(); }\n"
	"#ifdef __GNUC__\n"
	"int tsr_use_tiles(void) __attribute__((weak, alias(\"%s_use_tiles\")));\n"
	"#endif\n\n";

void c_put_tiles(FILE *out, const Module *m)
{
	if (module_has_tiles(m))
		fprintf(out, tiles_text, m->prefix, m->prefix);
}
