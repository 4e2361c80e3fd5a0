/* Matrices that the threads of a warp hold together: TSR_PART of the elements each, or pairs of 16 bits. A thread has
 * of sums rows L/4 and L/4 + 8 and columns L%4*2 and behind it, where L is its number in the warp; of operands
 * of tf32 rows of a, or columns of b, L/4 + ..., and k = L%4 + ...; pairs as ldmatrix has them. A host has
 * all elements, row after row; of b pairs lie along its columns. */
/* n, or what is left, which may be less than nothing. */
TSR_DEVICE int64_t tsr_fewer(int64_t n, int64_t left) { return left < 0 ? 0 : left < n ? left : n; }

#ifdef __CUDACC__
#define TSR_LANE ((int32_t)threadIdx.x % 32)
#define TSR_PART(n) ((n) / 32)
#define TSR_PAIRS(n) ((n) / 64)
#define TSR_ELEMENTS(e, n) _Pragma("unroll") for (int32_t e = 0; e < TSR_PART(n); e++)
#define TSR_ELEMENTS_TWO(e, n) _Pragma("unroll") for (int32_t e = 0; e < TSR_PART(n); e += 2)
#define TSR_SUM_ROW(e, n) (TSR_LANE / 4 + (e) / 2 * 8)
#define TSR_SUM_COLUMN(e, n) (TSR_LANE % 4 * 2 + (e) % 2)
#define TSR_A_ROW(e, n) (TSR_LANE / 4 + (e) % 2 * 8)
#define TSR_A_COLUMN(e, n) (TSR_LANE % 4 + (e) / 2 * 4)
#define TSR_B_ROW(e, n) (TSR_LANE % 4 + (e) * 4)
#define TSR_B_COLUMN(e, n) (TSR_LANE / 4)

/* Copies of 16, 8 or 4 bytes to shared memory, from and to multiples of as many; a part reads the first `read` ones,
 * and the others become 0; TSR_WAIT(n): all but those of the n groups that
 * were committed last have come, for the thread that waits. */
#define TSR_COMMIT asm volatile("cp.async.commit_group;" : : : "memory")
#define TSR_WAIT(n) asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory")

TSR_DEVICE uint32_t tsr_shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

#define TSR_COPY_ASYNC(bytes, caches) \
	TSR_DEVICE void tsr_copy_async_##bytes(void *to, const void *from) \
	{ \
		asm volatile("cp.async." caches ".shared.global [%0], [%1], " #bytes ";" \
			     : : "r"(tsr_shared_at(to)), "l"(__cvta_generic_to_global(from)) : "memory"); \
	} \
	TSR_DEVICE void tsr_copy_async_part_##bytes(void *to, const void *from, int32_t read) \
	{ \
		asm volatile("cp.async." caches ".shared.global [%0], [%1], " #bytes ", %2;" \
			     : : "r"(tsr_shared_at(to)), "l"(__cvta_generic_to_global(from)), "r"(read) : "memory"); \
	}
TSR_COPY_ASYNC(16, "cg")
TSR_COPY_ASYNC(8, "ca")
TSR_COPY_ASYNC(4, "ca")

/* Each thread gives where a row of 8 elements begins, which lie side by side. */
TSR_DEVICE void tsr_load_a(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	const uint32_t at = tsr_shared_at(from + TSR_LANE % 16 * pitch + TSR_LANE / 16 * 8);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
}

TSR_DEVICE void tsr_load_a_turned(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	const uint32_t at = tsr_shared_at(from + (TSR_LANE / 16 * 8 + TSR_LANE % 8) * pitch + TSR_LANE / 8 % 2 * 8);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
}

TSR_DEVICE void tsr_load_b(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	const uint32_t at = tsr_shared_at(from + TSR_LANE % 8 * pitch + TSR_LANE / 8 % 2 * 8);
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
		     : "=r"(to[0]), "=r"(to[1]) : "r"(at) : "memory");
}

TSR_DEVICE void tsr_load_b_turned(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	const uint32_t at = tsr_shared_at(from + TSR_LANE % 16 * pitch);
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
		     : "=r"(to[0]), "=r"(to[1]) : "r"(at) : "memory");
}

/* Two matrices at once, the second `next` elements behind the first. */
TSR_DEVICE void tsr_load_two_b(uint32_t *to, uint32_t *second, const uint16_t *from, int32_t pitch, int32_t next)
{
	const uint32_t at = tsr_shared_at(from + TSR_LANE / 16 * next + TSR_LANE % 8 * pitch + TSR_LANE / 8 % 2 * 8);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(to[0]), "=r"(to[1]), "=r"(second[0]), "=r"(second[1]) : "r"(at) : "memory");
}

