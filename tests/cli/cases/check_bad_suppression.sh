printf '# accepted\n\nE2 copy at.hip:12 because\n' >accepted.txt
gfxgraph check missing.gfxg --suppress accepted.txt
