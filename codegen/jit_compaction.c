/* Loops that move elements to the ends of lists, by whole vectors: each has a function, so that what it needs is in registers.
 *
 *   int64_t PREFIX__p_NAME_compact0(char *from, int64_t n, int64_t at, char *to, int64_t last, int64_t *lists, a, b, ...)
 *     t = 0
 *     while (t + LANES <= n)
 *       item = from[t..]; a mask for each list: its comparisons of all lanes
 *       after[list] = lists[list] + the bits of its mask
 *       if (a list would reach into the next one, the last one beyond `last`, or any into from[t..]) break
 *       of each list: the lanes of its mask to to[lists[list]..]; lists[list] = after[list]
 *       t += LANES
 *     return t
 *
 * `at` is where `from` is in `to`, where both are of one buffer. Where nothing overlaps, the order of the lists' stores does not
 * matter, so that memory is as the loop leaves it. Lists that stand in another order in memory are left to the loop itself.
 */
#include "codegen/jit_compaction.h"

#include "codegen/jit_simd.h"
#include "loops/walk.h"

typedef struct Compact {
	JitFunction f;
	Compaction is;
	SimdType type;
	Rvalue *item, *bounds[COMPACT_COMPARISONS], *masks[COMPACT_COMPARISONS];
	Lvalue *lists[COMPACT_LISTS];
	JitLoop loop;
} Compact;

static int64_t lanes_of(const Compact *c) { return INT64_C(1) << c->type.log; }

static Rvalue *number(const Compact *c, int64_t n) { return jit_long(c->f.jit, c->f.jit->i64, n); }

static Rvalue *plus(Compact *c, Rvalue *a, Rvalue *b)
{
	return jit_keep(&c->f, jit_binary(&c->f, GCC_JIT_BINARY_OP_PLUS, a, b));
}

static Rvalue *read(Lvalue *variable) { return gcc_jit_lvalue_as_rvalue(variable); }

/* ---- one vector ---- */

static Lvalue *element(Compact *c, size_t array, Rvalue *at)
{
	Jit *jit = c->f.jit;
	Rvalue *bytes = jit_binary(&c->f, GCC_JIT_BINARY_OP_MULT, at,
				   number(c, (int64_t)dtype_bytes(c->type.dtype)));
	Type *pointer = gcc_jit_type_get_pointer(jit->types[c->type.dtype]);
	Rvalue *to = jit_offset(&c->f, jit_param(&c->f, array), bytes, pointer);
	return gcc_jit_rvalue_dereference(jit_keep(&c->f, to), NULL);
}

/* What is `ahead` bytes behind; 0: nothing. */
static void prefetch(Compact *c, size_t array, Rvalue *at, int64_t ahead)
{
	if (ahead)
		simd_prefetch(
			&c->f,
			element(c, array,
				plus(c, at,
				     number(c, ahead / (int64_t)dtype_bytes(c->type.dtype)))));
}

static void compare_item(Compact *c)
{
	static const enum gcc_jit_comparison ops[OP_COUNT] = {[OP_LT] = GCC_JIT_COMPARISON_LT,
							      [OP_LE] = GCC_JIT_COMPARISON_LE,
							      [OP_GT] = GCC_JIT_COMPARISON_GT,
							      [OP_GE] = GCC_JIT_COMPARISON_GE,
							      [OP_EQ] = GCC_JIT_COMPARISON_EQ};
	for (uint32_t i = 0; i < c->is.ncompared; i++) {
		bool first = c->is.compared[i].item_first;
		c->masks[i] = simd_compare(&c->f, c->type, ops[c->is.compared[i].value->op],
					   first ? c->item : c->bounds[i],
					   first ? c->bounds[i] : c->item);
	}
}

static Rvalue *list_mask(Compact *c, const CompactList *list)
{
	Jit *jit = c->f.jit;
	Rvalue *mask = jit_long(jit, jit->u32, (INT64_C(1) << lanes_of(c)) - 1);
	for (uint32_t i = 0; i < list->nconds; i++) {
		Rvalue *one = c->masks[list->is[i]];
		mask = i == 0 && list->holds[i] ? one
						: simd_mask_and(&c->f, one, list->holds[i], mask);
	}
	return mask;
}

/* Where a list ends when it has the lanes of the mask, too. */
static Rvalue *end_after(Compact *c, uint32_t list, Rvalue *mask)
{
	Jit *jit = c->f.jit;
	gcc_jit_function *count = jit_builtin(jit, "popcount");
	Rvalue *param = gcc_jit_param_as_rvalue(gcc_jit_function_get_param(count, 0));
	mask = jit_cast(jit, mask, gcc_jit_rvalue_get_type(param));
	Rvalue *n = jit_cast(jit, jit_call(&c->f, count, &mask, 1), jit->i64);
	return plus(c, read(c->lists[list]), n);
}

/* Leaves the loop where the condition does not hold. */
static void leave_unless(Compact *c, Rvalue *cond)
{
	JitBlock *stop = jit_if(&c->f, cond), *good = c->f.block;
	c->f.block = stop;
	gcc_jit_block_end_with_jump(stop, NULL, c->loop.after);
	c->f.block = good;
}