TSR_DEVICE void tsr_load_two_b_turned(uint32_t *to, uint32_t *second, const uint16_t *from, int32_t pitch, int32_t next)
{
	const uint32_t at = tsr_shared_at(from + TSR_LANE / 16 * next + TSR_LANE % 16 * pitch);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(to[0]), "=r"(to[1]), "=r"(second[0]), "=r"(second[1]) : "r"(at) : "memory");
}

/* Of f32 a row is 4 elements along k, and a thread has of each matrix the one that it would have two of 16 bits of. */
TSR_DEVICE void tsr_floats(float *to, const uint32_t *bits, int32_t n)
{
#pragma unroll
	for (int32_t i = 0; i < n; i++)
		to[i] = __uint_as_float(bits[i]);
}

TSR_DEVICE void tsr_load_a_tf32(float *to, const float *from, int32_t pitch)
{
	uint32_t bits[4];
	tsr_load_a(bits, (const uint16_t *)from, 2 * pitch);
	tsr_floats(to, bits, 4);
}

TSR_DEVICE void tsr_load_b_tf32(float *to, const float *from, int32_t pitch)
{
	uint32_t bits[2];
	tsr_load_b(bits, (const uint16_t *)from, 2 * pitch);
	tsr_floats(to, bits, 2);
}

TSR_DEVICE void tsr_load_two_b_tf32(float *to, float *second, const float *from, int32_t pitch, int32_t next)
{
	uint32_t bits[4];
	tsr_load_two_b(bits, bits + 2, (const uint16_t *)from, 2 * pitch, 2 * next);
	tsr_floats(to, bits, 2);
	tsr_floats(second, bits + 2, 2);
}

#define TSR_MATRIX_16(name, type) \
	TSR_DEVICE void name(float *sums, const uint32_t *a, const uint32_t *b) \
	{ \
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
			     "{%8, %9}, {%0, %1, %2, %3};" \
			     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) \
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
	}
TSR_MATRIX_16(tsr_m16n8k16_bf16, "bf16")
TSR_MATRIX_16(tsr_m16n8k16_f16, "f16")

