/* The order of a reduction's additions, for each way of making its loops. */
#include "base/size_dims.h"
#include "sums/sums.h"

/* Lanes of partial sums are a cache line or four, whatever vectors a machine has, and halves of
 * them are added down to 16 bytes, which every machine's vectors have. */
enum { LANES = 16, WIDE = 64, LEAST_BYTES = 16, LEAST_SUM = 64 };
/* In parts: elements of a part; of a sum of one member that has parts (2 MiB of f32); elements and
 * lanes at most, lanes and steps of them at least. */
enum {
	PART = 1 << 16,
	MEMBER_STEPS = 1 << 19,
	FEW_ELEMENTS = 128,
	FEW_LANES = 128,
	WHOLE_LANES = 64
};
/* ... in lanes of their own: elements at most, and those of a row that is read. */
enum { OWN_MOST = 32, ROW_MOST = 8 };
/* Of what is cumulated: places of a run, and of an axis without runs at most. */
enum { RUN = 512, TURN_MOST = 4096 };
/* Steps of a reduction's first stage, where they are known. */
enum { LEAST_STEPS = 4, OUTER_LEAST = 8 };

/* In steps: an element of a pair where it stays in a cache, and where it may not; a kernel more. */
enum { ELEMENT_NEAR = 2, ELEMENT_FAR = 16, FAR_ELEMENTS = 1 << 16, ONE_MORE = 256 };

static const SumOrder in_turn = {.form = SUM_IN_TURN, .group = 1, .nparts = SIZE_BAD};

/* ---- what the facts say ---- */

static bool is_known(const SumFacts *f, Size size, int64_t *n)
{
	return size_is_const(f->sizes, size, n);
}

static bool at_least(const SumFacts *f, Size size, int64_t least)
{
	int64_t n;
	return !is_known(f, size, &n) || n >= least;
}

static bool moves_by(const SumFacts *f, Size by, int64_t n) { return size_is(f->sizes, by, n); }

int64_t sums_extent(const SumFacts *facts, uint32_t loop, int64_t otherwise)
{
	int64_t n;
	return is_known(facts, facts->loops[loop].extent, &n) && n != 1 ? n : otherwise;
}

Size sums_whole(Sizes *sizes, Size extent, int64_t by)
{
	return size_scale(sizes, size_floor(sizes, extent, by), by);
}

/* Does the loop move each element by one or not at all, and one of them by one? */
static bool goes_on(const SumFacts *f, uint32_t loop)
{
	bool moves = false;
	for (uint32_t i = 0; i < f->nreads; i++) {
		Size by = f->reads[i].by[loop];
		if (moves_by(f, by, 1))
			moves = true;
		else if (!moves_by(f, by, 0))
			return false;
	}
	return moves;
}

/* ---- in parts ---- */

/* Is each sum that of one member, which shares nothing with others, and long? */
static bool has_long_members(const SumFacts *f)
{
	bool alone = f->reads_one;
	int64_t n;
	for (uint32_t i = 0; i < f->nresult && alone; i++)
		alone = size_is(f->sizes, f->loops[i].extent, 1);
	return alone && is_known(f, f->loops[f->nresult].extent, &n) && n >= MEMBER_STEPS;
}

/* The least multiple of the elements and of whole vectors, and of at least four vectors where that
 * takes few. */
static bool choose_width(SumOrder *o)
{
	o->lanes = o->elements;
	while (o->lanes % (WHOLE_LANES / 4))
		o->lanes += o->elements;
	while (o->lanes < WHOLE_LANES)
		o->lanes *= 2;
	o->rows = o->lanes / o->elements;
	return o->lanes <= FEW_LANES;
}

