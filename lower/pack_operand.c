/* Operands of a contraction copied into the order of a matrix product.
 *
 *   y[a, b, c, d] = sum over e, f of x[a, e, b, f] * w[d, f, c, e]
 * becomes
 *   staged_w[e, f, c, d] = w[d, f, c, e]
 *   staged_x[a, b, e, f] = x[a, e, b, f]
 *   y[ab, cd] = sum over ef of staged_x[ab, ef] * staged_w[ef, cd]
 *
 * since loops that every operand walks through alike are one (collapse.c). Columns are the loops of
 * the last axes of the result that move one operand alone, w here; its copy has the other loops of
 * the result first, then the sum, where columns are no whole vectors another loop of theirs
 * (tile/collapse.c), then the columns. The copy of the other operand has the sum last. Copies are
 * transposes (transform/transpose.c). The rows' operand alone is copied where its rows and the
 * steps of the sum are in a line each: x[d, e, g, a] for y[a, b, c, d, e, f]; or where rows are in a line, x[e, a], and
 * tiles would wait for those of the steps longer than the copy takes. They pay where many
 * elements use what is copied; windows of a picture (x[i + k]) are read where they are, as a copy
 * would hold each element many times. Copies have the type that is stored. Elements add up their products in the order of the sum's loops,
 * as without copies; whether there are copies depends on no batch axis.
 *
 * What is read nowhere else is computed as it is copied (inline_producer.c): what is cheap, and
 * functions where rows stay rows, as they take vectors along these.
 */
#include "base/diag.h"
#include "base/integer.h"
#include "base/size_order.h"
#include "loops/linear.h"
#include "lower/gen/lane_values.h"
#include "lower/nest_plan.h"
#include "lower/tile/plan.h"

/* What a symbolic extent counts as where there are no tiles without copies. */
enum { FORCED_EXTENT = 32 };

typedef struct PackedOperand {
	Nest *nest;
	Program *program;
	const Target *target;
	const Value *loads[2];
	uint32_t nloads;
	uint32_t moved[64]; /* by loop: the loads that it moves, as bits */
	uint32_t cols;	    /* the load that columns move */
	uint32_t first_col; /* the loop from which on the result's are columns */
	uint32_t
		contiguous; /* another one, whose columns are contiguous with them; first_col: none */
} PackedOperand;

/* ---- what is there ---- */

/* What is read, or what lanes convert; NULL: the value is neither. */
static const Value *load_of(const Value *value)
{
	const Value *load = value_converts(value) ? value->args[0] : value;
	return load->kind == VALUE_LOAD ? load : NULL;
}

static bool is_product(PackedOperand *s, const Value *value)
{
	const Value *load = load_of(value);
	if (load) {
		if (s->nloads == 2)
			return false;
		s->loads[s->nloads++] = load;
		return true;
	}
	bool product =
		value->kind == VALUE_CONST || (value->kind == VALUE_OP && value->op == OP_MUL);
	for (uint32_t i = 0; i < value->nargs && product; i++)
		product = is_product(s, value->args[i]);
	return product;
}

static Size stride(const PackedOperand *s, uint32_t load, uint32_t loop)
{
	return ix_stride(s->program, s->loads[load]->ix, s->nest->loops[loop].var);
}

static bool find_moved(PackedOperand *s)
{
	const Nest *nest = s->nest;
	for (uint32_t i = 0; i < nest->nloops; i++) {
		for (uint32_t load = 0; load < 2; load++) {
			Size step = stride(s, load, i);
			if (size_is_bad(step))
				return false;
			if (!size_is(s->program->sizes, step, 0))
				s->moved[i] |= 1u << load;
		}
		if (s->moved[i] == 0 || (nest->loops[i].reduced && s->moved[i] != 3))
			return false;
	}
	return true;
}

/* ---- whether ---- */

/* The product of the extents of the loops that move these loads alone, but for batch axes; at most
 * WORK_LEAST, so that products of such fit. */
