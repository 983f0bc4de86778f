"""PennyLane's Lightning on an AMD GPU: a small circuit beside its default device, which computes with NumPy."""

import numpy
import pennylane
from results import compare, parts


def circuit():
    def expectations(angles):
        for wire, angle in enumerate(angles):
            pennylane.RX(angle, wires=wire)
        for wire in range(2):
            pennylane.CNOT(wires=[wire, wire + 1])
        return [pennylane.expval(pennylane.PauliZ(wire)) for wire in range(3)]

    angles = numpy.array([0.3, 0.7, 1.1])
    got = pennylane.QNode(expectations, pennylane.device("lightning.amdgpu", wires=3))(angles)
    expected = pennylane.QNode(expectations, pennylane.device("default.qubit", wires=3))(angles)
    compare("expectations", got, expected, 1e-6, "PennyLane's default device")


parts([circuit])
