"""A manual page names the options that --help names, and no others: options.py PAGE TOOL [COMMAND]..."""
import re
import subprocess
import sys

page, tool, commands = sys.argv[1], sys.argv[2], sys.argv[3:]


def options(text):
    """Words that look like options, but those that argp adds by itself."""
    return set(re.findall(r"(?<![\w.-])--?[\w#][\w#-]*", text)) - {"--help", "--version", "--usage", "-V"}


helps = "".join(subprocess.run([tool, *words, "--help"], capture_output=True, text=True, check=True).stdout
                for words in [[]] + [[command] for command in commands])
manual = re.sub(r"\\f[BRI]", "", open(page, encoding="utf8").read()).replace("\\-", "-")
manual = re.sub(r'^\.\\".*', "", manual, flags=re.M)
here, there = options(manual), options(helps)
assert here and here == there, "only in the manual: %s; only in --help: %s" % (sorted(here - there),
                                                                              sorted(there - here))
