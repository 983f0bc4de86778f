"""Runs codespell or shellcheck over the files that it is for."""

import shutil
import subprocess
import sys

import sources

# Words that codespell takes for misspelt: instructions (also LLVM's), identifiers, a word of the HSA headers, device files.
WORDS = "mis,inout,ans,thi,ond,sop,nd,clas,fo,te,hsa,dout,doub,parm,parms,ser,als,datas,wee,vie,inactivate,filetest,olt,renderd"


def main():
    tool = sys.argv[1]
    if shutil.which(tool) is None:
        sys.exit(f"{tool} is not installed: run scripts/setup")
    if tool == "shellcheck":
        names = [str(path) for path in sources.files() if sources.is_shell(path)]
        command = [tool, "--external-sources", "--shell=bash", *names]
    else:
        names = [str(path) for path in sources.files()
                 if path.name != "LICENSE" and path.suffix not in (".csv", ".gfxg")
                 and sources.text(path) is not None]
        command = [tool, "--ignore-words-list", WORDS, *names]
    run = subprocess.run(command, cwd=sources.ROOT, capture_output=True, text=True)
    problems = [line for line in (run.stdout + run.stderr).splitlines() if line.strip()]
    sources.finish(problems if run.returncode != 0 else [], len(names))


main()
