/* Trains letters.tsr on a text, and prints what it writes: letters TEXT [STEPS] */
#include <stdio.h>
#include <stdlib.h>

#include "letters.h"

enum { ROWS = 64, BEFORE = 16, LETTERS = 400 };

typedef struct Text {
	unsigned char *bytes;
	long n;
} Text;

static Text read_text(const char *path)
{
	FILE *in = fopen(path, "rb");
	Text text = {malloc(1 << 20), 0};
	if (in && text.bytes)
		text.n = (long)fread(text.bytes, 1, 1 << 20, in);
	if (in)
		fclose(in);
	for (long i = 0; i < text.n; i++)
		text.bytes[i] &= 127;
	return text;
}

static unsigned draw(unsigned long *seed)
{
	*seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(*seed >> 33);
}

typedef struct Trainer {
	tsr_call call;
	void *state, *workspace;
} Trainer;

/* Rows from anywhere in the text; the loss, or -1 after an error. */
static float train(Trainer *t, const Text *text, unsigned long *seed, float rate)
{
	static int32_t before[ROWS][BEFORE], next[ROWS];
	float loss;
	for (int row = 0; row < ROWS; row++) {
		const unsigned char *at = text->bytes + draw(seed) % (unsigned long)(text->n - BEFORE);
		for (int i = 0; i < BEFORE; i++)
			before[row][i] = at[i];
		next[row] = at[BEFORE];
	}
	return letters_train(&t->call, ROWS, rate, before[0], next, &loss, t->state, t->workspace) ? -1 : loss;
}

static int write_on(Trainer *t, const Text *text)
{
	int32_t before[BEFORE], id;
	for (int i = 0; i < BEFORE; i++)
		before[i] = text->bytes[i];
	for (int k = 0; k < LETTERS; k++) {
		if (letters_write(&t->call, 1, k, 0.7f, before, &id, t->state, t->workspace))
			return 1;
		putchar(id == '\n' || (id >= ' ' && id < 127) ? id : ' ');
		for (int i = 0; i + 1 < BEFORE; i++)
			before[i] = before[i + 1];
		before[BEFORE - 1] = id;
	}
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	Text text = read_text(argc > 1 ? argv[1] : "");
	int steps = argc > 2 ? atoi(argv[2]) : 3000, bad = text.n <= BEFORE;
	const char *why = "no text, or no memory";
	unsigned long seed = 1;
	Trainer t = {.call = {.abi = TSR_ABI, .message = &why},
		     .state = aligned_alloc(64, letters_state_size() + 64),
		     .workspace = aligned_alloc(64, letters_train_workspace(ROWS) + letters_write_workspace(1) + 64)};
	bad |= !t.state || !t.workspace;
	if (!bad)
		letters_init(t.state, 1);
	for (int step = 0; step < steps && !bad; step++) {
		float loss = train(&t, &text, &seed, 3e-3f);
		bad = !(loss >= 0);
		if (step % 500 == 0 || step + 1 == steps)
			printf("step %4d  loss %.2f\n", step, (double)loss);
	}
	if (bad || write_on(&t, &text)) {
		fprintf(stderr, "letters: %s\n", why);
		return 1;
	}
	free(text.bytes);
	free(t.workspace);
	free(t.state);
	return 0;
}
