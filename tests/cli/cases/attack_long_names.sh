bash "$SOURCE/tests/cli/attack.bash" long_names
