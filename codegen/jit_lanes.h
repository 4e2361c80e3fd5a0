/* A loop of lanes under construction. */
#ifndef TSR_CODEGEN_JIT_LANES_H
#define TSR_CODEGEN_JIT_LANES_H

#include "codegen/jit_kernel.h"

enum { PARTS_MAX = 4 };

/* A segment of lanes; those of one size are made side by side. */
typedef struct LanesPart {
	int64_t at;	  /* its first lane */
	PointerMap known; /* Value to Rvalue: of this statement */
} LanesPart;

typedef struct Lanes {
	KernelJit *k;
	const Stmt *loop;
	LanesPart parts[PARTS_MAX];
	LanesPart *part; /* at hand */
	int64_t at;	 /* its first lane */
	int log;	 /* its lanes: 1 << log */
	Rvalue *mask;	 /* of the lanes that are there; NULL: all are */
	int64_t count;	 /* of these */
	PointerMap
		spread[VECTOR_LOGS]; /* Value that is the same in all lanes to its vector, by log */
} Lanes;

/* jit_vector.c */
Lanes jit_lanes_new(KernelJit *k, const Stmt *loop);
/* Does the value differ between lanes? */
bool jit_lanes_vary(const Lanes *l, const Value *value);
Rvalue *jit_lanes_value(Lanes *l, const Value *value);
/* Begins a statement: nothing is known of its values. */
void jit_lanes_begin(Lanes *l);
/* A store or an assignment, of the part at hand.
 * Requires: where that is a vector, an operation that vectors have. */
void jit_lanes_stmt(Lanes *l, const Stmt *stmt);
Rvalue *jit_load_lanes(Lanes *l, Lvalue *place, Dtype dtype);
/* A place in memory for some lanes, as an array of elements. */
Lvalue *jit_lane_array(KernelJit *k, Dtype dtype, int n);
Lvalue *jit_lane_element(KernelJit *k, Lvalue *array, Rvalue *lane);
/* 1 << log elements from an element on, as one variable of any alignment. */
Lvalue *jit_lanes_at(KernelJit *k, Lvalue *element, Dtype dtype, int log);
/* 1 << log elements as one variable. */
Rvalue *jit_lanes_of(KernelJit *k, Dtype dtype, int log, Rvalue **elements);
Rvalue *jit_lane_number(KernelJit *k, int64_t lane);

/* Where the element of a local in registers is: `lane` of a variable of 1 << log. */
typedef struct RegisterLane {
	Lvalue *segment;
	int64_t lane;
	int log;
} RegisterLane;
RegisterLane jit_register_lane(const KernelJit *k, const Value *value);

/* jit_strided.c */
/* Lanes of a local that each have an index of their own. */
Rvalue *jit_gathered_lanes(Lanes *l, const Value *value);

/* jit_lanes.c */
/* A choice by comparisons; NULL: it is none, or not in vectors. */
Rvalue *jit_choice_lanes(Lanes *l, const Value *value);
/* Vectors in, vector out, one lane after another. */
Rvalue *jit_lane_by_lane(Lanes *l, const Value *value);
/* Is it the number of a lane, where it differs between them? */
bool jit_is_lane_number(const Lanes *l, const Value *value);
/* Is it a function that vectors have a form of? */
bool jit_is_lanes_call(const KernelJit *k, const Value *value);
void jit_lanes_enter(Lanes *l, uint32_t part);
/* Makes the lanes of a store from `at` to `extent` one segment, those behind the last one masked,
 * where they would take several; of lanes from another one than 0 on, those before the first one as
 * well. false: nothing was done. */
bool jit_lanes_mask(Lanes *l, const Stmt *stmt, int64_t at, int64_t extent);
/* The functions in the value, of the first n parts at once, which are begun. */
void jit_lanes_calls(Lanes *l, const Value *value, uint32_t n);

/* jit_strided.c */
/* How far neighbouring lanes of a buffer lie apart; 1 where they do not differ. */
int64_t jit_lanes_strided(const Lanes *l, const Ix *ix);
Rvalue *jit_load_strided(Lanes *l, const Value *load);
/* The value's lanes stored `stride` elements from each other. */
void jit_store_strided(Lanes *l, const Stmt *stmt, int64_t stride, Rvalue *value);

#endif