static bool choose_parts(const SumFacts *f, bool has_elements, SumOrder *o)
{
	Size extent = f->loops[f->nresult].extent;
	int64_t n;
	o->whole = sums_whole(f->sizes, extent, o->rows);
	if (!size_is_of_args(f->sizes,
			     extent)) /* there would have to be memory for the sums of parts */
		return false;
	if (!is_known(f, extent, &n)) {
		o->part_rows = PART / o->lanes * o->rows;
		o->nparts = size_ceil(f->sizes, extent, o->part_rows);
		return !size_is_bad(o->nparts);
	}
	if (n > INT64_MAX / FEW_ELEMENTS || n < LEAST_STEPS * o->rows)
		return false;
	int64_t pairs = (n * o->elements + 2 * PART - 1) / (2 * PART), steps = n / o->rows;
	if (n * o->elements < 2 * PART)
		return has_elements;
	o->part_rows = (steps + 2 * pairs - 1) / (2 * pairs) * o->rows;
	o->nparts = size_const(f->sizes, (steps * o->rows + o->part_rows - 1) / o->part_rows);
	return true;
}

/* Are the elements that lanes need neighbours, or all the same? */
static bool read_fits(const SumFacts *f, const SumRead *read, bool has_elements, const SumOrder *o,
		      bool *moves)
{
	Size row = read->by[f->nresult];
	Size element = has_elements ? read->by[0] : size_const(f->sizes, 1);
	bool stays = moves_by(f, row, 0) && (!has_elements || moves_by(f, element, 0));
	*moves |= !stays;
	if (stays || (moves_by(f, row, o->elements) && moves_by(f, element, 1)))
		return true;
	return o->rows == 1 && !size_is_bad(row) &&
	       (moves_by(f, element, 0) || moves_by(f, element, 1));
}

static bool reads_fit(const SumFacts *f, bool has_elements, const SumOrder *o)
{
	bool moves = false, fit = !(f->counts && has_elements) && !f->words;
	for (uint32_t i = 0; i < f->nreads && fit; i++)
		fit = read_fits(f, &f->reads[i], has_elements, o, &moves);
	return fit && moves;
}

static SumOrder in_lanes_together(const SumFacts *f)
{
	SumOrder o = {.form = SUM_IN_PARTS, .group = 1, .elements = 1, .nparts = SIZE_BAD};
	o.vectors = f->in_vectors && f->has_lanes;
	static const SumOrder none = {0};
	bool has_elements = f->nresult > 0 && !f->batched;
	if (f->nloops != f->nresult + 1 || !op_accumulates(f->reduce) || f->nguards > 0 ||
	    f->row_block || (f->batched ? !has_long_members(f) : f->nresult > 1))
		return none;
	if (has_elements && !is_known(f, f->loops[0].extent, &o.elements))
		return none;
	bool few = o.elements > 0 && o.elements <= FEW_ELEMENTS;
	return few && choose_width(&o) && choose_parts(f, has_elements, &o) &&
			       reads_fit(f, has_elements, &o)
		       ? o
		       : none;
}

/* Does each read move by numbers of elements, along the sum by no more than a short row, and one of them by a row? */
static bool reads_rows(const SumFacts *f)
{
	bool rows = false;
	int64_t by;
	for (uint32_t i = 0; i < f->nreads; i++)
		for (uint32_t k = 0; k < f->nloops; k++) {
			if (size_is_bad(f->reads[i].by[k]) || !is_known(f, f->reads[i].by[k], &by))
				return false;
			if (k == f->nresult && (by < 0 || by > ROW_MOST))
				return false;
			rows |= k == f->nresult && by > 1;
		}
	return rows;
}

/* Are the elements better in tiles? Those go along the last loop, where it fills a vector alone, or with other rows
 * where registers do not hold the lanes of all elements. */
static bool suits_tiles(const SumFacts *f, const SumOrder *o)
{
	const Target *target = f->target;
	int64_t columns = sums_extent(f, f->nresult - 1, 1);
	int64_t bytes = o->lanes * (int64_t)dtype_bytes(f->dtype);
	if (!goes_on(f, f->nresult - 1) || columns < target->least_lanes)
		return false;
	if (f->nresult == 1)
		return false;
	return columns >= ROW_MOST || (o->elements >= columns * target->least_rows &&
				       bytes > target->registers * target->vector_bytes);
}

