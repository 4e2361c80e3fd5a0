/* Models: loading a shared object, finding its table; code for a GPU. */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/file.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/plan.h"
#include "runtime/session.h"

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

static bool is_inside(uint64_t at, uint64_t bytes, uint64_t size)
{
	return at <= size && bytes <= size - at;
}

/* Does the file hold all that its program headers map? */
static bool holds_segments(FILE *in, const Elf64_Ehdr *h, uint64_t size)
{
	Elf64_Phdr p;
	bool whole = fseeko(in, (off_t)h->e_phoff, SEEK_SET) == 0;
	for (int i = 0; whole && i < h->e_phnum; i++)
		whole = fread(&p, sizeof p, 1, in) == 1 && is_inside(p.p_offset, p.p_filesz, size);
	return whole;
}

/* Are the sections, of which the table stands at the end, where it says? They are not where bytes were taken out or put in;
 * there may be no table. */
static bool holds_sections(FILE *in, const Elf64_Ehdr *h, uint64_t size)
{
	Elf64_Shdr s;
	if (h->e_shoff == 0)
		return true;
	bool whole = h->e_shentsize == sizeof s && h->e_shstrndx < h->e_shnum &&
		     is_inside(h->e_shoff, (uint64_t)h->e_shnum * sizeof s, size) &&
		     fseeko(in, (off_t)h->e_shoff, SEEK_SET) == 0;
	for (int i = 0; whole && i < h->e_shnum; i++)
		whole = fread(&s, sizeof s, 1, in) == 1 && (i != 0 || s.sh_type == SHT_NULL) &&
			(s.sh_type == SHT_STRTAB || i != h->e_shstrndx) &&
			(s.sh_type == SHT_NOBITS || is_inside(s.sh_offset, s.sh_size, size));
	return whole;
}

/* The loader maps without looking: a module cut short would end the process on the first page that is missing, and one in
 * which bytes have moved where it follows what is no offset any more. What is no ELF file is left to its message. */
static bool is_whole(FILE *in)
{
	struct stat st;
	Elf64_Ehdr h;
	bool elf = fstat(fileno(in), &st) == 0 && fread(&h, sizeof h, 1, in) == 1 &&
		   memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_phentsize == sizeof(Elf64_Phdr);
	uint64_t size = elf ? (uint64_t)st.st_size : 0;
	return !elf || (holds_segments(in, &h, size) && holds_sections(in, &h, size));
}

/* Does it begin with a plan, as code for a GPU does? */
static bool is_for_gpu(FILE *in)
{
	static const char plan[] = "//tsr: plan";
	char first[sizeof plan - 1];
	rewind(in);
	return fread(first, sizeof first, 1, in) == 1 && memcmp(first, plan, sizeof first) == 0;
}

/* What the loader must not be given; *gpu: code for a GPU, which it is not. */
static int check_file(const char *path, bool *gpu, tsr_error *error)
{
	const char *why;
	FILE *in = file_open(path, &why);
	if (!in)
		return session_fail(error, TSR_FAIL_FILE, "%s: %s", path, why);
	bool whole = is_whole(in) && digest_holds(in);
	*gpu = is_for_gpu(in);
	fclose(in);
	size_t len = strlen(path);
	if (len > 4 && strcmp(path + len - 4, ".tsr") == 0)
		return session_fail(error, TSR_FAIL_MODULE,
				    "%s: a program; 'tsrc %s -o %.*s.so' makes a module of it",
				    path, path, (int)len - 4, path);
	return whole ? TSR_OK
		     : session_fail(error, TSR_FAIL_MODULE,
				    "%s: the module is cut short or changed", path);
}

/* The path with a number written behind its folders, as bits: '.' and '/' there are the same folder. */
static void write_alias(char *out, const char *path, uint64_t number)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	out += slash ? sprintf(out, "%.*s", (int)(base - path), path) : sprintf(out, "./");
	for (; number; number /= 2)
		out += sprintf(out, number % 2 ? "./" : "/");
	strcpy(out, base);
}

