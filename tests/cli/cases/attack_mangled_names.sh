bash "$SOURCE/tests/cli/attack.bash" mangled_names
