/* Lanes that are no neighbours, in C.
 *
 * Strided elements of a buffer or of a local in memory: a vector of such elements.
 *
 *   vector lane in 0..16: y[lane] = x[lane*2]         TSR_STRIDED_16(tsr_f32x16, &x[0], 2)
 *
 * Along the first axis of a square: vectors of its transpose (c_lanes_columns.c).
 *
 *   vector lane in 0..16: y[lane] = square[lane, r]   *(tsr_f32x16 *)&square_columns[r][lane]
 *
 * At indices of their own, in a local: lanes and the iterators around them are written out as
 * numbers, so that each lane is known. Those of one or two vectors are a shuffle.
 *
 *   vector lane in 0..16: sum[q, lane] = part[q*2 + lane/8, lane%8] + ...
 *
 *   *(tsr_f32x16 *)&sum[1][0] = __builtin_shufflevector(*(tsr_f32x16 *)&part[2][0],
 *           *(tsr_f32x16 *)&part[3][0], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) + ...
 */
#include "codegen/c_lanes.h"

#include "loops/linear.h"
#include "loops/walk.h"
#include "loops/work.h"

/* ---- where lanes are ---- */

/* How far apart the elements of two lanes are; false: not equally far. */
static bool strided_in_buffer(const LanesText *l, const Ix *ix, int64_t *stride)
{
	Program *program = (Program *)l->k->m->program;
	return size_is_const(program->sizes, ix_stride(program, ix, l->loop->iter), stride);
}

static bool strided_in_local(const LanesText *l, LocalId local, const Ix *const *ixs, uint32_t nixs,
			     int64_t *stride)
{
	const KernelLocal *of = &l->k->kernel->locals[local];
	int64_t step;
	*stride = 0;
	for (uint32_t i = 0; i < nixs; i++) {
		if (!strided_in_buffer(l, ixs[i], &step))
			return false;
		*stride = *stride * of->extent[i] + step;
	}
	return true;
}

LanesPlace c_lanes_of_buffer(const LanesText *l, BufferId buffer, const Ix *ix)
{
	int64_t stride;
	if (dtype_is_packed(l->k->m->program->buffers.at[buffer].dtype) ||
	    !strided_in_buffer(l, ix, &stride) || stride == 0)
		return PLACE_NOWHERE;
	return stride == 1 ? PLACE_NEIGHBOURS : PLACE_STRIDED;
}

LanesPlace c_lanes_of_local(const LanesText *l, LocalId local, const Ix *const *ixs, uint32_t nixs)
{
	int64_t stride;
	if (c_lanes_is_column(l->k, l->loop, local, ixs, nixs))
		return PLACE_COLUMN;
	if (!strided_in_local(l, local, ixs, nixs, &stride))
		return PLACE_ANYWHERE;
	return stride == 1 ? PLACE_NEIGHBOURS : PLACE_STRIDED;
}

/* ---- iterators that are numbers ---- */

void c_put_written_out(KernelText *k, const Stmt *loop)
{
	const char *name = k->iters[loop->iter];
	int64_t lo = 0, n = constant_trips(k->m->program, loop);
	REQUIRE(loop->lo->kind == IX_SIZE &&
		size_is_const(k->m->program->sizes, loop->lo->size, &lo));
	for (int64_t i = 0; i < n; i++) {
		c_kernel_fix(k, loop->iter, lo + i * loop->step);
		c_kernel_open(k, loop->body);
		c_kernel_block(k, loop->body);
		c_kernel_close(k, loop->body);
	}
	c_kernel_release(k, loop->iter, name);
}

static bool is_anywhere(const LanesText *l, const Value *value, IterVar iter)
{
	bool used = iter == l->loop->iter;
	for (uint32_t i = 0; i < value->nixs; i++)
		used |= ix_uses(value->ixs[i], iter);
	bool is = value->kind == VALUE_LOCAL && value->nixs && used &&
		  c_lanes_of_local(l, value->local, value->ixs, value->nixs) == PLACE_ANYWHERE;
	for (uint32_t i = 0; i < value->nargs && !is; i++)
		is = is_anywhere(l, value->args[i], iter);
	return is;
}

