bash "$SOURCE/tests/cli/attack.bash" metadata
