/* Loops of a warp for a GPU.
 *
 *   local sums : f32 [2, 2 | 16, 8] accumulator of ...   float sums[2][2][TSR_PART(128)];
 *   warp i in 0..16                                        TSR_ELEMENTS(tsr_e, 128) {
 *     warp j in 0..8                                               const int64_t i = TSR_SUM_ROW(tsr_e, 8);
 *       y[i*n + j] = sums[a, b, i, j]                              const int64_t j = TSR_SUM_COLUMN(tsr_e, 8);
 *                                                                  y[i * n + j] = sums[a][b][tsr_e];
 *
 * Where a thread holds an element, and which, only the layer knows (cuda_matrix.cuh).
 */
#include "codegen/cuda_text.h"
#include "loops/fragment.h"

static uint32_t elements_of(const KernelLocal *local)
{
	return matrix_rows(local->matrix, local->role) * matrix_columns(local->matrix, local->role);
}

/* What a thread has of a matrix, as a C expression. */
static const char *part_of(const KernelText *k, const KernelLocal *local)
{
	return arena_printf(k->arena, fragment_is_paired(local) ? "TSR_PAIRS(%u)" : "TSR_PART(%u)",
			    elements_of(local));
}

/* ---- locals ---- */

void cuda_fragment_declare(KernelText *k, const Stmt *stmt)
{
	const KernelLocal *local = &k->kernel->locals[stmt->local];
	const char *name = k->locals[stmt->local], *first = name, *n = part_of(k, local);
	bool paired = fragment_is_paired(local);
	c_kernel_indent(k);
	fprintf(k->out, "%s %s", paired ? "uint32_t" : "float", name);
	for (uint32_t i = 0; i + 2 < local->rank; i++) {
		const char *axis = arena_printf(
			k->arena, i < local->nthreads ? "TSR_EACH(%u)" : "%u", local->extent[i]);
		fprintf(k->out, "[%s]", axis);
		n = arena_printf(k->arena, "%s * %s", n, axis);
		first = arena_printf(k->arena, "%s[0]", first);
	}
	fprintf(k->out, "[%s];\n", part_of(k, local));
	c_kernel_indent(k);
	fprintf(k->out, "TSR_UNROLL\n");
	c_kernel_indent(k);
	fprintf(k->out, "for (int64_t tsr_i = 0; tsr_i < %s; tsr_i++)\n", n);
	c_kernel_indent(k);
	fprintf(k->out, "\t(&%s[0])[tsr_i] = %s;\n", first,
		paired ? "0" : c_kernel_value(k, stmt->value));
}

void cuda_fragment_set(KernelText *k, const Stmt *stmt)
{
	const KernelLocal *local = &k->kernel->locals[stmt->local];
	const char *to = c_fragment_element(k, stmt->local, stmt->ixs, NULL);
	if (local->role == ROLE_ACCUMULATOR) {
		c_kernel_assign(k, to, stmt);
		return;
	}
	c_kernel_indent(k);
	fprintf(k->out, "%s = tsr_tf32(%s);\n", to, c_kernel_value(k, stmt->value));
}

/* ---- nests ---- */

static void put_place(KernelText *k, const WarpNest *nest, const Stmt *loop, const char *what)
{
	static const char *const roles[] = {
		[ROLE_A] = "A", [ROLE_B] = "B", [ROLE_ACCUMULATOR] = "SUM"};
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t %s = TSR_%s_%s(%s, %u)%s;\n", k->iters[loop->iter],
		roles[nest->role], what, C_FRAGMENT_ELEMENT, matrix_columns(nest->op, nest->role),
		nest->lanes && loop == nest->column ? " / 2" : "");
	c_kernel_indent(k);
	fprintf(k->out, "(void)%s;\n", k->iters[loop->iter]);
}

