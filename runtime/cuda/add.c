#include "runtime/cuda/add.h"

#include <stddef.h>

/* LOAD sets %a1 to the element at [%d9], STORE puts %a0 at [%d9]. */
#define KERNEL(NAME, BYTES, REGISTER, LOAD, ADD, MOVE, STORE)                                     \
	".visible .entry tsr_add_" NAME "(.param .u64 own, .param .u64 parts, .param .u64 to,\n"  \
	"\t.param .u64 n, .param .u64 stride, .param .u32 rank, .param .u32 ranks)\n"             \
	"{\n"                                                                                     \
	"\t.reg .pred %p<4>;\n\t.reg .b16 %h<2>;\n\t.reg .b32 %r<10>;\n\t.reg .b64 %d<16>;\n"     \
	"\t.reg ." REGISTER " %a<2>;\n"                                                           \
	"\tld.param.u64 %d0, [own];\n\tld.param.u64 %d1, [parts];\n\tld.param.u64 %d2, [to];\n"   \
	"\tld.param.u64 %d3, [n];\n\tld.param.u64 %d4, [stride];\n"                               \
	"\tld.param.u32 %r4, [rank];\n\tld.param.u32 %r5, [ranks];\n"                             \
	"\tcvta.to.global.u64 %d0, %d0;\n\tcvta.to.global.u64 %d1, %d1;\n"                        \
	"\tcvta.to.global.u64 %d2, %d2;\n"                                                        \
	"\tmov.u32 %r0, %ctaid.x;\n\tmov.u32 %r1, %ntid.x;\n\tmov.u32 %r2, %tid.x;\n"             \
	"\tmov.u32 %r3, %nctaid.x;\n\tmul.wide.u32 %d5, %r0, %r1;\n\tcvt.u64.u32 %d6, %r2;\n"     \
	"\tadd.u64 %d5, %d5, %d6;\n\tmul.wide.u32 %d7, %r3, %r1;\n"                               \
	"ELEMENT_" NAME ":\n"                                                                     \
	"\tsetp.ge.u64 %p0, %d5, %d3;\n\t@%p0 bra END_" NAME ";\n"                                \
	"\tmov.u32 %r6, 0;\n\tmov.u64 %d8, %d5;\n"                                                \
	"PART_" NAME ":\n"                                                                        \
	"\tsetp.eq.u32 %p1, %r6, %r4;\n\tselp.b64 %d9, %d5, %d8, %p1;\n"                          \
	"\tselp.b64 %d10, %d0, %d1, %p1;\n\tmad.lo.u64 %d9, %d9, " BYTES ", %d10;\n" LOAD         \
	"\tsetp.eq.u32 %p2, %r6, 0;\n\t@%p2 " MOVE " %a0, %a1;\n\t@!%p2 " ADD " %a0, %a0, %a1;\n" \
	"\tadd.u32 %r6, %r6, 1;\n\tadd.u64 %d8, %d8, %d4;\n"                                      \
	"\tsetp.lt.u32 %p3, %r6, %r5;\n\t@%p3 bra PART_" NAME ";\n"                               \
	"\tmad.lo.u64 %d9, %d5, " BYTES ", %d2;\n" STORE                                          \
	"\tadd.u64 %d5, %d5, %d7;\n\tbra ELEMENT_" NAME ";\n"                                     \
	"END_" NAME ":\n\tret;\n}\n"

#define PLAIN(NAME, BYTES, REGISTER, ADD)                                            \
	KERNEL(NAME, BYTES, REGISTER, "\tld.global." REGISTER " %a1, [%d9];\n", ADD, \
	       "mov." REGISTER, "\tst.global." REGISTER " [%d9], %a0;\n")

#define HALF(NAME, LOAD, STORE)                                                                 \
	KERNEL(NAME, "2", "f32", "\tld.global.u16 %h0, [%d9];\n" LOAD, "add.rn.f32", "mov.f32", \
	       STORE "\tst.global.u16 [%d9], %h1;\n")

/* clang-format off */
const char add_ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	PLAIN("f32", "4", "f32", "add.rn.f32")
	PLAIN("f64", "8", "f64", "add.rn.f64")
	PLAIN("i32", "4", "u32", "add.u32")
	PLAIN("i64", "8", "u64", "add.u64")
	HALF("f16", "\tcvt.f32.f16 %a1, %h0;\n", "\tcvt.rn.f16.f32 %h1, %a0;\n")
	HALF("bf16", "\tcvt.u32.u16 %r7, %h0;\n\tshl.b32 %r7, %r7, 16;\n\tmov.b32 %a1, %r7;\n",
	     "\tcvt.rn.bf16.f32 %h1, %a0;\n");
/* clang-format on */

const char *add_kernel(Dtype dtype)
{
	switch (dtype) {
	case DTYPE_F32: return "tsr_add_f32";
	case DTYPE_F64: return "tsr_add_f64";
	case DTYPE_I32:
	case DTYPE_U32: return "tsr_add_i32";
	case DTYPE_I64: return "tsr_add_i64";
	case DTYPE_F16: return "tsr_add_f16";
	case DTYPE_BF16: return "tsr_add_bf16";
	default: return NULL;
	}
}
