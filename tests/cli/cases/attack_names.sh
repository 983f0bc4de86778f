bash "$SOURCE/tests/cli/attack.bash" names
