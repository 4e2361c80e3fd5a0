/* A module for another kind of processor: the readable C, through that one's compiler.
 *
 * The C says its lanes with vectors of GCC, as wide as the target's, so the loops are the policy's; what
 * is left is the choice of instructions. The C says which products are rounded with their sums.
 */
#include <errno.h>
#include <string.h>

#include "base/temporary.h"
#include "codegen/codegen.h"
#include "codegen/cpu.h"
#include "codegen/subprocess.h"

bool cross_wanted(const Emit *emit) { return target_triple(emit->program->options.target) != NULL; }

typedef VEC(const char *) Words;

/* The processor by its features, as for libgccjit: what code may contain is what was asked for. gcc takes
 * the later ones on a later base alone. */
static const char *march(Arena *arena, const Target *target)
{
	uint64_t later = FEATURE_BIT(FP16) | FEATURE_BIT(DOTPROD) | FEATURE_BIT(I8MM) |
			 FEATURE_BIT(BF16);
	const char *text = target->features & later ? "-march=armv8.2-a" : "-march=armv8-a";
	for (int f = 0; f < FEATURE_COUNT; f++)
		if (target->features >> f & 1)
			text = arena_printf(arena, "%s+%s", text, feature_rows[f].name);
	return text;
}

static void add_kind(Arena *arena, Words *words, const Emit *emit, OutputKind kind)
{
	const char *name = emit_name(emit), *slash = strrchr(name, '/');
	if (kind == OUTPUT_ASM)
		PUSH(arena, *words, "-S");
	else if (kind == OUTPUT_OBJ)
		PUSH(arena, *words, "-c");
	else {
		PUSH(arena, *words, "-shared");
		PUSH(arena, *words, "-Wl,-z,relro,-z,now,-z,defs,-z,noexecstack");
		PUSH(arena, *words,
		     arena_printf(arena, "-Wl,-soname,%s", slash ? slash + 1 : name));
	}
}

static const char *const *command(const Emit *emit, OutputKind kind, const char *from)
{
	const Target *target = emit->program->options.target;
	const CodeOptions *options = emit->options;
	Arena *arena = emit->arena;
	Words words = {0};
	PUSH(arena, words, arena_printf(arena, "%s-gcc", target_triple(target)));
	PUSH(arena, words, "-std=c99");
	PUSH(arena, words, arena_printf(arena, "-O%d", options->opt_level));
	PUSH(arena, words, march(arena, target));
	PUSH(arena, words, arena_printf(arena, "-mtune=%s", target->tune));
	PUSH(arena, words, "-ffp-contract=off");
	PUSH(arena, words, "-fno-math-errno");
	PUSH(arena, words, "-fno-trapping-math");
	PUSH(arena, words, "-fno-ident");
	PUSH(arena, words, "-fPIC");
	if (options->debug)
		PUSH(arena, words, "-g");
	add_kind(arena, &words, emit, kind);
	PUSH(arena, words, "-o");
	PUSH(arena, words, emit->output);
	PUSH(arena, words, "-xc");
	PUSH(arena, words, from);
	PUSH(arena, words, "-lm");
	PUSH(arena, words, NULL);
	return words.at;
}

static bool compile(const Emit *emit, OutputKind kind, const char *from, const char *dir)
{
	const char *const *argv = command(emit, kind, from);
	ChildResult result = child_run(emit->arena, argv, dir);
	if (!result.ran) {
		diag(emit->diags, E0524, SPAN_NONE, "cannot run '%s': %s", argv[0], result.text);
		diag_note(emit->diags, SPAN_NONE,
			  "-o STEM.c needs none; Debian has it in gcc-aarch64-linux-gnu and "
			  "libc6-dev-arm64-cross");
	} else if (result.status != 0) {
		diag(emit->diags, E0525, SPAN_NONE, "'%s' failed with status %d: %.*s", argv[0],
		     result.status, (int)strcspn(result.text, "\n"), result.text);
	}
	return result.ran && result.status == 0;
}

bool cross_emit(const Emit *emit, OutputKind kind)
{
	const char *dir = temporary_dir();
	if (!dir) {
		diag(emit->diags, E0501, SPAN_NONE, "cannot make a temporary directory: %s",
		     strerror(errno));
		return false;
	}
	Emit text = *emit;
	text.output = arena_printf(emit->arena, "%s/module.c", dir);
	bool good = c_emit(&text) && compile(emit, kind, text.output, dir);
	temporary_remove(dir);
	return good;
}
