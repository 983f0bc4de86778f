"$BUILD/tests/attack_file" none attack.gfxg
gfxgraph check attack.gfxg -o report.sarif --format sarif
python3 -c '
import json
run = json.load(open("report.sarif"))["runs"][0]
print(run["tool"]["driver"]["name"], len(run["results"]), run["invocations"][0]["executionSuccessful"])'