static int64_t extent_of(const PackedOperand *s, uint32_t moved, int64_t otherwise)
{
	int64_t n = 1;
	for (uint32_t i = 0; i < s->nest->nloops && n < s->target->stage_work; i++)
		if (s->moved[i] == moved)
			n *= nest_known(s->nest, s->nest->loops[i].own, otherwise);
	return n < s->target->stage_work ? n : s->target->stage_work;
}

static int64_t steps(const PackedOperand *s, int64_t otherwise)
{
	int64_t n = 1;
	for (uint32_t i = s->nest->nresult; i < s->nest->nloops && n < s->target->stage_work; i++)
		n *= nest_known(s->nest, s->nest->loops[i].extent, otherwise);
	return n < s->target->stage_work ? n : s->target->stage_work;
}

/* Do the sum's loops walk through the load without a gap, the last one by one element? */
static bool sums_in_line(const PackedOperand *s, uint32_t load)
{
	Sizes *sizes = s->program->sizes;
	Size next = size_const(sizes, 1);
	for (uint32_t i = s->nest->nloops; i-- > s->nest->nresult;) {
		if (!size_same(stride(s, load, i), next))
			return false;
		next = size_mul(sizes, next, s->nest->loops[i].extent);
	}
	return true;
}

static Gen *gen_of(const PackedOperand *s) { return s->nest->gen; }

/* Are copies asked for? Then they need not pay. */
static bool has_asked(const PackedOperand *s)
{
	return asks_on(gen_asked(gen_of(s), CHOICE_STAGE));
}

/* Can the elements of its copy be counted? */
static bool has_room(const PackedOperand *s, uint32_t load)
{
	Size elements = size_const(s->program->sizes, 1);
	for (uint32_t i = 0; i < s->nest->nloops; i++)
		if (s->moved[i] >> load & 1)
			elements = size_mul(s->program->sizes, elements, s->nest->loops[i].extent);
	return !size_is_bad(elements);
}

static bool is_asked(const PackedOperand *s, uint32_t load)
{
	return gen_asks_operand(gen_of(s), CHOICE_STAGE, s->loads[load]->buffer) &&
	       has_room(s, load);
}

static bool pays(const PackedOperand *s, bool forced)
{
	if (has_asked(s))
		return true;
	int64_t least = forced ? s->target->stage_forced : s->target->stage_uses,
		otherwise = forced ? FORCED_EXTENT : 1;
	int64_t columns = extent_of(s, 1u << s->cols, otherwise);
	int64_t others = extent_of(s, 2u >> s->cols, otherwise);
	int64_t n = steps(s, forced ? FORCED_EXTENT : s->target->stage_steps);
	return others >= least && columns >= s->target->stage_uses && n >= s->target->stage_steps &&
	       columns * others * n >= s->target->stage_work;
}

/* The longest loop before the columns that moves the load alone, as rows of tiles are, and is no
 * batch's; first_col: there is none. */
static uint32_t longest_rows(const PackedOperand *s, uint32_t load)
{
	const Loop *loops = s->nest->loops;
	uint32_t best = s->first_col;
	for (uint32_t i = 0; i < s->first_col; i++)
		if (s->moved[i] == 1u << load && !size_is(s->program->sizes, loops[i].own, 1) &&
		    (best == s->first_col || nest_known(s->nest, loops[i].own, 1) >=
						     nest_known(s->nest, loops[best].own, 1)))
			best = i;
	return best;
}

/* Do rows of the other operand share no line, where each step of the sum is in a line of its
 * own? */
static bool rows_are_spread(const PackedOperand *s)
{
	const Nest *nest = s->nest;
	uint32_t load = 1 - s->cols, row = longest_rows(s, load);
	int64_t line = s->target->line_bytes / dtype_bytes(s->loads[load]->dtype);
	bool spread =
		row < s->first_col && nest_known(s->nest, stride(s, load, row), 0) >= line;
	for (uint32_t i = nest->nresult; i < nest->nloops; i++)
		spread = spread && nest_known(s->nest, stride(s, load, i), 0) * 2 >= line;
	return spread;
}

