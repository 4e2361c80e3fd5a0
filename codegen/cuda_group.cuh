/* Boxes of tensors that TMA copies to shared memory, mbarriers that count what has come there and who has been there,
 * and products of a warpgroup from what lies there. An mbarrier is one of a ring: completion `visit` is that of the element
 * visit % ring, none below 0. 16 bytes of each 128 of shared memory stand where bits 7 to 9 of their address say. */
#ifdef __CUDACC__
#define TSR_INLINE static __device__ __forceinline__
typedef struct __align__(128) tsr_map {
	uint8_t bytes[128];
} tsr_map;
#define TSR_MAP const __grid_constant__ tsr_map
#define TSR_THREADS_BEHIND(i, n, m, first) \
	for (int64_t i = TSR_THREAD < (first) ? (n) : (TSR_THREAD - (first)) / (m); i < (n); i = (n))
#define TSR_ONCE_A_WARP if (TSR_LANE == 0)
#define TSR_GROUP_BEGIN asm volatile("wgmma.fence.sync.aligned;" : : : "memory")
#define TSR_GROUP_END asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory")
#define TSR_GROUP_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(n) : "memory")

TSR_INLINE uint32_t tsr_mbarrier(const int64_t *ring, int32_t n, int64_t visit)
{
	return tsr_shared_at(ring) + (uint32_t)visit % (uint32_t)n * 8;
}

/* One thread makes them, behind which all need a barrier; they end behind another one. */
TSR_INLINE void tsr_mbarriers(int64_t *ring, int32_t n, int32_t arrivals)
{
	if (TSR_THREAD != 0)
		return;
	for (int32_t i = 0; i < n; i++)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(tsr_mbarrier(ring, n, i)), "r"(arrivals) : "memory");
	asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

TSR_INLINE void tsr_mbarriers_end(int64_t *ring, int32_t n)
{
	for (int32_t i = 0; i < n && TSR_THREAD == 0; i++)
		asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(tsr_mbarrier(ring, n, i)) : "memory");
}

TSR_INLINE void tsr_arrive(int64_t *ring, int32_t n, int64_t visit)
{
	if (visit >= 0)
		asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(tsr_mbarrier(ring, n, visit)) : "memory");
}

TSR_INLINE void tsr_arrive_bytes(int64_t *ring, int32_t n, int64_t visit, int32_t bytes)
{
	if (visit >= 0)
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
			     : : "r"(tsr_mbarrier(ring, n, visit)), "r"(bytes) : "memory");
}

TSR_INLINE void tsr_await(int64_t *ring, int32_t n, int32_t arrivals, int64_t visit)
{
	(void)arrivals;
	if (visit >= 0)
		asm volatile("{\n\t.reg .pred tsr_p;\nTSR_WAIT_%=:\n\t"
			     "mbarrier.try_wait.parity.shared::cta.b64 tsr_p, [%0], %1;\n\t@!tsr_p bra TSR_WAIT_%=;\n\t}"
			     : : "r"(tsr_mbarrier(ring, n, visit)), "r"((uint32_t)visit / (uint32_t)n & 1) : "memory");
}

/* Where element e of what is swizzled stands, in elements. */
TSR_INLINE int32_t tsr_in_swizzle(int32_t element, int32_t bytes)
{
	return element ^ (element * bytes / 128 & 7) * (16 / bytes);
}

#define TSR_COPY(axes, at, ...) \
	asm volatile("cp.async.bulk.tensor." axes ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" at "}], [%2];" \
		     : : "r"(tsr_shared_at(to)), "l"(map), "r"(tsr_mbarrier(ring, n, visit)), __VA_ARGS__ : "memory")
TSR_INLINE void tsr_copy_2(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, int64_t a, int64_t b)
{
	TSR_COPY("2d", "%3, %4", "r"((int32_t)a), "r"((int32_t)b));
}

TSR_INLINE void tsr_copy_3(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, int64_t a, int64_t b, int64_t c)
{
	TSR_COPY("3d", "%3, %4, %5", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c));
}

TSR_INLINE void tsr_copy_4(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, int64_t a, int64_t b, int64_t c,
			   int64_t d)
{
	TSR_COPY("4d", "%3, %4, %5, %6", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c), "r"((int32_t)d));
}

