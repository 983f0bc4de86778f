#include <nanobind/nanobind.h>

extern "C" int hipDeviceSynchronize();

NB_MODULE(waits_nanobind, module) { module.def("wait", &hipDeviceSynchronize); }