/* ... where a list would reach into another one or into what is read; the loop stores at 0 what would be before. */
static void leave_if_met(Compact *c, Rvalue *const *after)
{
	JitFunction *f = &c->f;
	uint32_t last = c->is.nlists - 1;
	leave_unless(c, jit_compare(f, GCC_JIT_COMPARISON_GE, read(c->lists[0]), number(c, 0)));
	for (uint32_t i = 0; i < last; i++)
		leave_unless(
			c, jit_compare(f, GCC_JIT_COMPARISON_LE, after[i], read(c->lists[i + 1])));
	leave_unless(
		c, jit_compare(f, GCC_JIT_COMPARISON_LE, after[last], jit_param(f, COMPACT_LAST)));
	if (c->is.load->buffer != c->is.to)
		return;
	Rvalue *at = plus(c, jit_param(f, COMPACT_AT), read(c->loop.i));
	Rvalue *before = jit_compare(f, GCC_JIT_COMPARISON_LE, after[last], at);
	Rvalue *behind = jit_compare(f, GCC_JIT_COMPARISON_LE, plus(c, at, number(c, lanes_of(c))),
				     read(c->lists[0]));
	leave_unless(c, jit_binary(f, GCC_JIT_BINARY_OP_LOGICAL_OR, before, behind));
}

static void vector(Compact *c)
{
	Rvalue *masks[COMPACT_LISTS], *after[COMPACT_LISTS];
	prefetch(c, COMPACT_FROM, read(c->loop.i), c->f.jit->target->compact_read);
	c->item = simd_load(&c->f, c->type, element(c, COMPACT_FROM, read(c->loop.i)));
	compare_item(c);
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		masks[i] = list_mask(c, &c->is.lists[i]);
		after[i] = end_after(c, i, masks[i]);
	}
	if (c->is.stores)
		leave_if_met(c, after);
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		if (c->is.stores)
			prefetch(c, COMPACT_TO, read(c->lists[i]), c->f.jit->target->compact_store);
		if (c->is.stores)
			simd_store_compact(&c->f, c->type, masks[i],
					   element(c, COMPACT_TO, read(c->lists[i])), c->item);
		jit_set(&c->f, c->lists[i], after[i]);
	}
}

/* ---- the function ---- */

static void move_lists(Compact *c, bool back)
{
	JitFunction *f = &c->f;
	for (uint32_t i = 0; i < c->is.nlists; i++) {
		Lvalue *at = gcc_jit_context_new_array_access(
			f->jit->ctxt, NULL, jit_param(f, COMPACT_ENDS), number(c, i));
		if (back) {
			gcc_jit_block_add_assignment(f->block, NULL, at, read(c->lists[i]));
			continue;
		}
		c->lists[i] = jit_local(f, f->jit->i64, "list");
		jit_set(f, c->lists[i], read(at));
	}
}

static gcc_jit_function *new_function(Compact *c, Jit *jit, const char *name)
{
	JitParam params[COMPACT_BOUNDS + COMPACT_COMPARISONS] = {
		[COMPACT_FROM] = {jit->pointer, "from"},
		[COMPACT_ITEMS] = {jit->i64, "n"},
		[COMPACT_AT] = {jit->i64, "at"},
		[COMPACT_TO] = {jit->pointer, "to"},
		[COMPACT_LAST] = {jit->i64, "last"},
		[COMPACT_ENDS] = {gcc_jit_type_get_pointer(jit->i64), "lists"}};
	for (uint32_t i = 0; i < c->is.ncompared; i++)
		params[COMPACT_BOUNDS + i] = (JitParam){jit->types[c->type.dtype],
							arena_printf(jit->arena, "bound%u", i)};
	c->f = jit_function(jit, GCC_JIT_FUNCTION_EXPORTED, jit->i64, name, params,
			    COMPACT_BOUNDS + c->is.ncompared);
	JitFunction *f = &c->f;
	for (uint32_t i = 0; i < c->is.ncompared; i++)
		c->bounds[i] =
			jit_keep(f, simd_spread(f, c->type, jit_param(f, COMPACT_BOUNDS + i)));
	move_lists(c, false);
	Lvalue *t = jit_local(f, jit->i64, "t");
	Rvalue *end = jit_binary(f, GCC_JIT_BINARY_OP_MINUS, jit_param(f, COMPACT_ITEMS),
				 number(c, lanes_of(c) - 1));
	c->loop = jit_loop(f, t, number(c, 0), end, lanes_of(c));
	vector(c);
	jit_end_loop(f, &c->loop);
	move_lists(c, true);
	jit_return(f, read(t));
	return f->function;
}

bool jit_compaction(Jit *jit, const Program *program, const Kernel *kernel, const Stmt *loop,
		    JitCompaction *made)
{
	Compact c = {0};
	if (jit->simd != CPU_AVX512 || jit->vector_bytes < 64 ||
	    !loop_compacts((Program *)program, kernel, loop, &c.is))
		return false;
	c.type = (SimdType){c.is.load->dtype, c.is.load->dtype == DTYPE_F32 ? 4 : 3};
	const char *name = arena_printf(jit->arena, "%s__p_%s_compact%u", jit->module->prefix,
					kernel->name, jit->ncompactions++);
	*made = (JitCompaction){.is = c.is, .function = new_function(&c, jit, name)};
	/* GCC does not put a function inside another one that has a name outside */
	gcc_jit_context_add_top_level_asm(jit->ctxt, NULL,
					  arena_printf(jit->arena, ".hidden %s", name));
	return true;
}