bool c_lanes_anywhere(const LanesText *l, IterVar iter)
{
	for (uint32_t i = 0; i < l->loop->body.n; i++)
		if (is_anywhere(l, l->loop->body.stmts[i]->value, iter))
			return true;
	return false;
}

/* Is the index known? */
static bool find_ix(const KernelText *k, const Ix *ix, int64_t *at)
{
	int64_t a, b;
	if (ix->kind == IX_SIZE)
		return size_is_const(k->m->program->sizes, ix->size, at);
	if (ix->kind == IX_ITER) {
		*at = k->at[ix->iter];
		return k->fixed[ix->iter];
	}
	if (ix->kind == IX_VALUE || !find_ix(k, ix->a, &a) || !find_ix(k, ix->b, &b))
		return false;
	switch (ix->kind) {
	case IX_ADD: *at = a + b; return true;
	case IX_MUL: *at = a * b; return true;
	case IX_DIV: *at = b > 0 ? a / b : 0; return a >= 0 && b > 0;
	case IX_MOD: *at = b > 0 ? a % b : 0; return a >= 0 && b > 0;
	default: return false;
	}
}

/* ---- lanes at indices of their own ---- */

enum { SHUFFLED_MOST = 8 };

typedef struct Elements {
	LanesText *l;
	const Value *value;
	int64_t at[C_LANES_MOST]; /* in the order of memory */
	int64_t width;		  /* of the last axis */
} Elements;

static bool find_element(const Elements *e, int64_t *at)
{
	const KernelText *k = e->l->k;
	const KernelLocal *local = &k->kernel->locals[e->value->local];
	int64_t here;
	*at = 0;
	for (uint32_t i = 0; i < e->value->nixs; i++) {
		if (!find_ix(k, e->value->ixs[i], &here))
			return false;
		*at = *at * local->extent[i] + here;
	}
	return true;
}

static bool find_elements(Elements *e)
{
	LanesText *l = e->l;
	KernelText *k = l->k;
	int64_t first = k->at[l->loop->iter];
	bool known = true;
	for (int i = 0; i < l->lanes && known; i++) {
		k->at[l->loop->iter] = first + i;
		known = find_element(e, &e->at[i]);
	}
	k->at[l->loop->iter] = first;
	return known;
}

/* The element as "part[3][8]". */
static const char *element_text(const Elements *e, int64_t at)
{
	const KernelText *k = e->l->k;
	const KernelLocal *local = &k->kernel->locals[e->value->local];
	const char *indices = "";
	for (uint32_t i = local->rank; i-- > 0; at /= local->extent[i])
		indices = arena_printf(k->arena, "[%lld]%s", (long long)(at % local->extent[i]),
				       indices);
	return arena_printf(k->arena, "%s%s", k->locals[e->value->local], indices);
}

static const char *vector_at(const Elements *e, int64_t at)
{
	return arena_printf(e->l->k->arena, "*(%s *)&%s", e->l->type, element_text(e, at));
}

/* The vectors of memory that all lanes are of, in the order of the first lane; 0: there are too many. */
static int find_vectors(const Elements *e, int64_t *vectors)
{
	int lanes = e->l->lanes, n = 0;
	if (e->width % lanes != 0)
		return 0;
	for (int i = 0; i < lanes; i++) {
		int v = 0;
		while (v < n && vectors[v] != e->at[i] / lanes)
			v++;
		if (v == SHUFFLED_MOST)
			return 0;
		vectors[v] = e->at[i] / lanes;
		n += v == n;
	}
	return n;
}

