/* What the readers of array files share, private to base: a file's own element types, one record
 * per array, and the bytes behind it. */
#ifndef TSR_BASE_ARRAY_FORMAT_H
#define TSR_BASE_ARRAY_FORMAT_H

#include "base/array_file.h"

/* The element types that files hold; the first rows are those of the language. */
typedef enum Element {
	ELEMENT_F64,
	ELEMENT_F32,
	ELEMENT_F16,
	ELEMENT_BF16,
	ELEMENT_F8E4M3,
	ELEMENT_F8E5M2,
	ELEMENT_I64,
	ELEMENT_I32,
	ELEMENT_I16,
	ELEMENT_I8,
	ELEMENT_U64,
	ELEMENT_U32,
	ELEMENT_U16,
	ELEMENT_U8,
	ELEMENT_BOOL,
	ELEMENT_I4, /* of arrays alone: no file has them */
	ELEMENT_U4,
	ELEMENT_OTHER /* known to the file only: `type` names it */
} Element;

/* What a file says about one array. */
typedef struct Layout {
	Element element;
	char type[24]; /* as the file spells it */
	bool swapped;  /* the other byte order */
	bool fortran;  /* the first axis is the fastest */
	bool integers; /* to be read as integers: set before they are loaded */
	bool dequantised; /* products with scales: rounded to the type that is asked for */
	int rank;
	int64_t extents[ARRAY_RANK_MAX];
	size_t nelements;
	uint64_t offset, bytes; /* in the file (safetensors, npy), or in the member (npz) */
} Layout;

typedef struct Entry {
	char *name;  /* owned */
	uint64_t
		at; /* of a .npz: the member's number; of a .safetensors: of its description in the header;
		      * of a .gguf: of the tensor in its table, and which array of it */
} Entry;

typedef struct Format {
	/* Adds an entry for each array; false with an error. */
	bool (*open)(ArrayFile *file, ArrayError *error);
	/* What the file says about an array; of its elements nothing is read. */
	bool (*measure)(ArrayFile *file, size_t index, Layout *layout, ArrayError *error);
	/* The elements as they stand in the file: *raw is malloc'd, ARRAY_ALIGNMENT. */
	bool (*load)(ArrayFile *file, size_t index, const Layout *layout, void **raw,
		     ArrayError *error);
	void (*close)(ArrayFile *file);
	/* Adds an entry for what a key means that names none; false with an error. NULL: keys are names. */
	bool (*pick)(ArrayFile *file, const char *key, ArrayError *error);
} Format;

/* Bytes of a file, of an array by its number. */
typedef struct ByteRange {
	uint64_t begin, end;
	size_t index;
} ByteRange;

struct ArrayFile {
	const Format *format;
	FILE *in;                   /* NULL in memory */
	const unsigned char *bytes; /* in memory */
	uint64_t len;
	Entry *entries; /* owned; in the file's order */
	size_t nentries, room;
	const Entry **by_name; /* owned; the same, sorted */
	void *archive;	       /* of a .npz; of a .gguf or .csv its table, owned */
	char *header;          /* of a .safetensors; owned */
	size_t header_len;
};

extern const Format npy_format, npz_format, safetensors_format, gguf_format, csv_format;

/* "a, b, c, ..." of the names in the file from one on, for a message. */
void array_file_list(const ArrayFile *file, size_t first, char *text, size_t room);
/* Takes the name over; false when memory is short. */
bool array_file_add(ArrayFile *file, char *name, uint64_t at, ArrayError *error);
/* n bytes from `offset`; false when the file ends before. */
bool array_file_bytes(const ArrayFile *file, uint64_t offset, void *to, size_t n);
/* Loads elements that stand in the file as they are. */
bool array_file_load(ArrayFile *file, size_t index, const Layout *layout, void **raw,
		     ArrayError *error);
/* Room for n bytes (at least 1), aligned; NULL when memory is short. */
void *array_room(uint64_t n);
size_t element_bytes(Element element);
/* Sets nelements and bytes from the extents, checked for overflow. */
bool layout_measure(Layout *layout, ArrayError *error);
/* A .npy header of at most `len` bytes; sets offset to the first byte of data. */
bool npy_parse(const unsigned char *bytes, size_t len, Layout *layout, ArrayError *error);
/* The length of a .npy's whole header from its first 12 bytes; 0 when they are none. */
uint64_t npy_header_bytes(const unsigned char bytes[12]);
enum { NPY_HEADER_MAX = 1 << 16, NPY_PREFIX = 12 };

/* The array that array_decode would make, without data. */
bool array_plan(const Layout *layout, Dtype want, Array *out, ArrayError *error);
/* Takes `raw` over and makes the array. */
bool array_decode(const Layout *layout, void *raw, Dtype want, Array *out, ArrayError *error);

/* Sorts the ranges; the first that begins inside of another one, or NULL. */
const ByteRange *ranges_overlap(ByteRange *ranges, size_t n);

#endif
