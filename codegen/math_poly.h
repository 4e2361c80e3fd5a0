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

/* log2(erfc(a/sqrt(2))) / a, for gelu, on [1e-09, 5.6]; error 2^-24.6 */
static const double poly_gelu[] = {
	-0x1.26af120000000p+0,
	-0x1.d62f1e0000000p-2,
	-0x1.af73280000000p-5,
	0x1.e299800000000p-8,
	-0x1.ab3a260000000p-12,
	-0x1.e2ed280000000p-15,
	0x1.28cb780000000p-17,
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

/* sin(r) / r - 1 over s = r^2, for sin, on [1e-09, 0.623019]; error 2^-32.5 */
static const double poly_sin[] = {
	-0x1.5555560000000p-3,
	0x1.1111740000000p-7,
	-0x1.a0591e0000000p-13,
	0x1.7c11180000000p-19,
};

/* sin(r) / r - 1 over s = r^2, for sin and cos near 0, on [1e-09, 2.46773]; error 2^-31.0 */
static const double fast_sin[] = {
	-0x1.5555560000000p-3, 0x1.1111360000000p-7,   -0x1.a023cc0000000p-13,
	0x1.72cdd80000000p-19, -0x1.b622fe0000000p-26,
};

/* (cos(r) - 1 + r^2/2) / r^4 over s = r^2, for cos, on [1e-09, 0.623019]; error 2^-32.9 */
static const double poly_cos[] = {
	0x1.55554a0000000p-5,
	-0x1.6c0c200000000p-10,
	0x1.99e42c0000000p-16,
};

/* 1/k! from k = 2, for exp and tanh of f64, on [-0.350039, 0.350039]; error 2^-56 */
static const double double_exp[] = {
	0x1.0000000000000p-1,
	0x1.5555555555555p-3,
	0x1.5555555555555p-5,
	0x1.1111111111111p-7,
	0x1.6c16c16c16c17p-10,
	0x1.a01a01a01a01ap-13,
	0x1.a01a01a01a01ap-16,
	0x1.71de3a556c734p-19,
	0x1.27e4fb7789f5cp-22,
	0x1.ae64567f544e4p-26,
	0x1.1eed8eff8d898p-29,
	0x1.6124613a86d09p-33,
};

/* (2 atanh(s) / s - 2) / z over z = s^2, for log of f64, on [1e-09, 0.0295]; error 2^-57.3 */
static const double double_log[] = {
	0x1.5555555555531p-1,
	0x1.99999999998f5p-2,
	0x1.2492492ef6d86p-2,
	0x1.c71c5f4902971p-3,
	0x1.7463dcd7a2620p-3,
	0x1.39d878ca0e8d8p-3,
	0x1.2d14671aaf745p-3,
};

/* (2^r - 1) / r, for exp2 of f64, on [-0.5, 0.5]; error 2^-55.6 */
static const double double_exp2[] = {
	0x1.62e42fefa39efp-1,
	0x1.ebfbdff82c58fp-3,
	0x1.c6b08d704a0d6p-5,
	0x1.3b2ab6fba4ea8p-7,
	0x1.5d87fe78a130fp-10,
	0x1.430912f859952p-13,
	0x1.ffcbfc7ac2eb5p-17,
	0x1.62c0229a60a3ap-20,
	0x1.b524d0eb708f0p-24,
	0x1.e4cd9d9493053p-28,
	0x1.ea142172e5516p-32,
	0x1.c6d97d042ba70p-36,
};

/* erf(sqrt(s)) / sqrt(s) - 1, for erf of f64, on [0, 1]; error 2^-56.3 */
static const double double_erf[] = {
	0x1.06eba8214db69p-3,
	-0x1.812746b0379e6p-2,
	0x1.ce2f21a042b20p-4,
	-0x1.b82ce3128499cp-6,
	0x1.565bcd0db02dep-8,
	-0x1.c02db3d8ed15ap-11,
	0x1.f9a321a11c54ep-14,
	-0x1.f4d1df3931e29p-17,
	0x1.b9def19cd0495p-20,
	-0x1.5f1d36b9b9a1cp-23,
	0x1.f7a411dd4bc18p-27,
	-0x1.386abfea0d8f7p-30,
	0x1.0579a8b51d3bbp-34,
};

/* log(erfc(1 + t)), for erf(x) = 1 - erfc(x) of f64, on [0, 4.95]; error 2^-55.9 */
static const double double_erfc[] = {
	-0x1.d97fbf27aa2a1p+0,
	-0x1.51c9b0006c21ap+1,
	-0x1.afabc11a2afdap-1,
	-0x1.5477f099b6b3dp-5,
	0x1.48c9d37fbf062p-7,
	-0x1.033f5a12b875ep-9,
	0x1.f1b04a7f79042p-13,
	0x1.b92ddabdc6632p-16,
	-0x1.c852ac6826c40p-16,
	0x1.44846ab418470p-17,
	-0x1.1e248d4fb3d8dp-19,
	0x1.b7d0568bd0932p-23,
	0x1.f25a1a8cfbfbcp-25,
	-0x1.1ed7c61a993c0p-25,
	0x1.24b7d7dbb117bp-27,
	-0x1.6a9d3eeb60b06p-30,
	0x1.066b45a901772p-33,
	-0x1.565fa9a21991dp-38,
};

/* (3 atanh(s) / s - 3 - z) / z^2 over z = s^2, for log2 of f64 in pow, on [1e-09, 0.02945]; error
 * 2^-65.8 */
static const double double_pow[] = {
	0x1.3333333333465p-1,
	0x1.b6db6db6838d8p-2,
	0x1.555555a232029p-2,
	0x1.1745af5d44c3cp-2,
	0x1.d8ae6703f168dp-3,
	0x1.973f670e37887p-3,
	0x1.95687a07bb2cdp-3,
};

/* (sin(r) / r - 1) / s over s = r^2, for sin of f64, on [1e-09, 2.46773]; error 2^-54.6 */
static const double double_sin[] = {
	-0x1.5555555555555p-3,
	0x1.1111111111111p-7,
	-0x1.a01a01a019fdbp-13,
	0x1.71de3a5569d09p-19,
	-0x1.ae64567d53054p-26,
	0x1.6124604e0191fp-33,
	-0x1.ae7eb7d3dce5ep-41,
	0x1.94fe2ccd0a420p-49,
	-0x1.2675c4cc750c9p-57,
};

/* (cos(r) - 1 + s / 2) / s^2 over s = r^2, for tan of f64, on [1e-09, 0.617]; error 2^-60.0 */
static const double double_cos[] = {
	0x1.5555555555555p-5,
	-0x1.6c16c16c16c10p-10,
	0x1.a01a01a018de8p-16,
	-0x1.27e4fb75fd5dcp-22,
	0x1.1eed8ca38ee92p-29,
	-0x1.939338237be5cp-37,
	0x1.aac59f8bcd640p-45,
};

/* (tan(r) / r - 1) / s over s = r^2, for tan of f32, on [1e-09, 0.617]; error 2^-33.4 */
static const double double_tan[] = {
	0x1.55555455f1a77p-2,
	0x1.111178aba3a29p-3,
	0x1.b9ff1612d68ccp-5,
	0x1.6831f304fd7b4p-6,
	0x1.1104cc9949e5cp-7,
	0x1.47212fdbb69bbp-8,
	-0x1.37b21e72b0b56p-11,
	0x1.0b7555173001bp-9,
};

/* (sinh(sqrt(s)) / sqrt(s) - 1) / s, for sinh, on [1e-09, 1]; error 2^-31.6 */
static const double poly_sinh[] = {
	0x1.5555560000000p-3,
	0x1.1110e00000000p-7,
	0x1.a022bc0000000p-13,
	0x1.756c1e0000000p-19,
};

/* (atan(sqrt(s)) / sqrt(s) - 1) / s, for atan, on [1e-09, 0.1716]; error 2^-30.4 */
static const double poly_atan[] = {
	-0x1.55554a0000000p-2,
	0x1.9991e20000000p-3,
	-0x1.23b9a20000000p-3,
	0x1.b224540000000p-4,
	-0x1.f2e58a0000000p-5,
};

/* (asin(sqrt(s)) / sqrt(s) - 1) / s, for asin, on [1e-09, 0.25]; error 2^-31.7 */
static const double poly_asin[] = {
	0x1.55554c0000000p-3,
	0x1.3338ac0000000p-4,
	0x1.6ca7500000000p-5,
	0x1.04d3660000000p-5,
	0x1.d5129e0000000p-7,
	0x1.34cf360000000p-5,
};

/* (sinh(sqrt(s)) / sqrt(s) - 1) / s, for sinh of f64, on [1e-09, 1]; error 2^-56.8 */
static const double double_sinh[] = {
	0x1.5555555555555p-3,
	0x1.1111111111111p-7,
	0x1.a01a01a019fc1p-13,
	0x1.71de3a5573f79p-19,
	0x1.ae6456741b935p-26,
	0x1.61246afa2b2eep-33,
	0x1.ae756e9ab7a8fp-41,
	0x1.9a7940886f5ffp-49,
};

/* (atan(sqrt(s)) / sqrt(s) - 1) / s, for atan of f64, on [1e-09, 0.17158]; error 2^-58.2 */
static const double double_atan[] = {
	-0x1.5555555555555p-2,
	0x1.9999999999970p-3,
	-0x1.2492492490a09p-3,
	0x1.c71c71c60cb07p-4,
	-0x1.745d17126d4dfp-4,
	0x1.3b13aaf886fbcp-4,
	-0x1.11108cc3b888bp-4,
	0x1.e1d2a1b32e34bp-5,
	-0x1.ae890aa0dbb92p-5,
	0x1.817ad7bccd0fep-5,
	-0x1.4c2e8d1c66713p-5,
	0x1.e519b288c9247p-6,
	-0x1.a93a556a181d1p-7,
};

/* (asin(sqrt(s)) / sqrt(s) - 1) / s, for asin of f64, on [1e-09, 0.25]; error 2^-59.3 */
static const double double_asin[] = {
	0x1.5555555555553p-3,
	0x1.3333333333a3bp-4,
	0x1.6db6db6d48bffp-5,
	0x1.f1c71ca831c9cp-6,
	0x1.6e8b9af35af60p-6,
	0x1.1c4f854d6c1c9p-6,
	0x1.c980e69fbd6a7p-7,
	0x1.7ba3f448137b4p-7,
	0x1.36c4e22b3a9c7p-7,
	0x1.47ff95f137d27p-7,
	0x1.65e0639ae0ce7p-11,
	0x1.96bbe080ec6bdp-6,
	-0x1.ac66518531c38p-6,
	0x1.139963d788d9bp-5,
};

/* (exp(r) - 1 - r) / r^2, for the fast exp, on [-0.350039, 0.350039]; error 2^-23.1 */
static const double fast_exp[] = {
	0x1.fffde80000000p-2,
	0x1.5557c60000000p-3,
	0x1.57333a0000000p-5,
	0x1.105f4a0000000p-7,
};

/* (2^r - 1) / r, for the fast exp2, on [-0.505, 0.505]; error 2^-23.3 */
static const double fast_exp2[] = {
	0x1.62e4280000000p-1,
	0x1.ebf9aa0000000p-3,
	0x1.c6b8140000000p-5,
	0x1.3cf23c0000000p-7,
	0x1.5b89280000000p-10,
};

/* (log(1 + f) - f + f^2/2) / f^3, for the fast log, on [-0.333333, 0.333333]; error 2^-22.3 */
static const double fast_log[] = {
	0x1.555dce0000000p-2,
	-0x1.000c360000000p-2,
	0x1.95f6d80000000p-3,
	-0x1.5127840000000p-3,
	0x1.5b71d20000000p-3,
	-0x1.36cf620000000p-3,
};

/* tanh(sqrt(s)) / sqrt(s), for the fast tanh, on [1e-09, 81]; error 2^-25.1 */
static const double fast_tanh_over[] = {
	0x1.0000000000000p+0,
	0x1.0bf5ea0000000p-3,
	0x1.96d7a00000000p-9,
	0x1.7647260000000p-17,
	-0x1.5b78400000000p-26,
	0x1.d042b20000000p-35,
	-0x1.7e4e8c0000000p-44,
};
static const double fast_tanh_under[] = {
	0x1.0000000000000p+0,
	0x1.db50460000000p-2,
	0x1.91544c0000000p-6,
	0x1.0afbba0000000p-12,
};

/* erf(sqrt(s)) / sqrt(s), for the fast erf, on [1e-09, 15.4]; error 2^-23.8 */
static const double fast_erf_over[] = {
	0x1.20dd740000000p+0,
	0x1.9a37560000000p-3,
	0x1.9eb3a40000000p-5,
	0x1.e725180000000p-9,
	0x1.2a0e9c0000000p-13,
	-0x1.06a2300000000p-19,
	0x1.557e0e0000000p-26,
};
static const double fast_erf_under[] = {
	0x1.0000000000000p+0,
	0x1.058d4c0000000p-1,
	0x1.d7ab320000000p-4,
	0x1.d75b400000000p-7,
	0x1.f6fff20000000p-11,
};

#endif
