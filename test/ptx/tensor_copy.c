/* cp.async.bulk.tensor: boxes and windows of a tensor to shared memory, elements outside of it 0; boxes to the tensor, but for
 * these. */
#include <inttypes.h>
#include <string.h>

#include "test/ptx/run.h"

static const PtxTensorMap *map_of(PtxThread *t, uint64_t address)
{
	const PtxLaunch *launch = t->block->run->launch;
	uint64_t at = address >= PTX_PARAM_BASE ? address - PTX_PARAM_BASE : address;
	const PtxTensorMap *map = NULL;
	if (at % TENSOR_MAP_BYTES == 0 && at < launch->kernel->param_bytes &&
	    launch->kernel->param_bytes - at >= TENSOR_MAP_BYTES)
		map = (const void *)(launch->params + at);
	if (map == NULL || map->magic != TENSOR_MAGIC) {
		ptx_fault(t, FAULT_ILLEGAL, "copies by a map of a tensor at 0x%" PRIx64 ", where there is none",
			  address);
		return NULL;
	}
	return map;
}

static uint32_t box_elements(const PtxTensorMap *map)
{
	uint32_t n = 1;
	for (int i = 0; i < map->rank; i++)
		n *= map->box[i];
	return map->windows ? n * map->windows : n;
}

/* Where the element of a box is in the tensor; of windows, which follow each other along the second axis, and where the last of
 * these is passed along the next. */
static void find_place(const PtxAsync *a, int64_t number, int64_t *at)
{
	const PtxTensorMap *map = a->map;
	at[0] = a->at[0] + number % map->box[0];
	number /= map->box[0];
	for (int i = 1; i < map->rank; i++) {
		if (!map->windows) {
			at[i] = a->at[i] + number % map->box[i];
			number /= map->box[i];
			continue;
		}
		int k = i - 1;
		if (i + 1 == map->rank) {
			at[i] = a->at[i] + number;
			return;
		}
		int64_t windows = (map->high[k] - map->low[k]) / map->step[k] + 1;
		number += (a->at[i] - map->low[k]) / map->step[k];
		at[i] = map->low[k] + number % windows * map->step[k] + a->behind[k];
		number /= windows;
	}
}

/* The element of the box in global memory; NULL: it is 0, or, after a fault, in no memory. */
static unsigned char *element(PtxThread *t, const PtxAsync *a, uint32_t number)
{
	const PtxTensorMap *map = a->map;
	uint64_t address = map->base;
	int64_t at[TENSOR_AXES];
	find_place(a, number, at);
	for (int i = 0; i < map->rank; i++) {
		if (at[i] < 0 || at[i] > map->last[i])
			return NULL;
		address += (uint64_t)at[i] * (i ? map->strides[i - 1] : map->bytes);
	}
	unsigned char *from = ptx_memory_at(t->block->run->memory, address, map->bytes);
	if (from == NULL)
		ptx_fault(t, FAULT_ADDRESS, "copies an element at 0x%" PRIx64 ", which is in no memory", address);
	return from;
}

/* To the nearest number of tf32, of two the one further from zero: which one a device takes was not measured. */
static void put_rounded(unsigned char *place, const unsigned char *from)
{
	uint32_t bits;
	memcpy(&bits, from, sizeof bits);
	if ((bits & 0x7f800000) != 0x7f800000)
		bits = (bits + 0x1000) & 0xffffe000;
	memcpy(place, &bits, sizeof bits);
}

static void load(const PtxTensorMap *map, unsigned char *place, const unsigned char *from)
{
	if (from == NULL)
		memset(place, 0, map->bytes);
	else if (map->rounds)
		put_rounded(place, from);
	else
		memcpy(place, from, map->bytes);
}

/* All places are touched; with `done` they are written. False: a fault. */
bool ptx_tensor_copy(PtxThread *t, PtxInstr *in, const PtxAsync *a)
{
	const PtxTensorMap *map = a->map;
	for (uint32_t i = 0; i < box_elements(map); i++) {
		uint64_t at = (a->store ? a->from : a->to) + (uint64_t)i * map->bytes;
		if (map->swizzle == TENSOR_SWIZZLE_128)
			at = ptx_swizzled(at);
		unsigned char *place = ptx_touch(t, in, SPACE_SHARED, at, map->bytes, ACCESS_ATOMIC);
		unsigned char *global = place ? element(t, a, i) : NULL;
		if (t->block->run->failed)
			return false;
		if (a->done && !a->store)
			load(map, place, global);
		else if (a->done && global != NULL)
			memcpy(global, place, map->bytes);
	}
	return true;
}

/* Does the first window begin where one does, and does the copy read no further into it than the instruction has bits for? */
static bool is_window(PtxThread *t, const PtxAsync *a)
{
	const PtxTensorMap *map = a->map;
	int axes = map->rank - 2;
	for (int k = 0; k < axes; k++) {
		int64_t from = (int64_t)a->at[k + 1] - map->low[k];
		if (from < 0 || a->at[k + 1] > map->high[k] || from % map->step[k] != 0 ||
		    a->behind[k] >> ptx_corner_bits[axes] != 0) {
			ptx_fault(
				t, FAULT_ILLEGAL,
				"copies windows from %d along axis %d on, %d into them, where they begin from %d to %" PRId64
				" in steps of %d",
				a->at[k + 1], k + 1, a->behind[k], map->low[k], map->high[k],
				map->step[k]);
			return false;
		}
	}
	return true;
}

bool ptx_tensor_begin(PtxThread *t, PtxInstr *in, PtxAsync *a)
{
	const int32_t *more = t->function->operands.at + in->more;
	a->map = map_of(t, ptx_value(t, in->b) + ptx_value(t, more[0]));
	if (a->map == NULL)
		return false;
	uint64_t shared = a->store ? a->from : a->to;
	if (a->map->rank != in->n || shared % 128 != 0) {
		ptx_fault(t, FAULT_ILLEGAL, "copies a box of %u axes by a map of %u %s 0x%" PRIx64, in->n,
			  a->map->rank, a->store ? "from" : "to", shared);
		return false;
	}
	if ((a->map->windows > 0) != (in->sub == BULK_WINDOWS)) {
		ptx_fault(t, FAULT_ILLEGAL,
			  "copies a box by a map of windows, or windows by one of boxes");
		return false;
	}
	for (int i = 0; i < in->n; i++)
		a->at[i] = (int32_t)ptx_value(t, more[3 + i]);
	for (int k = 0; k < in->n - 2 && a->map->windows; k++)
		a->behind[k] = (uint16_t)ptx_value(t, more[3 + in->n + k]);
	if (a->map->windows && !is_window(t, a))
		return false;
	a->bytes = box_elements(a->map) * a->map->bytes;
	return true;
}
