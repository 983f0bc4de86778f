VERIFY_SECONDS=2 bash "$SOURCE/tests/cli/attack.bash" blob
