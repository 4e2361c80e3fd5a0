/* Tiles of AMX on a processor that has none: a library to load before a program.
 *
 *   LD_PRELOAD=libamx.so ./program
 *
 * An instruction that the processor does not know raises SIGILL; those of AMX are decoded here, run on a
 * state that each thread has, and skipped. What the manual forbids ends the process with a text: tiles that
 * are not configured or of which the shapes do not fit, reserved bits of a configuration, one tile as two
 * operands. arch_prctl gives the permission to whom asks for it and says whether it was given;
 * TSR_AMX=denied in the environment refuses it. Where the processor has AMX nothing is done.
 *
 * Formula source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, the pages of each
 * instruction; volume 1, chapter 18. Products of bf16: subnormal numbers are 0, in and out; of one
 * instruction terms of even numbers are added one after another, those of odd ones too, then both, then to
 * the tile, each rounded to nearest.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, CONFIG_BYTES = 64, FAILED = 97 };
enum { GET_PERMITTED = 0x1022, ASK_PERMISSION = 0x1023, TILE_DATA = 18 };
/* Of the leaf of features 7: tiles, products of bf16 and of bytes. */
enum { CPUID_TILE = 1 << 24, CPUID_BF16 = 1 << 22, CPUID_INT8 = 1 << 25 };

typedef struct State {
	uint8_t palette, start_row;
	uint8_t rows[TILES];
	uint16_t colsb[TILES];
	uint8_t tile[TILES][ROWS][ROW_BYTES];
} State;

static __thread State state __attribute__((tls_model("initial-exec")));
static bool real, permitted, denied;

/* How many instructions of each kind ran, in all threads. */
typedef enum AmxKind { AMX_CONFIGURE, AMX_RELEASE, AMX_LOAD, AMX_STORE, AMX_BF16, AMX_INT8, AMX_KINDS } AmxKind;
static uint64_t counts[AMX_KINDS];

/* Is the processor's own AMX used? Then nothing is counted. */
bool amx_is_real(void);
uint64_t amx_count(int kind);

bool amx_is_real(void) { return real; }
uint64_t amx_count(int kind)
{
	return kind >= 0 && kind < AMX_KINDS ? __atomic_load_n(&counts[kind], __ATOMIC_RELAXED) : 0;
}

static void count(AmxKind kind) { __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED); }

static _Noreturn void fail(const char *what)
{
	static const char before[] = "AMX: ";
	if (write(2, before, sizeof before - 1) < 0 || write(2, what, strlen(what)) < 0 ||
	    write(2, "\n", 1) < 0)
		_exit(FAILED);
	_exit(FAILED);
}

/* ---- decoding ---- */

/* A VEX-encoded instruction of the opcode map 0F38. */
typedef struct Decoded {
	uint8_t pp, opcode, reg, vvvv; /* pp: 0 none, 1 66, 2 F3, 3 F2 */
	bool memory;
	uint8_t rm;	   /* a register, where it is no memory */
	uint64_t base;	   /* of memory: base + displacement */
	uint64_t stride;   /* index, scaled */
	bool sib;
	size_t bytes;
} Decoded;

static uint64_t general(const ucontext_t *context, int reg)
{
	static const int places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15};
	return (uint64_t)context->uc_mcontext.gregs[places[reg]];
}

static int32_t displacement(const uint8_t *at)
{
	int32_t value;
	memcpy(&value, at, sizeof value);
	return value;
}

/* The operand in memory behind ModRM, which is at `at`; returns the bytes with ModRM. */
static size_t decode_memory(const ucontext_t *context, const uint8_t *at, int x, int b, Decoded *d)
{
	int mod = at[0] >> 6, rm = at[0] & 7;
	size_t n = 1;
	d->sib = rm == 4;
	int base = rm | b;
	bool has_base = true;
	if (d->sib) {
		int index = (at[1] >> 3 & 7) | x, sib_base = at[1] & 7;
		base = sib_base | b;
		has_base = !(sib_base == 5 && mod == 0);
		d->stride = index == 4 ? 0 : general(context, index) << (at[1] >> 6);
		n++;
	}
	bool relative = !d->sib && rm == 5 && mod == 0; /* to the next instruction */
	int64_t by = 0;
	if (mod == 1) {
		by = (int8_t)at[n];
		n += 1;
	} else if (mod == 2 || relative || !has_base) {
		by = displacement(at + n);
		n += 4;
	}
	d->base = (has_base && !relative ? general(context, base) : 0) + (uint64_t)by;
	if (relative)
		d->base += (uint64_t)(uintptr_t)(at + n);
	return n;
}