TSR_DEVICE void tsr_m16n8k8_tf32(float *sums, const float *a, const float *b)
{
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
		     "{%0, %1, %2, %3};"
		     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
		     : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
		       "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

TSR_DEVICE float tsr_tf32(float x)
{
	uint32_t bits;
	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
	return __uint_as_float(bits);
}
#else
#define TSR_PART(n) (n)
#define TSR_PAIRS(n) ((n) / 2)
#define TSR_ELEMENTS(e, n) for (int32_t e = 0; e < (n); e++)
#define TSR_ELEMENTS_TWO(e, n) for (int32_t e = 0; e < (n); e += 2)
#define TSR_SUM_ROW(e, n) ((e) / (n))
#define TSR_SUM_COLUMN(e, n) ((e) % (n))
#define TSR_A_ROW TSR_SUM_ROW
#define TSR_A_COLUMN TSR_SUM_COLUMN
#define TSR_B_ROW TSR_SUM_ROW
#define TSR_B_COLUMN TSR_SUM_COLUMN

#define TSR_COMMIT ((void)0)
#define TSR_WAIT(n) ((void)0)

#define TSR_COPY_ASYNC(bytes) \
	static inline void tsr_copy_async_##bytes(void *to, const void *from) { memcpy(to, from, bytes); } \
	static inline void tsr_copy_async_part_##bytes(void *to, const void *from, int32_t read) \
	{ \
		memset(to, 0, bytes); \
		if (read > 0) \
			memcpy(to, from, (size_t)read); \
	}
TSR_COPY_ASYNC(16)
TSR_COPY_ASYNC(8)
TSR_COPY_ASYNC(4)

static inline void tsr_pair_set(uint32_t *pair, int32_t k, uint16_t x)
{
	*pair = k % 2 ? (*pair & 0xffffu) | (uint32_t)x << 16 : (*pair & 0xffff0000u) | x;
}

static inline void tsr_load_a(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	for (int32_t i = 0; i < 16; i++)
		for (int32_t k = 0; k < 16; k++)
			tsr_pair_set(&to[i * 8 + k / 2], k, from[i * pitch + k]);
}

static inline void tsr_load_a_turned(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	for (int32_t i = 0; i < 16; i++)
		for (int32_t k = 0; k < 16; k++)
			tsr_pair_set(&to[i * 8 + k / 2], k, from[k * pitch + i]);
}

static inline void tsr_load_b(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	for (int32_t k = 0; k < 16; k++)
		for (int32_t j = 0; j < 8; j++)
			tsr_pair_set(&to[k / 2 * 8 + j], k, from[j * pitch + k]);
}

static inline void tsr_load_b_turned(uint32_t *to, const uint16_t *from, int32_t pitch)
{
	for (int32_t k = 0; k < 16; k++)
		for (int32_t j = 0; j < 8; j++)
			tsr_pair_set(&to[k / 2 * 8 + j], k, from[k * pitch + j]);
}

static inline void tsr_load_two_b(uint32_t *to, uint32_t *second, const uint16_t *from, int32_t pitch, int32_t next)
{
	tsr_load_b(to, from, pitch);
	tsr_load_b(second, from + next, pitch);
}

static inline void tsr_load_two_b_turned(uint32_t *to, uint32_t *second, const uint16_t *from, int32_t pitch, int32_t next)
{
	tsr_load_b_turned(to, from, pitch);
	tsr_load_b_turned(second, from + next, pitch);
}

static inline void tsr_load_a_tf32(float *to, const float *from, int32_t pitch)
{
	for (int32_t i = 0; i < 16; i++)
		for (int32_t k = 0; k < 8; k++)
			to[i * 8 + k] = from[i * pitch + k];
}

static inline void tsr_load_b_tf32(float *to, const float *from, int32_t pitch)
{
	for (int32_t k = 0; k < 8; k++)
		for (int32_t j = 0; j < 8; j++)
			to[k * 8 + j] = from[j * pitch + k];
}

static inline void tsr_load_two_b_tf32(float *to, float *second, const float *from, int32_t pitch, int32_t next)
{
	tsr_load_b_tf32(to, from, pitch);
	tsr_load_b_tf32(second, from + next, pitch);
}

/* c plus n exact products as tensor cores add: aligned to the largest exponent, cut toward zero below 2^-25 of it,
 * added exactly and cut to f32. */
static inline float tsr_tensor_sum(float c, const double *products, int32_t n)
{
	double largest = fabs((double)c), sum = (double)c;
	for (int32_t i = 0; i < n; i++) {
		largest = fmax(largest, fabs(products[i]));
		sum += products[i];
	}
	if (!(fabs(sum) < HUGE_VAL) || largest == 0)
		return (float)sum;
	const int up = 25 - ilogb(largest);
	sum = trunc(ldexp((double)c, up));
	for (int32_t i = 0; i < n; i++)
		sum += trunc(ldexp(products[i], up));
	sum = ldexp(sum, -up);
	const float near = (float)sum;
	return fabs((double)near) > fabs(sum) ? nextafterf(near, 0.0f) : near;
}

static inline double tsr_of_bf16(uint16_t x)
{
	const uint32_t bits = (uint32_t)x << 16;
	float value;
	memcpy(&value, &bits, sizeof value);
	return (double)value;
}

static inline double tsr_of_f16(uint16_t x)
{
	const int exponent = x >> 10 & 31, rest = x & 1023;
	const double size = exponent == 31 ? (rest ? (double)NAN : (double)INFINITY)
			    : exponent     ? ldexp((double)(rest + 1024), exponent - 25)
					   : ldexp((double)rest, -24);
	return x >> 15 ? -size : size;
}

#define TSR_MATRIX_16(name, of) \
	static inline void name(float *sums, const uint32_t *a, const uint32_t *b) \
	{ \
		for (int32_t e = 0; e < 128; e++) { \
			double products[16]; \
			for (int32_t k = 0; k < 16; k++) \
				products[k] = of((uint16_t)(a[e / 8 * 8 + k / 2] >> 16 * (k % 2))) * \
					      of((uint16_t)(b[k / 2 * 8 + e % 8] >> 16 * (k % 2))); \
			sums[e] = tsr_tensor_sum(sums[e], products, 16); \
		} \
	}
TSR_MATRIX_16(tsr_m16n8k16_bf16, tsr_of_bf16)
TSR_MATRIX_16(tsr_m16n8k16_f16, tsr_of_f16)

static inline void tsr_m16n8k8_tf32(float *sums, const float *a, const float *b)
{
	for (int32_t e = 0; e < 128; e++) {
		double products[8];
		for (int32_t k = 0; k < 8; k++)
			products[k] = (double)a[e / 8 * 8 + k] * (double)b[k * 8 + e % 8];
		sums[e] = tsr_tensor_sum(sums[e], products, 8);
	}
}

/* The nearest, of two the one further from zero. */
static inline float tsr_tf32(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	if ((bits >> 23 & 255) == 255)
		return x;
	bits = (bits + 0x1000u) & 0xffffe000u;
	memcpy(&x, &bits, sizeof x);
	return x;
}
#endif

