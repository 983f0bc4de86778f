bash "$SOURCE/tests/cli/attack.bash" section_names