/* Lanes of the first two vectors, then with those of each further one. */
static const char *shuffle_text(const Elements *e, const int64_t *vectors, int n)
{
	Arena *arena = e->l->k->arena;
	int lanes = e->l->lanes;
	const char *text = vector_at(e, vectors[0] * lanes);
	for (int v = 1; v < n || v == 1; v++) {
		const char *next = vector_at(e, vectors[v < n ? v : 0] * lanes);
		text = arena_printf(arena, "__builtin_shufflevector(%s, %s", text, next);
		for (int i = 0; i < lanes; i++) {
			bool here = v < n && e->at[i] / lanes == vectors[v];
			int lane = here || v == 1 ? (int)(e->at[i] % lanes) : i;
			text = arena_printf(arena, "%s, %d", text, lane + (here ? lanes : 0));
		}
		text = arena_printf(arena, "%s)", text);
	}
	return text;
}

/* Each by its indices: `lane + 3` in place of `lane`. */
static const char *list_text(const Elements *e)
{
	LanesText *l = e->l;
	KernelText *k = l->k;
	const char *name = k->iters[l->loop->iter],
		   *text = arena_printf(k->arena, "(%s){", l->type);
	for (int i = 0; i < l->lanes; i++) {
		k->iters[l->loop->iter] = arena_printf(k->arena, "(%s + %d)", name, i);
		text = arena_printf(
			k->arena, "%s%s%s", text, i ? ", " : "",
			c_kernel_local(k, e->value->local, e->value->ixs, e->value->nixs));
	}
	k->iters[l->loop->iter] = name;
	return arena_printf(k->arena, "%s}", text);
}

static const char *anywhere(LanesText *l, const Value *value)
{
	const KernelLocal *local = &l->k->kernel->locals[value->local];
	Elements e = {.l = l, .value = value, .width = local->extent[local->rank - 1]};
	int64_t vectors[SHUFFLED_MOST];
	int n = find_elements(&e) ? find_vectors(&e, vectors) : 0;
	return n ? shuffle_text(&e, vectors, n) : list_text(&e);
}

/* ---- strided elements ---- */

static const char *strided_text(LanesText *l, const char *element, int64_t stride)
{
	KernelText *k = l->k;
	k->m->c_vectors->strided |= (uint64_t)1 << l->lanes;
	return arena_printf(k->arena, "TSR_STRIDED_%d(%s, &%s, %lld)", l->lanes, l->type, element,
			    (long long)stride);
}

const char *c_lanes_load(LanesText *l, const Value *value)
{
	int64_t stride;
	REQUIRE(strided_in_buffer(l, value->ix, &stride));
	return strided_text(l, c_buffer_element(l->k, value->buffer, value->ix), stride);
}

const char *c_lanes_local(LanesText *l, const Value *value)
{
	KernelText *k = l->k;
	int64_t stride;
	switch (c_lanes_of_local(l, value->local, value->ixs, value->nixs)) {
	case PLACE_COLUMN:
		return arena_printf(k->arena, "*(%s *)&%s[%s][%s]", l->type,
				    k->columns[value->local], c_kernel_ix(k, value->ixs[1]),
				    c_kernel_ix(k, value->ixs[0]));
	case PLACE_STRIDED:
		REQUIRE(strided_in_local(l, value->local, value->ixs, value->nixs, &stride));
		return strided_text(l, c_kernel_local(k, value->local, value->ixs, value->nixs),
				    stride);
	default: return anywhere(l, value);
	}
}

void c_lanes_store(LanesText *l, const Stmt *stmt, const char *value)
{
	KernelText *k = l->k;
	const char *lane = k->iters[l->loop->iter];
	c_put_unroll(k, l->lanes);
	c_kernel_indent(k);
	fprintf(k->out, "for (int tsr_i = 0; tsr_i < %d; tsr_i++)\n", l->lanes);
	k->iters[l->loop->iter] = arena_printf(k->arena, "(%s + tsr_i)", lane);
	c_kernel_indent(k);
	fprintf(k->out, "\t%s = (%s)[tsr_i];\n", c_buffer_element(k, stmt->buffer, stmt->ix),
		value);
	k->iters[l->loop->iter] = lane;
}
