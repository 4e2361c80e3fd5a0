/* What stands here for the names of other languages and libraries.
 *
 * A name that nothing declares is looked up among the words that people bring along, then among the
 * letters of the specifications before it, whose sizes have names only after a `with`.
 */
#include <string.h>

#include "frontend/build.h"
#include "frontend/specs.h"

enum { ERRORS_EXPLAINED = 20 }; /* looking for a letter goes through the graph */

typedef struct ForeignName {
	const char *name;
	const char *meant; /* takes its place, or NULL */
	const char *note;
} ForeignName;

#define AXES "axes are permuted by permute(\"ij => ji\", x), rows by x.T"
#define SIZE "the size of an axis gets a name by 'with': E with (h)"
#define FILL "a number fits any shape, and [0, 0, 0] is a literal"
#define JOIN \
	"tensors are joined by concat(\"x, ...; y, ... => x^y, ...\", a, b) or stack(output, a, b)"
#define MEET "'a * b' composes: input axes of a meet output axes of b; einsum says any other"
#define COUNT \
	"sizes never depend on data: a mask of 0 and 1 in the same shape, multiplied or in where(mask, a, b), says which elements count"
#define PAIRS                                                                                 \
	"there are no complex numbers: keep the real and the imaginary part in two tensors; " \
	"(a + ib)(c + id) has the parts a .* c - b .* d and a .* d + b .* c"
#define WAVES PAIRS ", and a Fourier transform is a product with cosines and one with sines"
#define ADDS "an axis more is a number in the result: sum(\"i => i, 0\", x)"
#define CALLED "a cast is called like the element type"
#define CAST CALLED ": i32(x)"
#define PART "parts of an axis are taken one by one: sum(\"a^b => a\", x) with (a = 3)"
#define READ "elements are read where indices say by gather(\"[v], d; i => i, d\", x, ids)"
#define WRITE \
	"indices say where to by scatter(\"i, d; i => [v], d\", x, ids) with (v = 10), reduce = sum, max, min, prod or set"
#define APART \
	"axes are taken apart and joined by their names: permute(\"b, (h d) => h, b, d\", x) with (h = 2)"
#define ALONG "a letter that the result alone has repeats: sum(\"i => i, j\", x) with (j = 3)"
#define GIVEN "a tensor of numbers is [[1, 2], [3, 4]], named by 'const' or 'let'"
#define DRAWN "random numbers in whatever shape are uniform(seed) and normal(seed)"
#define NN_INIT \
	"a parameter begins as {w : [a -> b] = nn.glorot(a, b)}, or nn.he(a), after 'import nn'"
#define BELOW \
	"where(sum(\"i => i, 0\", range(n)) >= range(n), x, 0) keeps what is on and below the diagonal"
#define SHOWN \
	"a program prints nothing: 'tsr run' prints its results, and 'tsrc --keep=NAME' makes any tensor one"
#define NOTHING "there is no value for nothing: what is not there is left out"
#define LARGER \
	"nn.upsample_nearest2d(2)(x) and nn.upsample_bilinear2d(2)(x), after 'import nn', make pictures larger"
#define STEPS "it is a step of a routine: 'backward loss', behind which w.grad is a gradient"
#define LOSS \
	"a loss is any expression: nn.mean((y - target) ** 2), nn.mean(nn.cross_entropy(logits, ids))"
