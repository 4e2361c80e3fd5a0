/* Windows of a tensor that a copy lays out as rows: that TMA takes them as they are. See group.h. */
#include "base/size_order.h"
#include "loops/build.h"
#include "loops/group.h"
#include "loops/interval.h"
#include "loops/walk.h"

/* Limits of TMA: axes of a tensor with windows; where these begin outside of it, and how far into one a copy reads, has so many
 * bits, by how many axes there are between the first and the last. */
enum { AXES_LEAST = 3 };
static const int corner_bits[] = {0, 16, 8, 5};

typedef struct Windows {
	Program *program;
	const Kernel *kernel;
	const Interval *iters;
	LoopsFault fault;
} Windows;

const Ix *window_place(Program *program, const Stmt *copy, uint32_t axis)
{
	const Ix *place = copy->window;
	for (uint32_t i = 1; i < copy->naxes && i <= axis; i++) {
		const Ix *windows = ix_size(program->arena, copy->axes[i].windows);
		if (i < axis)
			place = ix_binary(program, IX_DIV, place, windows);
		else if (i + 1 < copy->naxes)
			place = ix_binary(program, IX_MOD, place, windows);
	}
	return place;
}

/* How far behind the last element the last window begins: less than 0 where it lies inside. */
static Size high_of(Sizes *sizes, const TensorAxis *axis)
{
	Size last = size_scale(sizes, size_plus(sizes, axis->windows, -1), axis->step);
	return size_plus(sizes, size_sub(sizes, last, axis->extent), axis->low + 1);
}

/* Has the size so many bits, with a sign? */
static bool has_bits(Sizes *sizes, Size size, int bits)
{
	int64_t most = INT64_C(1) << (bits - 1);
	return size_ge(sizes, size, size_const(sizes, -most)) &&
	       size_ge(sizes, size_const(sizes, most - 1), size);
}

bool window_map_fits(Sizes *sizes, const TensorAxis *axes, uint32_t n)
{
	if (n < AXES_LEAST || n > TENSOR_AXES_MOST || axes[0].step || axes[n - 1].step != 1 ||
	    axes[n - 1].low != 0)
		return false;
	for (uint32_t i = 1; i + 1 < n; i++) {
		const TensorAxis *axis = &axes[i];
		if (axis->step <= 0 || axis->step > WINDOW_STEPS ||
		    !has_bits(sizes, size_const(sizes, axis->low), corner_bits[n - 2]) ||
		    !has_bits(sizes, high_of(sizes, axis), corner_bits[n - 2]))
			return false;
	}
	return true;
}

int64_t window_most(uint32_t naxes) { return (INT64_C(1) << corner_bits[naxes - 2]) - 1; }

/* Is what is read of a window as far behind where that begins as an instruction says? */
static bool has_offsets(const Windows *w, const Stmt *copy)
{
	Interval at;
	uint32_t last = copy->naxes - 1;
	for (uint32_t i = 1; i <= last; i++) {
		int64_t most = i < last ? window_most(copy->naxes) : 0;
		if (!ix_interval(w->program, copy->axes[i].at, w->iters, &at) || at.lo < 0 ||
		    at.hi > most)
			return false;
	}
	return true;
}

static bool has_boxes(const Stmt *copy)
{
	bool fits = true;
	for (uint32_t i = 2; i < copy->naxes; i++)
		fits &= copy->axes[i].box == 1;
	return fits;
}

static void check_copy(Windows *w, const Stmt *copy)
{
	if (!window_map_fits(w->program->sizes, copy->axes, copy->naxes) || !has_boxes(copy))
		fault_note(&w->fault, copy, "windows that no map of a tensor has");
	else if (!has_offsets(w, copy))
		fault_note(
			&w->fault, copy,
			"a place in windows that is not shown to be one that an instruction takes");
}

static void see(void *of, const Stmt *stmt)
{
	if (stmt->kind == LOOP_COPY && stmt->window)
		check_copy(of, stmt);
}

LoopsFault window_fault(Program *program, const Kernel *kernel)
{
	Arena *arena = arena_new();
	Windows w = {program, kernel, kernel_intervals(arena, program, kernel), {.kernel = kernel}};
	block_each(kernel->body, see, &w);
	arena_free(arena);
	return w.fault;
}
