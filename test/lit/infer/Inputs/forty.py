"""A program of forty sizes that only all of its relations together determine: each is one more than the last."""
parts = ["a%d" % i for i in range(40)]
print("input x : [980]\noutput y = sum(\"%s => %s\", x) with (%s)" % ("^".join(parts), parts[-1], ", ".join(parts)))
for before, part in zip(parts, parts[1:]):
    print("require %s == %s + 1" % (part, before))