/* Elements of an outer product of short rows: each has lanes of its own, which go along the rows. */
static SumOrder in_own_lanes(const SumFacts *f)
{
	SumOrder o = {.form = SUM_IN_PARTS, .group = 1, .elements = 1, .nparts = SIZE_BAD};
	static const SumOrder none = {0};
	int64_t n;
	if (f->nloops != f->nresult + 1 || !op_accumulates(f->reduce) || f->nguards > 0 ||
	    f->row_block || f->batched || f->words || !f->in_vectors || !f->has_lanes)
		return none;
	for (uint32_t i = 0; i < f->nresult && o.elements <= OWN_MOST; i++)
		o.elements *= is_known(f, f->loops[i].extent, &n) ? n : OWN_MOST + 1;
	if (o.elements < 2 || o.elements > OWN_MOST || !reads_rows(f))
		return none;
	o.own_lanes = o.vectors = true;
	o.rows = SUM_LANES_BYTES / (int64_t)dtype_bytes(f->dtype);
	while (o.rows * o.elements < WHOLE_LANES)
		o.rows *= 2;
	o.lanes = o.rows * o.elements;
	return (f->asked || !suits_tiles(f, &o)) && choose_parts(f, true, &o) ? o : none;
}

static SumOrder in_parts(const SumFacts *f)
{
	SumOrder order = in_lanes_together(f);
	return order.form == SUM_NONE ? in_own_lanes(f) : order;
}

/* ---- in lanes, element by element ---- */

/* Does the loop move a read to the next element, to one further on, or in no one step? */
typedef struct Moves {
	bool next, far, other;
} Moves;

static Moves moves_of(const SumFacts *f, uint32_t loop)
{
	Moves m = {0};
	for (uint32_t i = 0; i < f->nreads; i++) {
		Size by = f->reads[i].by[loop];
		bool next = moves_by(f, by, 1), other = size_is_bad(by);
		m.next |= next;
		m.other |= other;
		m.far |= !next && !other && !moves_by(f, by, 0);
	}
	return m;
}

static SumOrder in_lanes(const SumFacts *f)
{
	static const SumOrder none = {0};
	if (f->nloops == f->nresult || !op_accumulates(f->reduce))
		return none;
	uint32_t last = f->nloops - 1;
	Size extent = f->loops[last].extent, total = size_const(f->sizes, 1);
	for (uint32_t i = f->nresult; i < f->nloops; i++)
		total = size_mul(f->sizes, total, f->loops[i].extent);
	Moves moves = moves_of(f, last);
	if (!at_least(f, extent, LANES) || !at_least(f, total, LEAST_SUM) || !f->guards_stay ||
	    f->loops[last].bounded || !(moves.next || moves.far) || moves.other ||
	    (moves.far && (f->shares || !f->in_vectors)))
		return none;
	SumOrder o = {.form = SUM_IN_LANES, .group = 1, .lanes = LANES, .nparts = SIZE_BAD};
	o.least = LEAST_BYTES / dtype_bytes(f->dtype);
	o.far = moves.far;
	o.wide = !o.far && f->in_vectors && f->has_lanes ? WIDE : 0;
	o.whole = sums_whole(f->sizes, extent, LANES);
	return o;
}

/* ---- tiles ---- */

bool sums_keeps(const SumFacts *facts, uint32_t loop)
{
	return facts->independent || !size_is(facts->sizes, facts->loops[loop].extent, 1);
}

bool sums_runs(const SumFacts *facts, SumWay way, uint32_t loop)
{
	const SumLoop *at = &facts->loops[loop];
	int64_t least = facts->asked ? 1 : facts->target->least_lanes, n = SUM_ASSUMED;
	if (at->guarded || !goes_on(facts, loop))
		return false;
	if (way == SUM_WAY_ALONG)
		return (is_known(facts, at->extent, &n) ? n : SUM_ASSUMED) >= least;
	return sums_keeps(facts, loop) && sums_extent(facts, loop, SUM_ASSUMED) >= least;
}

