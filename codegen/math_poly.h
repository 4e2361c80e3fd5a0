/* Minimax polynomials, lowest coefficient first. Printed by tools/math_poly.py.
 * The error is that of the function which the polynomial is for, relative. */
#ifndef TSR_CODEGEN_MATH_POLY_H
#define TSR_CODEGEN_MATH_POLY_H

/* (exp(r) - 1 - r) / r^2, for exp, on [-0.350039, 0.350039]; error 2^-28.1 */
static const double poly_exp[] = {
	0x1.fffffc0000000p-2,
	0x1.55548c0000000p-3,
	0x1.5558b80000000p-5,
	0x1.123e580000000p-7,
	0x1.6a4d6e0000000p-10,
};

/* (exp(r) - 1 - r) / r^2, for exp(r) - 1, on [-0.350039, 0.350039]; error 2^-31.0 */
static const double poly_expm1[] = {
	0x1.0000000000000p-1,
	0x1.5555540000000p-3,
	0x1.5554f40000000p-5,
	0x1.1112d00000000p-7,
	0x1.6d40500000000p-10,
	0x1.9e8b3e0000000p-13,
};

/* (2^r - 1) / r, for exp2, on [-0.505, 0.505]; error 2^-28.2 */
static const double poly_exp2[] = {
	0x1.62e4300000000p-1,
	0x1.ebfbdc0000000p-3,
	0x1.c6af720000000p-5,
	0x1.3b2dda0000000p-7,
	0x1.5f0f740000000p-10,
	0x1.417a340000000p-13,
};

/* (log(1 + f) - f + f^2/2) / f^3, for log(1 + f), on [-0.333333, 0.333333]; error 2^-30.1 */
static const double poly_log[] = {
	0x1.5555560000000p-2,
	-0x1.ffff180000000p-3,
	0x1.9997ee0000000p-3,
	-0x1.55978c0000000p-3,
	0x1.24eb6e0000000p-3,
	-0x1.f3b02c0000000p-4,
	0x1.b91efa0000000p-4,
	-0x1.06c2ba0000000p-3,
	0x1.e9d18a0000000p-4,
};

/* erf(sqrt(s)) / sqrt(s) - 1, for erf, on [0, 1]; error 2^-30.0 */
static const double poly_erf[] = {
	0x1.06eba80000000p-3,
	-0x1.8127400000000p-2,
	0x1.ce2d740000000p-4,
	-0x1.b8044e0000000p-6,
	0x1.5482fe0000000p-8,
	-0x1.a998ee0000000p-11,
	0x1.69b1b20000000p-14,
	-0x1.238cda0000000p-19,
};

/* log(erfc(x)), for erf(x) = 1 - erfc(x), on [1, 4]; error 2^-35.2 */
static const double poly_erfc[] = {
	0x1.8a59540000000p-13,
	-0x1.212c0e0000000p+0,
	-0x1.4435600000000p-1,
	-0x1.bc15640000000p-4,
	0x1.9d03ec0000000p-6,
	-0x1.138e300000000p-8,
	0x1.cecaac0000000p-12,
	-0x1.6bddb20000000p-16,
};

/* log2(1 + f) / f, in double for pow, on [-0.292893, 0.414214]; error 2^-38.5 */
static const double poly_log2[] = {
	0x1.71547652b58f3p+0,
	-0x1.71547651b70e5p-1,
	0x1.ec709de33dde9p-2,
	-0x1.715478883081ep-2,
	0x1.2776b6cc749e1p-2,
	-0x1.ec6f2e05df84fp-3,
	0x1.a61b7dfac346cp-3,
	-0x1.7188d2b6d1c07p-3,
	0x1.481fa96d9a4b3p-3,
	-0x1.23d651d625732p-3,
	0x1.0ace122c82ecep-3,
	-0x1.13b8a4bce8e10p-3,
	0x1.0f620088d051cp-3,
	-0x1.1da5838f33106p-4,
};

/* (2^r - 1) / r, in double for pow, on [-0.505, 0.505]; error 2^-34.2 */
static const double poly_exp2_double[] = {
	0x1.62e42ff0fbdd4p-1,
	0x1.ebfbe07f4e142p-3,
	0x1.c6b08a962eefbp-5,
	0x1.3b29ebb981057p-7,
	0x1.5d8aa03c40c02p-10,
	0x1.4463503c7e2a2p-13,
	0x1.fddc41e56d529p-17,
};

#endif