/* false: it is no such instruction. */
static bool decode(const ucontext_t *context, const uint8_t *at, Decoded *d)
{
	if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84) != 0)
		return false; /* three bytes of VEX, map 0F38; W 0, 128 bits */
	int r = at[1] & 0x80 ? 0 : 8, x = at[1] & 0x40 ? 0 : 8, b = at[1] & 0x20 ? 0 : 8;
	d->pp = at[2] & 3;
	d->vvvv = (uint8_t)(~at[2] >> 3 & 15);
	d->opcode = at[3];
	d->reg = (uint8_t)((at[4] >> 3 & 7) | r);
	d->memory = at[4] >> 6 != 3;
	d->rm = (uint8_t)((at[4] & 7) | b);
	d->bytes = 4 + (d->memory ? decode_memory(context, at + 4, x, b, d) : 1);
	return d->opcode == 0x49 || d->opcode == 0x4b || d->opcode == 0x5c || d->opcode == 0x5e;
}

/* ---- configurations ---- */

static void configure(const uint8_t *config)
{
	State next = {.palette = config[0], .start_row = config[1]};
	if (config[0] > 1)
		fail("ldtilecfg: no such palette");
	if (config[0] == 0) {
		state = (State){0};
		return;
	}
	for (int i = 2; i < CONFIG_BYTES; i++)
		if ((i < 16 || (i >= 32 && i < 48) || i >= 56) && config[i])
			fail("ldtilecfg: a reserved byte is not 0");
	for (int t = 0; t < TILES; t++) {
		memcpy(&next.colsb[t], config + 16 + 2 * t, 2);
		next.rows[t] = config[48 + t];
		if (next.rows[t] > ROWS || next.colsb[t] > ROW_BYTES)
			fail("ldtilecfg: a tile of more rows or bytes than there are");
		if (!next.rows[t] != !next.colsb[t])
			fail("ldtilecfg: a tile of rows without bytes, or of bytes without rows");
	}
	state = next;
}

static void store_configuration(uint8_t *config)
{
	memset(config, 0, CONFIG_BYTES);
	config[0] = state.palette;
	config[1] = state.start_row;
	for (int t = 0; t < TILES; t++) {
		memcpy(config + 16 + 2 * t, &state.colsb[t], 2);
		config[48 + t] = state.rows[t];
	}
}

static void need_tile(int t)
{
	if (!state.palette)
		fail("tiles are used that are not configured");
	if (t >= TILES || !state.rows[t])
		fail("a tile is used that the configuration does not have");
}

/* ---- tiles ---- */

static void load_tile(int t, uint64_t base, uint64_t stride)
{
	need_tile(t);
	memset(state.tile[t], 0, sizeof state.tile[t]);
	for (int r = 0; r < state.rows[t]; r++)
		memcpy(state.tile[t][r],
		       (const void *)(uintptr_t)(base + (uint64_t)r * stride), state.colsb[t]);
	state.start_row = 0;
}

static void store_tile(int t, uint64_t base, uint64_t stride)
{
	need_tile(t);
	for (int r = 0; r < state.rows[t]; r++)
		memcpy((void *)(uintptr_t)(base + (uint64_t)r * stride), state.tile[t][r],
		       state.colsb[t]);
	state.start_row = 0;
}

static void need_product(int to, int a, int b)
{
	need_tile(to);
	need_tile(a);
	need_tile(b);
	if (to == a || to == b || a == b)
		fail("a product of one tile as two operands");
	if (state.colsb[to] % 4 || state.colsb[a] % 4 || state.colsb[b] % 4)
		fail("a product of rows that are no whole words");
	if (state.rows[to] != state.rows[a] || state.colsb[a] / 4 != state.rows[b] ||
	    state.colsb[to] != state.colsb[b])
		fail("a product of tiles whose shapes do not fit");
}

static float flushed(float x) { return isnormal(x) || isinf(x) || isnan(x) ? x : copysignf(0, x); }

static float bf16_at(const uint8_t *row, int i)
{
	uint16_t half;
	memcpy(&half, row + 2 * i, 2);
	uint32_t bits = (uint32_t)half << 16;
	float x;
	memcpy(&x, &bits, 4);
	return flushed(x);
}

/* The product is exact but below the normal numbers: one rounding, as in a fused operation. */
static float plus_product(float sum, float a, float b)
{
	return flushed((float)((double)a * (double)b + (double)sum));
}

static void product_bf16(int to, int a, int b)
{
	for (int m = 0; m < state.rows[to]; m++)
		for (int n = 0; n < state.colsb[to] / 4; n++) {
			float even = 0, odd = 0, sum;
			for (int k = 0; k < state.colsb[a] / 4; k++) {
				const uint8_t *x = state.tile[a][m], *y = state.tile[b][k];
				even = plus_product(even, bf16_at(x, 2 * k), bf16_at(y, 2 * n));
				odd = plus_product(odd, bf16_at(x, 2 * k + 1),
						   bf16_at(y, 2 * n + 1));
			}
			memcpy(&sum, &state.tile[to][m][4 * n], 4);
			sum = flushed(flushed(sum) + flushed(even + odd));
			memcpy(&state.tile[to][m][4 * n], &sum, 4);
		}
}