int64_t sums_uses(const SumFacts *facts, uint32_t read, int64_t assumed)
{
	int64_t uses = 1, n;
	for (uint32_t i = 0; i < facts->nresult && uses < facts->target->pack_uses; i++)
		if (moves_by(facts, facts->reads[read].by[i], 0))
			uses *= is_known(facts, facts->loops[i].extent, &n) ? n : assumed;
	return uses;
}

bool sums_transposes(const SumFacts *facts, uint32_t col, int64_t steps, bool at_call)
{
	int64_t columns = facts->asked ? 1 : facts->target->least_lanes;
	int64_t least = facts->asked || !at_call ? 1 : facts->target->pack_steps;
	return sums_extent(facts, col, 1) >= columns && steps >= least;
}

/* Lanes along a sum of products, in the same order whether the loop has whole lanes or not. */
static SumOrder along_loop(const SumFacts *f, uint32_t along)
{
	static const SumOrder none = {0};
	int bytes = dtype_bytes(f->dtype);
	if (f->reduce != OP_ADD || f->nreads < 2)
		return none;
	SumOrder o = {.form = SUM_IN_LANES, .group = 1, .halves = true, .nparts = SIZE_BAD};
	o.lanes = SUM_LANES_BYTES / bytes;
	o.least = LEAST_BYTES / bytes;
	o.whole = sums_whole(f->sizes, f->loops[along].extent, o.lanes);
	return o;
}

SumOrder sums_window(void)
{
	SumOrder order = in_turn;
	order.from_first = true;
	return order;
}

bool sums_in_stages(Dtype dtype, int64_t last, int64_t outer)
{
	int64_t lanes = SUM_LANES_BYTES / (int64_t)dtype_bytes(dtype);
	return last > 1 && last < lanes && (outer < 0 || outer >= OUTER_LEAST);
}

double sums_pair_cost(double elements)
{
	return elements * (elements < FAR_ELEMENTS ? ELEMENT_NEAR : ELEMENT_FAR) + ONE_MORE;
}

/* ---- along an axis ---- */

/* Runs are long enough that what begins them is little beside them, and short enough that threads
 * share axes of some thousand places; an axis that is shorter is not worth a second addition. */
SumOrder sums_cumulate(const Sizes *sizes, Size extent)
{
	SumOrder order = in_turn;
	int64_t n;
	bool known = size_is_const(sizes, extent, &n);
	if (known && n <= TURN_MOST)
		return order;
	order.form = SUM_IN_RUNS;
	order.run = RUN;
	order.turn_most = TURN_MOST;
	return order;
}

/* ---- in turn ---- */

int64_t sums_short_steps(const SumFacts *facts)
{
	int64_t steps = 1, n, most = facts->short_most;
	if ((facts->nresult == 0 && !facts->batched) || facts->nguards > 0 || facts->shares)
		return 0;
	for (uint32_t i = facts->nresult; i < facts->nloops; i++) {
		if (!is_known(facts, facts->loops[i].extent, &n) || n > most)
			return 0;
		steps *= n;
		if (steps > most)
			return 0;
	}
	return facts->nelements * steps <= most ? steps : 0;
}

SumOrder sums_order(const SumFacts *facts, SumWay way, uint32_t along)
{
	SumOrder order = in_turn;
	switch (way) {
	case SUM_WAY_PARTS: return in_parts(facts);
	case SUM_WAY_LANES: return in_lanes(facts);
	case SUM_WAY_ALONG: return along_loop(facts, along);
	case SUM_WAY_SHORT:
		order = sums_window();
		order.form = sums_short_steps(facts) ? SUM_IN_TURN : SUM_NONE;
		break;
	default: break;
	}
	return order;
}