#define CHAIN "layers are instances, applied one after another: second(relu(first(x)))"
#define TALLY "how often each is there is scatter(\"; i => [v]\", i32(1), ids) with (v = 10)"
static const ForeignName foreign_names[] = {
	{"nn", NULL, "the library is there after 'import nn'"},
	{"argmin", NULL, "the place of the least is argmax(\"i, j => i\", -x)"},
	{"amax", NULL, "the greatest is reduce(max, \"i, j => i\", x)"},
	{"amin", NULL, "the least is reduce(min, \"i, j => i\", x)"},
	{"prod", NULL, "the product is reduce(prod, \"i, j => i\", x)"},
	{"any", NULL, "reduce(max, \"i, j => i\", x) is 1 where one is"},
	{"all", NULL, "reduce(min, \"i, j => i\", x) is 1 where all are"},
	{"maximum", "max", "the greater of two is max(a, b)"},
	{"minimum", "min", "the less of two is min(a, b)"},
	{"clip", NULL, "write min(max(x, least), greatest)"},
	{"clamp", NULL, "write min(max(x, least), greatest)"},
	{"pow", NULL, "powers are written a ** b"},
	{"power", NULL, "powers are written a ** b"},
	{"square", NULL, "write x ** 2"},
	{"mod", NULL, "the rest is a % b"},
	{"ln", "log", "log is the natural logarithm"},
	{"ceiling", "ceil", "to the next greater integer"},
	{"mean", NULL,
	 "the mean is sum(\"i, d => i\", x) / d with (d), or nn.mean after 'import nn'"},
	{"average", NULL,
	 "the mean is sum(\"i, d => i\", x) / d with (d), or nn.mean after 'import nn'"},
	{"pad", NULL, "a number joins zeros to an axis: concat(\"x => 1^x^1\", a)"},
	{"eye", NULL,
	 "1 where indices are equal: where(sum(\"i => i, 0\", range(n)) == range(n), 1, 0)"},
	{"identity", NULL,
	 "1 where indices are equal: where(sum(\"i => i, 0\", range(n)) == range(n), 1, 0)"},
	{"norm", NULL, "the length is sqrt(sum(\"i, d => i\", x ** 2))"},
	{"std", NULL,
	 "it is sqrt of the mean of (x - mean) ** 2; nn.mean is there after 'import nn'"},
	{"var", NULL, "it is the mean of (x - mean) ** 2; nn.mean is there after 'import nn'"},
	{"nonzero", NULL, COUNT},
	{"argwhere", NULL, COUNT},
	{"unique", NULL, COUNT},
	{"masked_select", NULL, COUNT},
	{"complex", NULL, PAIRS},
	{"complex64", NULL, PAIRS},
	{"complex128", NULL, PAIRS},
	{"real", NULL, PAIRS},
	{"imag", NULL, PAIRS},
	{"conj", NULL, PAIRS},
	{"fft", NULL, WAVES},
	{"rfft", NULL, WAVES},
	{"ifft", NULL, WAVES},
	{"cumsum", NULL, "sums up to each place are cumulate(sum, \"i, [j] => i, j\", x)"},
	{"cumprod", NULL, "products up to each place are cumulate(prod, \"i, [j] => i, j\", x)"},
	{"cummax", NULL, "the greatest up to each place is cumulate(max, \"i, [j] => i, j\", x)"},
	{"cummin", NULL, "the least up to each place is cumulate(min, \"i, [j] => i, j\", x)"},
	{"interpolate", NULL, LARGER},
	{"upsample", NULL, LARGER},
	{"flatten", "reshape", "reshape(x) takes the axes that its use has"},
	{"arange", "range", "0, 1, ... is range(n)"},
	{"matmul", NULL, MEET},
	{"dot", NULL, MEET},
	{"transpose", NULL, AXES},
	{"zeros", NULL, FILL "; a border of zeros is called skip"},
	{"replicate", "edge", "what is nearest stands around an axis: border = edge"},
	{"circular", "wrap", "an axis goes on with its other end: border = wrap"},
	{"ones", NULL, FILL},
	{"cat", NULL, JOIN},
	{"concatenate", NULL, JOIN},
	{"cast", NULL, CAST},
	{"astype", NULL, CAST},
	{"split", NULL, PART},
	{"chunk", NULL, PART},
	{"narrow", NULL, PART},
	{"take", NULL, READ},
	{"index_select", NULL, READ},
	{"scatter_add", "scatter", WRITE},
	{"index_add", "scatter", WRITE},
	{"scatter_reduce", "scatter", WRITE},
	{"segment_sum", "scatter", WRITE},
	{"bincount", NULL, TALLY},
	{"histogram", NULL, TALLY},
	{"squeeze", NULL,
	 "an axis of one element is left out by its number: sum(\"i, 0 => i\", x)"},
	{"unsqueeze", NULL, ADDS},
	{"expand_dims", NULL, ADDS},
	{"rearrange", NULL, APART},
	{"repeat", NULL, ALONG},
	{"tile", NULL, ALONG},
	{"expand", NULL, ALONG},
	{"broadcast_to", NULL, ALONG},
	{"permute_dims", NULL, AXES},
	{"swapaxes", NULL, AXES},
	{"moveaxis", NULL, AXES},
	{"vstack", NULL, JOIN},
	{"hstack", NULL, JOIN},
	{"mm", NULL, MEET},
	{"bmm", NULL, "products of a batch are einsum(\"b, i, j; b, j, k => b, i, k\", x, y)"},
	{"outer", NULL, "all products are einsum(\"i; j => i, j\", x, y)"},
	{"inner", NULL, MEET},
	{"tensordot", NULL, MEET},
	{"array", NULL, GIVEN},
	{"tensor", NULL, GIVEN},
	{"Tensor", NULL, GIVEN},
	{"rand", NULL, DRAWN},
	{"randn", NULL, DRAWN},
	{"random", NULL, DRAWN},
	{"xavier", NULL, NN_INIT},
	{"xavier_uniform", NULL, NN_INIT},
	{"xavier_normal", NULL, NN_INIT},
	{"kaiming_uniform", NULL, NN_INIT},
	{"kaiming_normal", NULL, NN_INIT},
	{"linspace", NULL, "equal steps from 0 to 1 are range(n) / (n - 1)"},
	{"tril", NULL, BELOW},
	{"triu", NULL, BELOW},
	{"zeros_like", NULL, FILL},
	{"ones_like", NULL, FILL},
	{"full", NULL, FILL},
	{"flip", NULL, "backwards is gather(\"i, [v]; j => i, j\", x, n - 1 - range(n))"},
	{"roll", NULL, "parts change places in concat(\"a; b => a^b\", x, y)"},
	{"diff", NULL, "differences are sum(\"1^i => i\", x) - sum(\"i^1 => i\", x)"},
	{"logsumexp", NULL,
	 "log(sum(\"... | v => ... |\", exp(x))), of x less its greatest element"},
	{"detach", "stop", "what counts as a constant in gradients is stop(x)"},
	{"stop_gradient", "stop", "what counts as a constant in gradients is stop(x)"},
	{"item", NULL, "a tensor of one element, [], is a number already"},
	{"numpy", NULL, "results are arrays of the caller already"},
	{"print", NULL, SHOWN},
	{"None", NULL, NOTHING},
	{"null", NULL, NOTHING},
	{"backward", NULL, STEPS},
	{"parameters", NULL,
	 "parameters are gone through by a step: for p in params(loss) { ... }"},
	{"Dropout", "nn.dropout", "it is in force in net(x; training = 1)"},
	{"Sequential", NULL, CHAIN},
	{"ModuleList", NULL, "copies of a layer are iterate(n, h = x) { layer()(h) }"},
	{"MSELoss", "nn.mean_squared_error", "the mean of the squares of the differences"},
	{"mse_loss", "nn.mean_squared_error", "the mean of the squares of the differences"},
	{"L1Loss", "nn.absolute_error", "one number an element, of which nn.mean is the loss"},
	{"BCELoss", NULL, LOSS},
	{"NLLLoss", NULL, LOSS},
	{"BCEWithLogitsLoss", "nn.binary_cross_entropy",
	 "one number an element, of which nn.mean is the loss"},
	{"KLDivLoss", "nn.kl_divergence", "one number an example, of which nn.mean is the loss"},
	{"AdaptiveAvgPool2d", "nn.global_avg_pool2d", "the mean over all places of a picture"},
	{"MultiheadAttention", "nn.self_attention", "'attention' takes another memory beside x"},
	{"TransformerEncoderLayer", "nn.transformer_block",
	 "nn.transformer_block(heads, width, hidden)(x)"},
	{"view", "reshape", "reshape(x) takes the axes that its use has"},
	{"shape", NULL, SIZE},
	{"size", NULL, SIZE},
	{"len", NULL, SIZE},
	{"true", "1", "comparisons and logic give 1 and 0"},
	{"false", "0", "comparisons and logic give 1 and 0"},
	{"True", "1", "comparisons and logic give 1 and 0"},
	{"False", "0", "comparisons and logic give 1 and 0"},
};

