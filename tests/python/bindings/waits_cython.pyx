cdef extern int hipDeviceSynchronize() nogil


def wait():
    with nogil:
        hipDeviceSynchronize()
