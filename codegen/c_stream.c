/* Streaming stores in C: a loop of one is a call that copies past the caches. */
#include "codegen/c_stream.h"

#include "codegen/streams.h"

/* Both places are where the first iteration has them. */
void c_stream_loop(KernelText *k, const Stmt *loop)
{
	const Stmt *store = loop->body.stmts[0];
	const char *i = k->iters[loop->iter];
	c_kernel_indent(k);
	fprintf(k->out, "{\n");
	k->indent++;
	c_kernel_indent(k);
	fprintf(k->out, "const int64_t %s = %s;\n", i, c_kernel_ix(k, loop->lo));
	const char *to = c_buffer_element(k, store->buffer, store->ix);
	const char *from = c_buffer_element(k, store->value->buffer, store->value->ix);
	c_kernel_indent(k);
	fprintf(k->out, "tsr_stream(&%s, &%s, (%s - %s) * (int64_t)sizeof %s);\n", to, from,
		c_kernel_ix(k, loop->hi), i, to);
	k->indent--;
	c_kernel_indent(k);
	fprintf(k->out, "}\n");
}

void c_stream_end(KernelText *k, Block block)
{
	if (!block_streams(block))
		return;
	c_kernel_indent(k);
	fprintf(k->out, "TSR_STREAM_END;\n");
}

void c_put_stream(FILE *out)
{
	fputs("/* Copies to memory past the caches, whole lines of 64 bytes where these lie: a line that is stored whole need not\n"
	      " * be read before. Other threads see them behind TSR_STREAM_END. */\n"
	      "#ifdef __SSE2__\n#include <emmintrin.h>\n"
	      "#define TSR_STREAM_END _mm_sfence()\n"
	      "static void tsr_stream_line(char *to, const char *from)\n{\n"
	      "\tfor (int i = 0; i < 64; i += 16)\n"
	      "\t\t_mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));\n}\n"
	      "#else\n#define TSR_STREAM_END ((void)0)\n"
	      "static void tsr_stream_line(char *to, const char *from)\n{\n\tmemcpy(to, from, 64);\n}\n#endif\n\n"
	      "static void tsr_stream(void *to, const void *from, int64_t bytes)\n{\n"
	      "\tchar *line = to;\n\tconst char *read = from;\n"
	      "\tint64_t before = (int64_t)(-(uintptr_t)to & 63), i = before < bytes ? before : bytes;\n"
	      "\tif (bytes <= 0)\n\t\treturn;\n"
	      "\tmemcpy(line, read, (size_t)i);\n"
	      "\tfor (; i + 64 <= bytes; i += 64)\n\t\ttsr_stream_line(line + i, read + i);\n"
	      "\tmemcpy(line + i, read + i, (size_t)(bytes - i));\n}\n\n",
	      out);
}
