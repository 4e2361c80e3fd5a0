/* What the compiler is asked for a target, and the check of its features in the modules that are
 * made. */
#include "codegen/cpu.h"

#define BIT FEATURE_BIT

int cpu_vector_bits(const Target *target) { return 8 * (int)target->vector_bytes; }

CpuSimd cpu_simd(const Target *target)
{
	uint64_t masks = BIT(AVX512VL) | BIT(AVX512BW);
	if ((target->features & masks) == masks)
		return CPU_AVX512;
	return target->features & BIT(AVX) ? CPU_AVX : CPU_SSE2;
}

unsigned cpu_extras(const Target *target)
{
	uint64_t vnni = BIT(AVX512VNNI) | BIT(AVX512VL), bf16 = BIT(AVX512BF16) | BIT(AVX512VL);
	return (target->features & BIT(AVX2) ? CPU_WIDENS : 0) |
	       (target->features & BIT(F16C) ? CPU_F16C : 0) |
	       (target->features & BIT(AVX512VBMI) ? CPU_VBMI : 0) |
	       ((target->features & vnni) == vnni ? CPU_VNNI : 0) |
	       ((target->features & bf16) == bf16 ? CPU_BF16 : 0) |
	       (target->features & (BIT(FMA) | BIT(NEON)) ? CPU_FMA : 0) |
	       (target_has_matrix(target, true) ? CPU_TILES_BF16 : 0) |
	       (target_has_matrix(target, false) ? CPU_TILES_INT8 : 0);
}

const char *cpu_feature_names(Arena *arena, const Target *target)
{
	const char *text = "";
	for (int f = 0; f < FEATURE_COUNT; f++)
		if ((target->features & ~features_of_tiles()) >> f & 1)
			text = arena_printf(arena, "%s%s%s", text, *text ? " " : "",
					    feature_rows[f].name);
	return text;
}

/* Feature by feature: GCC of one version knows processors that another does not. */
size_t cpu_flags(Arena *arena, const Target *target, const char ***flags)
{
	VEC(const char *) words = {0};
	PUSH(arena, words, "-march=x86-64");
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (target->features >> f & 1)
			PUSH(arena, words, arena_printf(arena, "-m%s", feature_rows[f].name));
	PUSH(arena, words, arena_printf(arena, "-mtune=%s", target->tune));
	if (cpu_vector_bits(target) > 128)
		PUSH(arena, words,
		     arena_printf(arena, "-mprefer-vector-width=%d", cpu_vector_bits(target)));
	*flags = words.at;
	return words.n;
}

static void test_bits(FILE *out, const char *reg, uint32_t mask)
{
	if (mask)
		fprintf(out, "\tandl\t$%u, %s\n\tcmpl\t$%u, %s\n\tjne\t1f\n", mask, reg, mask, reg);
}

/* One cpuid for all features of a leaf; it overwrites rbx, which the caller of cpu_check_asm
 * saved. */
static void test_leaf(FILE *out, CpuidLeaf leaf, const uint32_t masks[4])
{
	if (!(masks[EAX] | masks[EBX] | masks[ECX] | masks[EDX]))
		return;
	fprintf(out, "\tmovl\t$%u, %%eax\n\tmovl\t$%u, %%ecx\n\tcpuid\n", cpuid_leaves[leaf].leaf,
		cpuid_leaves[leaf].sub);
	static const char *const names[] = {"%eax", "%ebx", "%ecx", "%edx"};
	for (int r = EAX; r <= EDX; r++)
		test_bits(out, names[r], masks[r]);
}

/* An indirect function: the dynamic loader runs its resolver once, and a call costs a jump. cpuid at every
 * call would cost microseconds inside a virtual machine, a cached answer would be a mutable global, and
 * libgcc's __cpu_model would be a dependency. Nothing but baseline instructions runs here. Label 2, which
 * the caller writes, is the function where the machine has the features, 3 (resolver_end) where not. */
