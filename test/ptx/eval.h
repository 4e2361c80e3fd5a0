/* What instructions compute from registers alone, by mnemonic and type: "add.s32", "setp.lt.f64", "cvt.u64.u32". */
#ifndef TSR_PTX_EVAL_H
#define TSR_PTX_EVAL_H

#include "test/ptx/code.h"

typedef struct PtxEvalRow {
	const char *name; /* with its type */
	PtxEval eval;
	PtxCarryEval carry; /* instead of eval: reads or writes the thread's carry */
} PtxEvalRow;

/* NULL behind the last. */
const PtxEvalRow *ptx_eval_row(int i);
/* Four operands. lut: the table of a function of three bits. */
uint64_t ptx_lop3(uint64_t a, uint64_t b, uint64_t c, uint64_t lut);
/* b with n bits from `at` on replaced by those of a. */
uint64_t ptx_insert(uint64_t a, uint64_t b, uint64_t at, uint64_t n);
/* eval(a, b, c), of operands of type f32 or f64 as the flags say: rounding, FLAG_FTZ, FLAG_SAT. */
uint64_t ptx_eval_float(const PtxInstr *instr, uint64_t a, uint64_t b, uint64_t c);
/* What an atomic operation leaves where `old` was; b, c: its operands. */
uint64_t ptx_eval_atom(PtxAtom op, PtxType type, uint64_t old, uint64_t b, uint64_t c);

#endif