static int32_t byte_at(const uint8_t *row, int i, bool is_signed)
{
	return is_signed ? (int8_t)row[i] : row[i];
}

static void product_bytes(int to, int a, int b, bool a_signed, bool b_signed)
{
	for (int m = 0; m < state.rows[to]; m++)
		for (int n = 0; n < state.colsb[to] / 4; n++) {
			uint32_t sum;
			memcpy(&sum, &state.tile[to][m][4 * n], 4);
			for (int k = 0; k < state.colsb[a]; k++)
				sum += (uint32_t)(byte_at(state.tile[a][m], k, a_signed) *
						  byte_at(state.tile[b][k / 4], 4 * n + k % 4,
							  b_signed));
			memcpy(&state.tile[to][m][4 * n], &sum, 4);
		}
}

/* ---- instructions ---- */

static bool run_configuration(const Decoded *d)
{
	uint8_t *at = (uint8_t *)(uintptr_t)d->base;
	if (d->vvvv)
		return false;
	if (d->memory && d->pp == 0 && d->reg == 0) {
		count(AMX_CONFIGURE);
		configure(at);
	} else if (d->memory && d->pp == 1 && d->reg == 0) {
		store_configuration(at);
	} else if (!d->memory && d->pp == 0 && d->reg == 0 && d->rm == 0) {
		count(AMX_RELEASE);
		state = (State){0};
	} else if (!d->memory && d->pp == 3 && d->rm == 0) {
		need_tile(d->reg);
		memset(state.tile[d->reg], 0, sizeof state.tile[d->reg]);
	} else {
		return false;
	}
	return true;
}

static bool run_memory(const Decoded *d)
{
	if (!d->memory || !d->sib || d->vvvv || d->pp == 0)
		return false;
	count(d->pp == 2 ? AMX_STORE : AMX_LOAD);
	if (d->pp == 2)
		store_tile(d->reg, d->base, d->stride);
	else
		load_tile(d->reg, d->base, d->stride);
	return true;
}

static bool run_product(const Decoded *d)
{
	if (d->memory || (d->opcode == 0x5c && d->pp != 2))
		return false;
	need_product(d->reg, d->rm, d->vvvv);
	count(d->opcode == 0x5c ? AMX_BF16 : AMX_INT8);
	if (d->opcode == 0x5c)
		product_bf16(d->reg, d->rm, d->vvvv);
	else /* ss with F2, su with F3, us with 66, uu with none */
		product_bytes(d->reg, d->rm, d->vvvv, d->pp >= 2, d->pp == 3 || d->pp == 1);
	return true;
}

static void on_illegal(int number, siginfo_t *info, void *of)
{
	ucontext_t *context = of;
	const uint8_t *at = (const uint8_t *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	Decoded d = {0};
	(void)info;
	bool known = decode(context, at, &d);
	if (known && !permitted)
		fail("an instruction without the permission to use tiles");
	known = known && (d.opcode == 0x49   ? run_configuration(&d)
			  : d.opcode == 0x4b ? run_memory(&d)
					     : run_product(&d));
	if (known)
		context->uc_mcontext.gregs[REG_RIP] += (greg_t)d.bytes;
	else
		signal(number, SIG_DFL); /* runs again, and ends the process */
}

/* ---- the permission ---- */

static long permission(long what, long argument)
{
	if (what == ASK_PERMISSION) {
		if (argument != TILE_DATA || denied) {
			errno = denied ? EPERM : EINVAL;
			return -1;
		}
		permitted = true;
		return 0;
	}
	uint64_t mask = 7 | (uint64_t)permitted << TILE_DATA;
	memcpy((void *)argument, &mask, sizeof mask);
	return 0;
}

/* In front of the C library's. */
long syscall(long number, ...)
{
	long args[6];
	va_list list;
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	bool asks = number == SYS_arch_prctl && (args[0] == GET_PERMITTED || args[0] == ASK_PERMISSION);
	if (asks && (!real || denied))
		return permission(args[0], args[1]);
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

__attribute__((constructor)) static void begin(void)
{
	uint32_t a, b, c, d, all = CPUID_TILE | CPUID_BF16 | CPUID_INT8;
	const char *asked = getenv("TSR_AMX");
	denied = asked && strcmp(asked, "denied") == 0;
	real = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & all) == all;
	if (real)
		return;
	struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO};
	sigaction(SIGILL, &action, NULL);
}
