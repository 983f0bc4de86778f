/* Stands in for AMD's libroctracer64, which Debian lacks: nothing is traced. */
int roctracer_start(void) { return 0; }
int roctracer_stop(void) { return 0; }
