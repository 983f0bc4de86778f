bash "$SOURCE/tests/cli/attack.bash" relocation
