bash "$SOURCE/tests/cli/attack.bash" fill