/* Bytes between steps of the sum, each in a line of its own; 0: they are not. */
static int64_t bytes_of_step(const PackedOperand *s, uint32_t load)
{
	const Nest *nest = s->nest;
	int64_t bytes = (int64_t)dtype_bytes(s->loads[load]->dtype), step = 0;
	for (uint32_t i = nest->nresult; i < nest->nloops; i++) {
		step = nest_known(nest, stride(s, load, i), 0) * bytes;
		if (step < s->target->line_bytes)
			return 0;
	}
	return step;
}

/* Is an operand farther away than the second cache: larger than what stays there, or with steps of the sum that share few
 * sets? */
static bool is_far(const PackedOperand *s, uint32_t load)
{
	int64_t bytes = (int64_t)dtype_bytes(s->loads[load]->dtype), most = s->target->l2_rows;
	for (uint32_t i = 0; i < s->nest->nloops && bytes <= most; i++)
		if (s->moved[i] >> load & 1)
			bytes *= nest_known(s->nest, s->nest->loops[i].own, 1);
	return bytes > most || bytes_of_step(s, load) % s->target->l1_way_bytes == 0;
}

/* Do rows that are neighbours, of whose line each step of the sum reads those of one tile, wait for these lines longer than
 * a copy takes? So many rows as operands are streamed past go in blocks of the sum, whose lines stay. A quarter of the
 * registers stands for the rows of a tile, an eighth for the vectors of its columns. */
static bool rows_wait_longer(const PackedOperand *s)
{
	const Target *target = s->target;
	uint32_t load = 1 - s->cols, row = longest_rows(s, load);
	if (row == s->first_col || bytes_of_step(s, load) == 0 ||
	    !size_is(s->program->sizes, stride(s, load, row), 1) ||
	    nest_known(s->nest, s->nest->loops[row].own, 1) <= target->stream_rows)
		return false;
	int64_t cols = target->registers / 8 * target->vector_bytes /
		       (int64_t)dtype_bytes(s->nest->value->dtype);
	int64_t passes = divide_up(extent_of(s, 1u << s->cols, FORCED_EXTENT), cols);
	int64_t wait = is_far(s, load) ? target->row_line_far : target->row_line;
	return passes * wait > 2 * target->copy_cost_strided * (target->registers / 4);
}

static Sym loop_name(const PackedOperand *s, uint32_t loop)
{
	return gen_of(s)->frame.iters.at[s->nest->loops[loop].var].name;
}

/* Where the columns are no whole vectors: the loop before them that moves their operand too, and is
 * no batch's. */
static uint32_t find_contiguous(const PackedOperand *s)
{
	const Nest *nest = s->nest;
	int64_t columns = 1;
	for (uint32_t i = s->first_col; i < nest->nresult; i++)
		columns *= nest_known(s->nest, nest->loops[i].own, 0);
	const ScheduleClause *asked = gen_asked(gen_of(s), CHOICE_CONTIGUOUS);
	bool wanted =
		asked ? asks_on(asked)
		      : tile_wants_collapse(nest, columns, steps(s, s->target->stage_work), true);
	if (!wanted)
		return s->first_col;
	for (uint32_t i = s->first_col; i-- > 0;)
		if (asks_name(asked, 0, loop_name(s, i)) && s->moved[i] == 1u << s->cols &&
		    nest_known(s->nest, nest->loops[i].own, 0) > 1)
			return i;
	return s->first_col;
}

