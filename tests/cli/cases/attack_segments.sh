bash "$SOURCE/tests/cli/attack.bash" segments
