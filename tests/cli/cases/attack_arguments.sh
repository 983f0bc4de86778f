bash "$SOURCE/tests/cli/attack.bash" arguments