static void resolver_asm(FILE *out, uint64_t features, const char *symbol)
{
	uint32_t masks[LEAF_COUNT][4] = {{0}}, xcr0 = 0;
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (features >> f & 1) {
			masks[feature_rows[f].leaf][feature_rows[f].reg] |= (uint32_t)1
									    << feature_rows[f].bit;
			xcr0 |= feature_rows[f].state;
		}
	if (xcr0)
		masks[LEAF_1][ECX] |= OSXSAVE;
	fprintf(out, "\t.text\n\t.p2align 4\n\t.type\t%s, @gnu_indirect_function\n%s:\n", symbol,
		symbol);
	fprintf(out,
		"\tpushq\t%%rbx\n\txorl\t%%eax, %%eax\n\tcpuid\n\tcmpl\t$7, %%eax\n\tjb\t1f\n");
	for (CpuidLeaf leaf = 0; leaf < LEAF_COUNT; leaf++)
		test_leaf(out, leaf, masks[leaf]);
	if (xcr0) {
		fprintf(out, "\txorl\t%%ecx, %%ecx\n\txgetbv\n");
		test_bits(out, "%eax", xcr0);
	}
	fprintf(out, "\tleaq\t2f(%%rip), %%rax\n\tpopq\t%%rbx\n\tret\n");
	fprintf(out, "1:\tleaq\t3f(%%rip), %%rax\n\tpopq\t%%rbx\n\tret\n");
}

static void resolver_end(FILE *out, const char *symbol)
{
	fprintf(out, "3:\txorl\t%%eax, %%eax\n\tret\n\t.size\t%s, .-%s\n", symbol, symbol);
}

void cpu_check_asm(FILE *out, const Target *target, const char *symbol)
{
	resolver_asm(out, target->features & ~features_of_tiles(), symbol);
	fprintf(out, "2:\tmovl\t$1, %%eax\n\tret\n");
	resolver_end(out, symbol);
}

/* arch_prctl(ARCH_GET_XCOMP_PERM, &mask), whose bit 18 stands for the data of tiles. */
void cpu_tiles_asm(FILE *out, const Target *target, const char *symbol)
{
	resolver_asm(out, target->features & features_of_tiles(), symbol);
	fprintf(out, "2:\tsubq\t$24, %%rsp\n\tmovq\t$0, 8(%%rsp)\n\tmovl\t$158, %%edi\n"
		     "\tmovl\t$0x1022, %%esi\n\tleaq\t8(%%rsp), %%rdx\n\txorl\t%%eax, %%eax\n"
		     "\tcall\tsyscall@PLT\n\tmovq\t8(%%rsp), %%rax\n\tshrq\t$18, %%rax\n"
		     "\tandl\t$1, %%eax\n\taddq\t$24, %%rsp\n\tret\n");
	resolver_end(out, symbol);
}

/* arch_prctl(ARCH_REQ_XCOMP_PERM, 18) */
void cpu_ask_tiles_asm(FILE *out, const char *ask, const char *symbol)
{
	fprintf(out,
		"\t.text\n\t.p2align 4\n\t.globl\t%s\n\t.weak\ttsr_use_tiles\n\t.type\t%s, @function\n"
		"\t.type\ttsr_use_tiles, @function\n%s:\ntsr_use_tiles:\n",
		ask, ask, ask);
	fprintf(out,
		"\tsubq\t$8, %%rsp\n\tmovl\t$158, %%edi\n\tmovl\t$0x1023, %%esi\n\tmovl\t$18, %%edx\n"
		"\txorl\t%%eax, %%eax\n\tcall\tsyscall@PLT\n\tcall\t%s\n\taddq\t$8, %%rsp\n\tret\n"
		"\t.size\t%s, .-%s\n\t.size\ttsr_use_tiles, .-%s\n",
		symbol, ask, ask, ask);
}