TSR_INLINE void tsr_copy_5(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, int64_t a, int64_t b, int64_t c,
			   int64_t d, int64_t e)
{
	TSR_COPY("5d", "%3, %4, %5, %6, %7", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c), "r"((int32_t)d), "r"((int32_t)e));
}

/* Windows of a tensor, from where the first one begins, of each the element so far behind that. */
#define TSR_WINDOWS(axes, at, behind, ...) \
	asm volatile("cp.async.bulk.tensor." axes ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" at "}], [%2], {" behind "};" \
		     : : "r"(tsr_shared_at(to)), "l"(map), "r"(tsr_mbarrier(ring, n, visit)), __VA_ARGS__ : "memory")
TSR_INLINE void tsr_windows_3(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, int64_t a, int64_t b, int64_t c,
			      int64_t x)
{
	TSR_WINDOWS("3d", "%3, %4, %5", "%6", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c), "h"((uint16_t)x));
}

TSR_INLINE void tsr_windows_4(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, int64_t a, int64_t b, int64_t c,
			      int64_t d, int64_t x, int64_t y)
{
	TSR_WINDOWS("4d", "%3, %4, %5, %6", "%7, %8", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c), "r"((int32_t)d),
		    "h"((uint16_t)x), "h"((uint16_t)y));
}

TSR_INLINE void tsr_windows_5(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, int64_t a, int64_t b, int64_t c,
			      int64_t d, int64_t e, int64_t x, int64_t y, int64_t z)
{
	TSR_WINDOWS("5d", "%3, %4, %5, %6, %7", "%8, %9, %10", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c), "r"((int32_t)d),
		    "r"((int32_t)e), "h"((uint16_t)x), "h"((uint16_t)y), "h"((uint16_t)z));
}

/* Lane 0 stores boxes for its warp: all that the warp has written to shared memory is fenced first. Until at most n of them
 * are still read. */
#define TSR_STORES_WAIT(n)                                                                           \
	do {                                                                                         \
		if (TSR_LANE == 0)                                                                   \
			asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(n) : "memory");     \
		__syncwarp();                                                                        \
	} while (0)
#define TSR_STORE(axes, at, ...)                                                                     \
	asm volatile("fence.proxy.async.shared::cta;" : : : "memory");                               \
	__syncwarp();                                                                                \
	if (TSR_LANE != 0)                                                                           \
		return;                                                                              \
	asm volatile("cp.async.bulk.tensor." axes ".global.shared::cta.bulk_group [%0, {" at "}], [%1];" \
		     : : "l"(map), "r"(tsr_shared_at(from)), __VA_ARGS__ : "memory");                \
	asm volatile("cp.async.bulk.commit_group;" : : : "memory")
TSR_INLINE void tsr_store_2(const void *from, const tsr_map *map, int64_t a, int64_t b)
{
	TSR_STORE("2d", "%2, %3", "r"((int32_t)a), "r"((int32_t)b));
}

TSR_INLINE void tsr_store_3(const void *from, const tsr_map *map, int64_t a, int64_t b, int64_t c)
{
	TSR_STORE("3d", "%2, %3, %4", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c));
}

TSR_INLINE void tsr_store_4(const void *from, const tsr_map *map, int64_t a, int64_t b, int64_t c, int64_t d)
{
	TSR_STORE("4d", "%2, %3, %4, %5", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c), "r"((int32_t)d));
}

TSR_INLINE void tsr_store_5(const void *from, const tsr_map *map, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e)
{
	TSR_STORE("5d", "%2, %3, %4, %5, %6", "r"((int32_t)a), "r"((int32_t)b), "r"((int32_t)c), "r"((int32_t)d), "r"((int32_t)e));
}