/* dlopen gives out again what it has loaded under a name, though another file may have that name since. A name that
 * it has never met, of now, says which file is there: of one file there is one copy all the same. A name without a
 * slash it would look for in the system's directories. */
static void *open_shared(const char *path, tsr_error *error)
{
	struct timespec now = {0};
	char *name = malloc(strlen(path) + 2 * 64 + 3);
	if (!name) {
		session_fail(error, TSR_FAIL_MEMORY, "out of memory");
		return NULL;
	}
	write_alias(name, path, 0);
	void *before = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	clock_gettime(CLOCK_REALTIME, &now);
	if (before)
		write_alias(name, path, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (before)
		dlclose(before);
	free(name);
	if (!handle)
		session_fail(error, TSR_FAIL_MODULE,
			     "%s: not a shared object that can be loaded: %s", path, dlerror());
	return handle;
}

/* Its table must be that of the same program. */
static int add_cpu(const char *path, tsr_model *model, const tsr_gpu_code *code, tsr_error *error)
{
	if (!gpu_has_more(code) || !code->cpu)
		return TSR_OK;
	if (code->cpu->abi != TSR_ABI || table_fault(code->cpu) ||
	    !tables_agree(code->cpu, gpu_table(model->gpu)))
		return session_fail(error, TSR_FAIL_MODULE,
				    "%s: its code for a CPU is of another program", path);
	model->cpu = code->cpu;
	return TSR_OK;
}

/* The code for a GPU that the module may have. */
static int add_gpu(const char *path, tsr_model *model, tsr_error *error)
{
	const tsr_gpu_code *code = dlsym(model->handle, "tsr_gpu_code_table");
	if (!code)
		return TSR_OK;
	if (code->abi != TSR_ABI || code->bytes < offsetof(tsr_gpu_code, more) || !code->text)
		return session_fail(
			error, TSR_FAIL_MODULE,
			"%s: its code for a GPU has interface %u; this library reads %u", path,
			code->abi, TSR_ABI);
	model->gpu = gpu_of_code(path, code, error);
	if (!model->gpu)
		return TSR_FAIL_MODULE;
	return gpu_table(model->gpu)->nroutines == model->table->nroutines
		       ? add_cpu(path, model, code, error)
		       : session_fail(error, TSR_FAIL_MODULE, "%s: its plan is of another program",
				      path);
}

static tsr_model *open_module(const char *path, tsr_error *error)
{
	void *handle = open_shared(path, error);
	if (!handle)
		return NULL;
	const tsr_module *table = dlsym(handle, "tsr_module_table");
	tsr_model *model = NULL;
	if (!table)
		session_fail(error, TSR_FAIL_MODULE, "%s: it is not a module made by tsrc", path);
	else
		model = tsr_wrap(table, error);
	if (!model) {
		dlclose(handle);
		return NULL;
	}
	model->handle = handle;
	int (*use_tiles)(void) = (int (*)(void))dlsym(handle, "tsr_use_tiles");
	if (use_tiles)
		use_tiles(); /* where it may not, it does without */
	if (add_gpu(path, model, error) == TSR_OK)
		return model;
	tsr_close(model);
	return NULL;
}

static tsr_model *open_gpu(const char *path, tsr_error *error)
{
	Gpu *gpu = gpu_open(path, error);
	tsr_model *model = gpu ? tsr_wrap(gpu_table(gpu), error) : NULL;
	if (model)
		model->gpu = gpu;
	else
		gpu_close(gpu);
	return model;
}

tsr_model *tsr_open(const char *path, tsr_error *error)
{
	bool gpu = false;
	if (session_check_pointer(path, "path", error) != TSR_OK ||
	    check_file(path, &gpu, error) != TSR_OK)
		return NULL;
	return gpu ? open_gpu(path, error) : open_module(path, error);
}

void tsr_close(tsr_model *model)
{
	if (model)
		gpu_close(model->gpu);
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
