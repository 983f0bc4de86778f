bash "$SOURCE/tests/cli/attack.bash" grid --max-seconds 5
