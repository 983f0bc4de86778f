#include <pybind11/pybind11.h>

extern "C" int hipDeviceSynchronize();

PYBIND11_MODULE(waits_pybind11, module) { module.def("wait", &hipDeviceSynchronize); }
