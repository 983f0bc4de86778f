"""installed_links.py FOLDER: the documents of an installation, whose links lead to files that it has."""

import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1])
documents = [*folder.glob("*.md"), *folder.glob("docs/*.md")]
missing = [f"{document}: {link}" for document in documents
           for link in re.findall(r"\]\(([^)#:]+)[)#]", document.read_text(encoding="utf-8"))
           if not (document.parent / link).exists()]
if missing or len(documents) < 20:
    sys.exit("\n".join([f"{len(documents)} documents", *missing]))