static void put_elements(KernelText *k, const WarpNest *nest)
{
	uint32_t n = matrix_rows(nest->op, nest->role) * matrix_columns(nest->op, nest->role);
	c_kernel_indent(k);
	fprintf(k->out, "TSR_ELEMENTS%s(%s, %u) {\n", nest->lanes ? "_TWO" : "", C_FRAGMENT_ELEMENT,
		n);
	k->indent++;
	put_place(k, nest, nest->row, "ROW");
	put_place(k, nest, nest->column, "COLUMN");
	c_kernel_block(k, nest->column->body);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

/* Of the statement's local the matrix `of` of a pair, or its first element. */
static const char *loaded_matrix(KernelText *k, const WarpNest *nest, const Stmt *set, int64_t of,
				 const char *element)
{
	const Ix **ixs = ARENA_ARRAY(k->arena, const Ix *, set->nixs);
	for (uint32_t i = 0; i < set->nixs; i++)
		ixs[i] = i + 3 == set->nixs
				 ? warp_load_index((Program *)k->m->program, nest, set->ixs[i], of)
				 : set->ixs[i];
	return c_fragment_element(k, set->local, ixs, element);
}

/* The call up to what is loaded: tsr_load_two_b_turned(&b[0][0], &b[1][0] */
static void put_load_call(KernelText *k, const WarpNest *nest, const char *const *matrices,
			  const char *suffix)
{
	c_kernel_indent(k);
	fprintf(k->out, "tsr_load_%s%s%s(%s%s%s, &%s, %lld", nest->pair ? "two_" : "",
		nest->role == ROLE_A ? "a" : "b", suffix, matrices[0], nest->pair ? ", " : "",
		nest->pair ? matrices[1] : "", c_buffer_element(k, nest->buffer, nest->from),
		(long long)nest->pitch);
	if (nest->pair)
		fprintf(k->out, ", %lld", (long long)nest->next);
	fprintf(k->out, ");\n");
}

static const char *address_of(KernelText *k, const char *element)
{
	return arena_printf(k->arena, "&%s", element);
}

/* The elements of a matrix of tf32 from those of f32 that were loaded. */
static void put_rounded(KernelText *k, const WarpNest *nest, int64_t of)
{
	uint32_t n = matrix_rows(nest->op, nest->role) * matrix_columns(nest->op, nest->role);
	const char *to = loaded_matrix(k, nest, nest->set, of, NULL);
	c_kernel_indent(k);
	fprintf(k->out, "TSR_ELEMENTS(%s, %u) {\n", C_FRAGMENT_ELEMENT, n);
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "%s = tsr_tf32(tsr_loaded[%d][%s]);\n", to, (int)of, C_FRAGMENT_ELEMENT);
	if (nest->rest) {
		c_kernel_indent(k);
		fprintf(k->out, "%s = tsr_tf32(tsr_loaded[%d][%s] - %s);\n",
			loaded_matrix(k, nest, nest->rest, of, NULL), (int)of, C_FRAGMENT_ELEMENT,
			to);
	}
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

static void put_load_tf32(KernelText *k, const WarpNest *nest)
{
	uint32_t n = matrix_rows(nest->op, nest->role) * matrix_columns(nest->op, nest->role);
	c_kernel_indent(k);
	fprintf(k->out, "{\n");
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "float tsr_loaded[%d][TSR_PART(%u)];\n", nest->pair ? 2 : 1, n);
	put_load_call(k, nest, (const char *[]){"tsr_loaded[0]", "tsr_loaded[1]"}, "_tf32");
	for (int64_t of = 0; of < (nest->pair ? 2 : 1); of++)
		put_rounded(k, nest, of);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

static void put_load(KernelText *k, const WarpNest *nest)
{
	if (matrix_row(nest->op)->format == FORMAT_TF32) {
		put_load_tf32(k, nest);
		return;
	}
	const char *matrices[2];
	for (int64_t of = 0; of < 2; of++)
		matrices[of] = address_of(k, loaded_matrix(k, nest, nest->set, of, "0"));
	put_load_call(k, nest, matrices, nest->along_k ? "" : "_turned");
}

static void put_product(KernelText *k, const WarpNest *nest)
{
	const Value *const *args = nest->set->value->args;
	const char *matrices[] = {c_fragment_element(k, nest->set->local, nest->set->ixs, "0"),
				  c_fragment_element(k, args[0]->local, args[0]->ixs, "0"),
				  c_fragment_element(k, args[1]->local, args[1]->ixs, "0")};
	c_kernel_indent(k);
	fprintf(k->out, "tsr_%s(&%s, &%s, &%s);\n", matrix_row(nest->op)->text, matrices[0],
		matrices[1], matrices[2]);
}

void cuda_warp_loop(KernelText *k, const Stmt *loop)
{
	WarpNest nest;
	const char *rule = warp_nest((Program *)k->m->program, k->kernel, NULL, loop, &nest);
	if (rule)
		BUG("kernel %s: %s", k->kernel->name, rule);
	switch (nest.kind) {
	case NEST_ELEMENTS: put_elements(k, &nest); break;
	case NEST_LOAD: put_load(k, &nest); break;
	case NEST_PRODUCT: put_product(k, &nest); break;
	}
}
