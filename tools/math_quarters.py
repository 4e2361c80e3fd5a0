#!/usr/bin/python3
"""Prints codegen/math_quarters.h: 2/pi at all exponents of an f32, with which large angles are reduced.

    /usr/bin/python3 tools/math_quarters.py > codegen/math_quarters.h
"""
import mpmath as mp

mp.mp.prec = 400


def quarters(i):
    exact = mp.fmod(mp.ldexp(2 / mp.pi, i), 4)
    unit = mp.ldexp(1, int(mp.floor(mp.log(exact, 2))) - 28)
    high = mp.floor(exact / unit) * unit
    return float(high), float(exact - high)


def table(name, entry):
    print("static const double %s[] = {" % name)
    for i in range(103):
        print("\t%s," % entry(i).hex())
    print("};")


print("""/* Quarter turns of large arguments, for sin, cos and tan of f32. Printed by tools/math_quarters.py. */
#ifndef TSR_CODEGEN_MATH_QUARTERS_H
#define TSR_CODEGEN_MATH_QUARTERS_H

/* 2^i * 2/pi modulo 4: 29 bits, exact times an f32 in double, and the rest. */""")
table("quarters_high", lambda i: quarters(i)[0])
print()
table("quarters_low", lambda i: quarters(i)[1])
print("\n#endif")
