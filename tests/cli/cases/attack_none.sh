bash "$SOURCE/tests/cli/attack.bash" none
