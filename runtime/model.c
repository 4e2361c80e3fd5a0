/* Models: loading a shared object, finding its table, reading sizes from it. */
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "runtime/session.h"

int session_fail(tsr_error *error, int code, const char *fmt, ...)
{
	va_list args;
	if (!error)
		return code;
	error->code = code;
	va_start(args, fmt);
	vsnprintf(error->text, sizeof error->text, fmt, args);
	va_end(args);
	return code;
}

int session_check_pointer(const void *pointer, const char *what, tsr_error *error)
{
	return pointer ? TSR_OK : session_fail(error, TSR_FAIL_ARGUMENT, "the %s is NULL", what);
}

tsr_model *tsr_wrap(const tsr_module *table, tsr_error *error)
{
	if (session_check_pointer(table, "table", error) != TSR_OK)
		return NULL;
	if (table->abi != TSR_ABI || table->bytes < sizeof *table) {
		session_fail(error, TSR_FAIL_MODULE,
			     "the module has interface %u; this library reads %u", table->abi,
			     TSR_ABI);
		return NULL;
	}
	const char *fault = table_fault(table);
	if (fault) {
		session_fail(error, TSR_FAIL_MODULE, "the module's table is damaged: %s", fault);
		return NULL;
	}
	tsr_model *model = calloc(1, sizeof *model);
	if (!model)
		session_fail(error, TSR_FAIL_MEMORY, "out of memory");
	else
		model->table = table;
	return model;
}

/* Does the file hold all that its program headers map? The loader maps without looking, and a
 * module cut short would end the process on the first page that is missing. What is no ELF file is
 * left to its message. */
static bool is_whole(FILE *in)
{
	struct stat st;
	Elf64_Ehdr h;
	Elf64_Phdr p;
	bool whole = true;
	bool elf = fstat(fileno(in), &st) == 0 && fread(&h, sizeof h, 1, in) == 1 &&
		   memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_phentsize == sizeof p &&
		   fseeko(in, (off_t)h.e_phoff, SEEK_SET) == 0;
	for (int i = 0; elf && whole && i < h.e_phnum; i++)
		whole = fread(&p, sizeof p, 1, in) == 1 && p.p_offset <= (uint64_t)st.st_size &&
			p.p_filesz <= (uint64_t)st.st_size - p.p_offset;
	return whole;
}

/* Does it begin with a plan, as code for a GPU does? */
static bool is_for_gpu(FILE *in)
{
	static const char plan[] = "//tsr: plan";
	char first[sizeof plan - 1];
	rewind(in);
	return fread(first, sizeof first, 1, in) == 1 && memcmp(first, plan, sizeof first) == 0;
}

/* What the loader must not be given. */
static int check_file(const char *path, tsr_error *error)
{
	const char *why;
	FILE *in = file_open(path, &why);
	if (!in)
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why);
	bool whole = is_whole(in), gpu = is_for_gpu(in);
	fclose(in);
	size_t len = strlen(path);
	if (len > 4 && strcmp(path + len - 4, ".tsr") == 0)
		return session_fail(error, TSR_FAIL_MODULE,
				    "%s: a program; 'tsrc %s -o %.*s.so' makes a module of it",
				    path, path, (int)len - 4, path);
	if (gpu)
		return session_fail(
			error, TSR_FAIL_MODULE,
			"%s: code for a GPU, which nothing here runs yet; what 'cc -shared -fPIC -x c' "
			"makes of a .cu runs on a CPU",
			path);
	return whole ? TSR_OK
		     : session_fail(error, TSR_FAIL_MODULE, "%s: the module is cut short", path);
}

/* dlopen searches the system's directories for a name without a slash: this one is a file's. */
static void *open_shared(const char *path, tsr_error *error)
{
	if (check_file(path, error) != TSR_OK)
		return NULL;
	char *slashed = malloc(strlen(path) + 3);
	if (!slashed) {
		session_fail(error, TSR_FAIL_MEMORY, "out of memory");
		return NULL;
	}
	sprintf(slashed, "%s%s", strchr(path, '/') ? "" : "./", path);
	void *handle = dlopen(slashed, RTLD_NOW | RTLD_LOCAL);
	free(slashed);
	if (!handle)
		session_fail(error, TSR_FAIL_MODULE,
			     "%s: not a shared object that can be loaded: %s", path, dlerror());
	return handle;
}

tsr_model *tsr_open(const char *path, tsr_error *error)
{
	void *handle = session_check_pointer(path, "path", error) == TSR_OK
			       ? open_shared(path, error)
			       : NULL;
	if (!handle)
		return NULL;
	const tsr_module *table = dlsym(handle, "tsr_module_table");
	tsr_model *model = NULL;
	if (!table)
		session_fail(error, TSR_FAIL_MODULE, "%s: it is not a module made by tsrc", path);
	else
		model = tsr_wrap(table, error);
	if (model)
		model->handle = handle;
	else
		dlclose(handle);
	return model;
}

void tsr_close(tsr_model *model)
{
	if (model && model->handle)
		dlclose(model->handle);
	free(model);
}

const tsr_module *tsr_table(const tsr_model *model)
{
	return model ? model->table : NULL;
}

const tsr_routine *tsr_find_routine(const tsr_module *module, const char *name)
{
	for (int32_t i = 0; module && i < module->nroutines; i++)
		if (name_is(module->routines[i].name, name))
			return &module->routines[i];
	return NULL;
}

static bool floor_div(int64_t a, int64_t b, int64_t *out)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	*out = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
	return true;
}

static bool apply(int64_t code, int64_t a, int64_t b, int64_t *out)
{
	switch (code) {
	case TSR_SIZE_ADD: return !__builtin_add_overflow(a, b, out);
	case TSR_SIZE_SUB: return !__builtin_sub_overflow(a, b, out);
	case TSR_SIZE_MUL: return !__builtin_mul_overflow(a, b, out);
	case TSR_SIZE_DIV: return floor_div(a, b, out) && a % b == 0;
	default: return floor_div(a, b, out);
	}
}

int tsr_size_value(const tsr_size *size, const tsr_module *module, const int64_t *dims,
		   int64_t *out)
{
	int64_t stack[SIZE_STACK];
	int depth = 0;
	if (!size || !module || !dims || !out)
		return TSR_FAIL_ARGUMENT;
	for (int64_t i = 0; i < size->n; i++) {
		int64_t code = size->code[2 * i], arg = size->code[2 * i + 1];
		if (code == TSR_SIZE_CONST || code == TSR_SIZE_DIM) {
			bool dim = code == TSR_SIZE_DIM;
			if (depth == SIZE_STACK ||
			    (dim && (arg < 0 || arg >= module->ndims || dims[arg] < 0)))
				return TSR_FAIL_DIM;
			stack[depth++] = dim ? dims[arg] : arg;
		} else if (depth < 2 ||
			   !apply(code, stack[depth - 2], stack[depth - 1], &stack[depth - 2])) {
			return TSR_FAIL_DIM;
		} else {
			depth--;
		}
	}
	if (depth != 1)
		return TSR_FAIL_DIM;
	*out = stack[0];
	return TSR_OK;
}
