"""differences.py USUAL GIVEN NOTES: are the notes the lines that differ?"""
import sys

usual, given = [dict(line.split()[:2] for line in open(path) if line.strip() and line[0] != "#" and "features" not in line)
                for path in sys.argv[1:3]]
wanted = ["%s is %s here, %s as shipped\n" % (name, given[name], usual[name]) for name in given if given[name] != usual[name]]
assert open(sys.argv[3]).readlines() == wanted, wanted