/* How wgmma is told of an operand: where it begins, bytes to the next 64 along its side, and from 8 lines to the next 8. */
TSR_INLINE uint64_t tsr_group_operand(uint32_t at, uint32_t next)
{
	return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)(next >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

/* The first of the four warps' rows, from where a warp's own begin. */
TSR_INLINE uint64_t tsr_group_a(const void *from, int32_t turned, uint32_t next)
{
	const uint32_t back = (uint32_t)TSR_THREAD / 32 % 4 * (turned ? 32 : 2048);
	return tsr_group_operand(tsr_shared_at(from) - back, next);
}

TSR_INLINE uint64_t tsr_group_b(const void *from, uint32_t next) { return tsr_group_operand(tsr_shared_at(from), next); }
#else
/* Of a copy of windows an axis behind the first has some, `step` apart from `low` on; step 0: none */
typedef struct tsr_axis {
	int64_t extent, stride, box, windows, low, step;
} tsr_axis;
/* bytes: of an element */
typedef struct tsr_map {
	const unsigned char *at;
	tsr_axis axis[5];
	int32_t n, bytes;
} tsr_map;
#define TSR_MAP const tsr_map
#define TSR_THREADS_BEHIND(i, n, m, first) TSR_THREADS(i, n, m)
#define TSR_ONCE_A_WARP
#define TSR_GROUP_BEGIN ((void)0)
#define TSR_GROUP_END ((void)0)
#define TSR_GROUP_WAIT(n) ((void)0)
#define TSR_STORES_WAIT(n) ((void)0)

/* Arrivals so far, and in the upper half bytes that have not come. */
static inline void tsr_mbarriers(int64_t *ring, int32_t n, int32_t arrivals)
{
	(void)arrivals;
	for (int32_t i = 0; i < n; i++)
		ring[i] = 0;
}

static inline void tsr_mbarriers_end(int64_t *ring, int32_t n) { tsr_mbarriers(ring, n, 0); }

static inline void tsr_arrive_bytes(int64_t *ring, int32_t n, int64_t visit, int32_t bytes)
{
	if (visit >= 0)
		ring[visit % n] += 1 + ((int64_t)bytes << 32);
}

static inline void tsr_arrive(int64_t *ring, int32_t n, int64_t visit) { tsr_arrive_bytes(ring, n, visit, 0); }

/* One thread after another there is nothing to wait for that has not come. */
static inline void tsr_await(const int64_t *ring, int32_t n, int32_t arrivals, int64_t visit)
{
	if (visit >= 0 && ring[visit % n] != arrivals * (visit / n + 1))
		__builtin_trap();
}

static inline int64_t tsr_in_swizzle(int64_t element, int32_t bytes)
{
	return element ^ (element * bytes / 128 & 7) * (16 / bytes);
}

static inline unsigned char *tsr_swizzled(const void *at)
{
	return (unsigned char *)((uintptr_t)at ^ ((uintptr_t)at >> 7 & 7) << 4);
}

static inline tsr_map tsr_map_of(const void *at, int32_t n, const tsr_axis *axes, int32_t bytes)
{
	tsr_map map = {.at = at, .n = n, .bytes = bytes};
	for (int32_t i = 0; i < n; i++)
		map.axis[i] = axes[i];
	return map;
}

/* An element as it comes to shared memory: of four bytes rounded to tf32. NULL: it is 0. */
static inline void tsr_copy_element(unsigned char *to, const unsigned char *from, int32_t bytes)
{
	float x = 0;
	memset(to, 0, (size_t)bytes);
	if (from != NULL && bytes == 4) {
		memcpy(&x, from, 4);
		x = tsr_tf32(x);
		memcpy(to, &x, 4);
	} else if (from != NULL) {
		memcpy(to, from, (size_t)bytes);
	}
}

/* An element of the tensor by its number in the box; NULL: it is outside of it. */
static inline const unsigned char *tsr_in_box(const tsr_map *map, const int64_t *first, int64_t number)
{
	int64_t from = 0;
	int inside = 1;
	for (int32_t i = 0; i < map->n; i++) {
		const tsr_axis *axis = &map->axis[i];
		const int64_t at = first[i] + number % axis->box;
		inside &= at >= 0 && at < axis->extent;
		from += at * axis->stride;
		number /= axis->box;
	}
	return inside ? map->at + from * map->bytes : NULL;
}

static inline void tsr_copy(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, const int64_t *first)
{
	int64_t elements = 1;
	for (int32_t i = 0; i < map->n; i++)
		elements *= map->axis[i].box;
	for (int64_t k = 0; k < elements; k++)
		tsr_copy_element(tsr_swizzled((unsigned char *)to + k * map->bytes), tsr_in_box(map, first, k), map->bytes);
	ring[visit % n] -= elements * map->bytes * ((int64_t)1 << 32);
}
#define TSR_COPY(to, map, ring, n, visit, ...) tsr_copy(to, map, ring, n, visit, (const int64_t[]){__VA_ARGS__})
#define tsr_copy_2 TSR_COPY
#define tsr_copy_3 TSR_COPY
#define tsr_copy_4 TSR_COPY
#define tsr_copy_5 TSR_COPY

/* To where the next window begins: behind the last one of an axis is the first one, and the axis behind moves on. */
static inline void tsr_next_window(const tsr_map *map, int64_t *begin)
{
	for (int32_t i = 1; i < map->n; i++) {
		const tsr_axis *axis = &map->axis[i];
		begin[i] += axis->step;
		if (begin[i] < axis->low + axis->windows * axis->step || i + 1 == map->n)
			return;
		begin[i] = axis->low;
	}
}

/* `at`: where the first window begins, and behind that for each axis but the last how far behind that the element is. */
static inline void tsr_windows(void *to, const tsr_map *map, int64_t *ring, int32_t n, int64_t visit, const int64_t *at)
{
	const int64_t line = map->axis[0].box, windows = map->axis[1].box;
	int64_t begin[5], first[5];
	memcpy(begin, at, (size_t)map->n * sizeof *begin);
	for (int64_t w = 0; w < windows; w++, tsr_next_window(map, begin)) {
		for (int32_t i = 0; i < map->n; i++)
			first[i] = begin[i] + (i && i + 1 < map->n ? at[map->n + i - 1] : 0);
		for (int64_t k = 0; k < line; k++)
			tsr_copy_element(tsr_swizzled((unsigned char *)to + (w * line + k) * map->bytes), tsr_in_box(map, first, k),
					 map->bytes);
	}
	ring[visit % n] -= line * windows * map->bytes * ((int64_t)1 << 32);
}
#define TSR_WINDOWS(to, map, ring, n, visit, ...) tsr_windows(to, map, ring, n, visit, (const int64_t[]){__VA_ARGS__})
#define tsr_windows_3 TSR_WINDOWS
#define tsr_windows_4 TSR_WINDOWS
#define tsr_windows_5 TSR_WINDOWS

static inline void tsr_store(const void *from, const tsr_map *map, const int64_t *first)
{
	int64_t elements = 1;
	for (int32_t i = 0; i < map->n; i++)
		elements *= map->axis[i].box;
	for (int64_t k = 0; k < elements; k++) {
		unsigned char *to = (unsigned char *)(uintptr_t)tsr_in_box(map, first, k);
		if (to != NULL)
			memcpy(to, (const unsigned char *)from + tsr_in_swizzle(k, map->bytes) * map->bytes, (size_t)map->bytes);
	}
}
#define TSR_STORE(from, map, ...) tsr_store(from, map, (const int64_t[]){__VA_ARGS__})
#define tsr_store_2 TSR_STORE
#define tsr_store_3 TSR_STORE
#define tsr_store_4 TSR_STORE
#define tsr_store_5 TSR_STORE

/* An operand has lines of 128 bytes along k, or, turned, along its side: `next` bytes from those to the next. */
typedef struct tsr_operand {
	const void *from;
	uint32_t next;
	int32_t bytes, turned;
	double (*of)(const void *);
} tsr_operand;

static inline double tsr_at_bf16(const void *at)
{
	uint16_t x;
	memcpy(&x, at, 2);
	return tsr_of_bf16(x);
}

static inline double tsr_at_f16(const void *at)
{
	uint16_t x;
	memcpy(&x, at, 2);
	return tsr_of_f16(x);
}

static inline double tsr_at_tf32(const void *at)
{
	float x;
	memcpy(&x, at, 4);
	return (double)x;
}

static inline double tsr_operand_element(const tsr_operand *o, int32_t at, int32_t k)
{
	const int32_t line = 128 / o->bytes;
	const int64_t element = o->turned ? at / line * (int64_t)(o->next / (uint32_t)o->bytes) + k * line + at % line : at * line + k;
	return o->of(tsr_swizzled((const unsigned char *)o->from + element * o->bytes));
}

/* sums[q][i][j] of a warp's 16 rows and 8 columns for each q, of k terms more. */
static inline void tsr_group(float *sums, int32_t columns, int32_t k, const tsr_operand *a, const tsr_operand *b)
{
	for (int32_t i = 0; i < 16; i++)
		for (int32_t j = 0; j < columns; j++) {
			double products[16];
			for (int32_t n = 0; n < k; n++)
				products[n] = tsr_operand_element(a, i, n) * tsr_operand_element(b, j, n);
			float *sum = &sums[j / 8 * 128 + i * 8 + j % 8];
			*sum = tsr_tensor_sum(*sum, products, k);
		}
}
#endif

