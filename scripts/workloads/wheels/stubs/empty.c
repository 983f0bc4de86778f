/* Stands in for a library that a wheel is linked to and does not call here. */
int roctracer_version_major(void) { return 4; }
