bash "$SOURCE/tests/cli/attack.bash" freed_global
