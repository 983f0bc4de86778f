# A program whose HIP runtime is not installed.
echo 'int hip(void) { return 0; }' > hip.c
echo 'int hip(void); int main(void) { return hip(); }' > app.c
gcc -shared -fPIC -Wl,-soname,libamdhip64.so.99 -o libamdhip64.so.99 hip.c
gcc -o app app.c ./libamdhip64.so.99
rm libamdhip64.so.99
gfxgraph run -- ./app
