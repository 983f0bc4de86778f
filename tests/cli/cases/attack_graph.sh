bash "$SOURCE/tests/cli/attack.bash" graph
