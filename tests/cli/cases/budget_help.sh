# The budgets of each command that reads a trace, and their defaults, stand in its --help.
budgets() { awk '/^  -/ {budget = /^  --(max-|cap,)/} /^$/ {budget = 0} budget'; }

for command in check info verify recover coverage; do
  echo "$command:"
  gfxgraph $command --help | budgets
done
echo "gfxgraph-replay:"
gfxgraph-replay --help | budgets
