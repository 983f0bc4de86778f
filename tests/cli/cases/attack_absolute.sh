bash "$SOURCE/tests/cli/attack.bash" absolute