static bool find_columns(PackedOperand *s)
{
	const Nest *nest = s->nest;
	uint32_t last = nest->nresult - 1;
	Size step = ix_stride(s->program, nest->at, nest->loops[last].var);
	if (!size_is(s->program->sizes, step, 1) || s->moved[last] == 3)
		return false;
	s->cols = s->moved[last] - 1;
	for (s->first_col = last; s->first_col > 0 && s->moved[s->first_col - 1] == s->moved[last];)
		s->first_col--;
	s->contiguous = find_contiguous(s);
	return true;
}

/* Would the copy join loops that are apart? */
static bool joins(const PackedOperand *s)
{
	return s->first_col + 1 < s->nest->nresult || s->nest->nresult + 1 < s->nest->nloops ||
	       s->contiguous < s->first_col;
}

/* Do loops step over elements of an axis that other loops reach as well? */
static bool overlaps(const PackedOperand *s, const Index *index)
{
	for (uint32_t t = 0; t < index->nterms; t++) {
		int64_t coef = index->terms[t].coef, reach = 0;
		for (uint32_t u = 0; u < index->nterms; u++) {
			int64_t other = index->terms[u].coef;
			Size extent = s->nest->proj->iters[index->terms[u].iter].extent;
			if (other < coef || (other == coef && u > t))
				reach += other * (nest_known(s->nest, extent, INT32_MAX) - 1);
		}
		if (reach >= coef)
			return true;
	}
	return false;
}

/* Does an operand go by in windows, which its copy would hold one by one? */
static bool has_windows(const PackedOperand *s)
{
	const Piece *piece = s->nest->piece;
	uint32_t nargs = lower_node(s->nest->gen->lower, s->nest->node)->nargs;
	for (uint32_t i = 0; i < nargs; i++)
		for (uint32_t a = 0; piece->args[i].present && a < piece->args[i].naxes; a++)
			if (overlaps(s, &piece->args[i].axes[a]))
				return true;
	return false;
}

/* ---- how ---- */

typedef struct Order {
	uint32_t loops[64], n;
} Order;

static void add_loops(const PackedOperand *s, Order *order, uint32_t load, uint32_t from,
		      uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (s->moved[i] >> load & 1)
			order->loops[order->n++] = i;
}

/* The new order of the loops that move the load, outermost first. */
static Order order_of(const PackedOperand *s, uint32_t load)
{
	const Nest *nest = s->nest;
	uint32_t columns = load == s->cols ? s->first_col : nest->nresult;
	uint32_t contiguous = load == s->cols ? s->contiguous : columns;
	Order order = {.n = 0};
	add_loops(s, &order, load, 0, contiguous);
	if (contiguous < columns)
		add_loops(s, &order, load, contiguous + 1, columns);
	add_loops(s, &order, load, nest->nresult, nest->nloops);
	if (contiguous < columns)
		add_loops(s, &order, load, contiguous, contiguous + 1);
	add_loops(s, &order, load, columns, nest->nresult);
	return order;
}

/* Are neighbours in the copy neighbours where it is read? */
static bool goes_by_rows(const PackedOperand *s, uint32_t load, const Order *order)
{
	return size_is(s->program->sizes, stride(s, load, order->loops[order->n - 1]), 1);
}

