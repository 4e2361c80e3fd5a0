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
	fprintf(k->out, "const int64_t %s = TSR_%s_%s(%s, %u);\n", k->iters[loop->iter],
		roles[nest->role], what, C_FRAGMENT_ELEMENT, matrix_columns(nest->op, nest->role));
	c_kernel_indent(k);
	fprintf(k->out, "(void)%s;\n", k->iters[loop->iter]);
}

static void put_elements(KernelText *k, const WarpNest *nest)
{
	uint32_t n = matrix_rows(nest->op, nest->role) * matrix_columns(nest->op, nest->role);
	c_kernel_indent(k);
	fprintf(k->out, "TSR_ELEMENTS(%s, %u) {\n", C_FRAGMENT_ELEMENT, n);
	k->indent++;
	put_place(k, nest, nest->row, "ROW");
	put_place(k, nest, nest->column, "COLUMN");
	c_kernel_block(k, nest->column->body);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

static void put_load(KernelText *k, const WarpNest *nest)
{
	c_kernel_indent(k);
	fprintf(k->out, "tsr_load_%s%s(&%s, &%s, %lld);\n", nest->role == ROLE_A ? "a" : "b",
		nest->along_k ? "" : "_turned",
		c_fragment_element(k, nest->set->local, nest->set->ixs, "0"),
		c_buffer_element(k, nest->buffer, nest->from), (long long)nest->pitch);
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
