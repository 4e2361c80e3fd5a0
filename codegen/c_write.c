/* Lines of C around statements: indents, braces, loops that the compiler or this text writes out. */
#include "codegen/c_kernel.h"

const char *c_kernel_temp(KernelText *k) { return arena_printf(k->arena, "tsr_t%u", k->ntemps++); }

void c_kernel_indent(KernelText *k)
{
	for (int i = 0; i < k->indent; i++)
		putc('\t', k->out);
}

void c_put_unroll(KernelText *k, int64_t times)
{
	if (k->device)
		fprintf(k->out, "TSR_UNROLL\n");
	else if (times > 1)
		fprintf(k->out, "#pragma GCC unroll %lld\n", (long long)times);
}

static bool declares(Block block)
{
	for (uint32_t i = 0; i < block.n; i++)
		if (block.stmts[i]->kind == LOOP_LOCAL)
			return true;
	return false;
}

void c_kernel_open(KernelText *k, Block block)
{
	if (!declares(block))
		return;
	c_kernel_indent(k);
	fprintf(k->out, "{\n");
	k->indent++;
}

void c_kernel_close(KernelText *k, Block block)
{
	if (!declares(block))
		return;
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

void c_kernel_fix(KernelText *k, IterVar iter, int64_t at)
{
	k->fixed[iter] = k->unrolled[iter] = true;
	k->at[iter] = at;
	k->iters[iter] = arena_printf(k->arena, "%lld", (long long)at);
}

void c_kernel_release(KernelText *k, IterVar iter, const char *name)
{
	k->fixed[iter] = k->unrolled[iter] = false;
	k->iters[iter] = name;
}