static bool note_cast(Build *b, Name name)
{
	Dtype meant = dtype_elsewhere(name.sym, strlen(name.sym));
	if (meant != DTYPE_NONE)
		diag_fix(b->diags, name.span, dtype_name(meant), CALLED);
	return meant != DTYPE_NONE;
}

static const ForeignName *find_word(Name name)
{
	const ForeignName *found = NULL;
	for (size_t i = 0; i < sizeof foreign_names / sizeof *foreign_names && !found; i++)
		if (strcmp(foreign_names[i].name, name.sym) == 0)
			found = &foreign_names[i];
	return found;
}

static bool note_word(Build *b, Name name)
{
	const ForeignName *word = find_word(name);
	if (word && word->meant)
		diag_fix(b->diags, name.span, word->meant, "%s", word->note);
	else if (word)
		diag_note(b->diags, name.span, "%s", word->note);
	return word != NULL;
}

/* `einsum("i, d; d => i", a, b) / sqrt(d)`: the letter is no name outside of its specification. What a function
 * applied elsewhere has in its own is none of this place's. */
static bool note_letter(Build *b, Name name)
{
	for (NodeId id = (NodeId)b->graph->nodes.n; id-- > 0;) {
		const Node *node = graph_node(b->graph, id);
		if (!node->spec || node->site != b->at.site ||
		    node->spec->span.file != name.span.file ||
		    !spec_has_letter(node->spec, name.sym))
			continue;
		diag_note(
			b->diags, node->spec->span,
			"'%s' is an axis in this specification alone; 'with (%s)' behind the expression names its size",
			name.sym, name.sym);
		return true;
	}
	return false;
}

bool foreign_explain(Build *b, Name name)
{
	if (b->diags->nerrors > ERRORS_EXPLAINED)
		return false;
	return note_word(b, name) || note_cast(b, name) || note_letter(b, name);
}

const char *foreign_function(Name name, const char **note)
{
	Dtype cast = dtype_elsewhere(name.sym, strlen(name.sym));
	const ForeignName *word = find_word(name);
	*note = word ? word->note : cast != DTYPE_NONE ? CALLED : NULL;
	return word ? word->meant : cast != DTYPE_NONE ? dtype_name(cast) : NULL;
}