static void copy(PackedOperand *s, uint32_t load)
{
	Nest *nest = s->nest;
	Gen *gen = nest->gen;
	Sizes *sizes = s->program->sizes;
	Order order = order_of(s, load);
	PackedOperandLoad *packed_operand = &nest->packed_operand[load];
	const Buffer *from = &s->program->buffers.at[s->loads[load]->buffer];
	Size elements = size_const(sizes, 1);
	packed_operand->strides = ARENA_ARRAY(gen->arena, Size, nest->proj->niters);
	packed_operand->offset = size_const(sizes, 0);
	for (uint32_t i = 0; i < nest->proj->niters; i++)
		packed_operand->strides[i] = size_const(sizes, 0);
	for (uint32_t i = order.n; i-- > 0;) {
		packed_operand->strides[nest->loops[order.loops[i]].iter] = elements;
		elements = size_mul(sizes, elements, nest->loops[order.loops[i]].extent);
	}
	packed_operand->buffer = gen_temporary(
		gen, "staged", from->name, (Buffer){.dtype = from->dtype, .elements = elements});
	from = &s->program->buffers.at[s->loads[load]->buffer];
	const Ix *to = nest_packed_operand_ix(nest, packed_operand);
	bool again = from->kind == BUFFER_PACKED || !size_ge(sizes, from->elements, elements);
	gen_make_operand(gen, CHOICE_STAGE, s->loads[load]->buffer);
	const Value *value = nest_inlined_producer(nest, s->loads[load],
						   again || !goes_by_rows(s, load, &order));
	nest_note_inlined_producer(nest, s->loads[load], value);
	CopyLoops *inner = ARENA_NEW(gen->arena, CopyLoops);
	*inner = (CopyLoops){.at = to, .value = value};
	for (uint32_t i = order.n; i-- > 0;) {
		const Loop *loop = &nest->loops[order.loops[i]];
		CopyLoops *around = ARENA_NEW(gen->arena, CopyLoops);
		*around = (CopyLoops){.var = loop->var,
				      .lo = zero_ix(gen),
				      .hi = ix_size(gen->arena, loop->extent),
				      .inner = inner,
				      .ninner = 1};
		inner = around;
	}
	PUSH(gen->arena, nest->copies, ((OperandCopy){packed_operand->buffer, inner, 1}));
}

/* Is there a product whose columns are one operand's? */
static bool finds_product(PackedOperand *s, bool forced)
{
	const Nest *nest = s->nest;
	bool plain = !asks_off(gen_asked(nest->gen, CHOICE_STAGE)) &&
		     !nest->gen->lower->row_block && nest_is_of_args(nest) && nest->guards.n == 0 &&
		     nest->inner.n == 0 && nest->nresult > 0 && nest->nloops <= 64 &&
		     nest->nloops > nest->nresult && !nest->packed_operand[0].strides &&
		     !nest->packed_operand[1].strides;
	return plain && tile_sums_dtype(nest->value->dtype) && is_product(s, nest->value) &&
	       s->nloads == 2 && find_moved(s) && find_columns(s) && pays(s, forced);
}

static bool fits(PackedOperand *s, bool forced)
{
	if (has_asked(s))
		return finds_product(s, forced) && is_asked(s, s->cols);
	return finds_product(s, forced) && (forced || (joins(s) && !has_windows(s))) &&
	       !size_is(s->program->sizes, stride(s, s->cols, s->nest->nresult - 1), 1);
}

bool nest_may_pack_operands(Nest *nest)
{
	PackedOperand s = {
		.nest = nest, .program = nest->gen->program, .target = nest_target(nest)};
	return fits(&s, false);
}

/* Is the rows' operand copied alone? */
static bool wants_rows(const PackedOperand *s)
{
	return has_asked(s) ? is_asked(s, 1 - s->cols)
			    : (rows_are_spread(s) || rows_wait_longer(s)) && !has_windows(s);
}

bool nest_pack_operands(Nest *nest, bool forced)
{
	const PackedOperand none = {
		.nest = nest, .program = nest->gen->program, .target = nest_target(nest)};
	PackedOperand s = none;
	bool columns = fits(&s, forced);
	if (columns)
		copy(&s, s.cols);
	else
		s = none;
	if (!columns && !(finds_product(&s, false) && wants_rows(&s)))
		return false;
	if (has_asked(&s) ? is_asked(&s, 1 - s.cols) : !sums_in_line(&s, 1 - s.cols))
		copy(&s, 1 - s.cols);
	if (columns && s.contiguous < s.first_col)
		clause_add(nest->gen->arena, gen_make(nest->gen, CHOICE_CONTIGUOUS, false),
			   loop_name(&s, s.contiguous), NULL, 0);
	nest_rebuild(nest);
	return true;
}
