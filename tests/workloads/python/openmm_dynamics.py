"""OpenMM's HIP platform beside its Reference platform: argon with a cutoff, charges by PME, rigid water.

Forces and energies of the start, and positions after some steps. Single precision on the device.
"""

import os

import numpy
import openmm
from openmm import unit
from results import compare, parts

PLUGINS = os.path.join(os.path.dirname(os.path.dirname(openmm.__file__)), "OpenMM.libs/lib/plugins")
random = numpy.random.default_rng(0)


def lattice(count, length):
    side = int(numpy.ceil(count ** (1 / 3)))
    places = numpy.stack(numpy.unravel_index(numpy.arange(count), (side, side, side)), axis=1)
    return (places + 0.5) * (length / side) + random.uniform(-0.02, 0.02, (count, 3))


def box(length):
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(openmm.Vec3(length, 0, 0), openmm.Vec3(0, length, 0), openmm.Vec3(0, 0, length))
    return system


def both(name, system, positions, steps):
    openmm.Platform.loadPluginsFromDirectory(PLUGINS)
    found = {}
    for platform, properties in (("Reference", {}), ("HIP", {"Precision": "single"})):
        integrator = openmm.VerletIntegrator(0.001)
        context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName(platform), properties)
        context.setPositions(positions)
        start = context.getState(getEnergy=True, getForces=True)
        integrator.step(steps)
        end = context.getState(getEnergy=True, getPositions=True)
        found[platform] = (start.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
                           start.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer),
                           end.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole),
                           end.getPositions(asNumpy=True).value_in_unit(unit.nanometer))
    words = (("energy", 1e-4), ("forces", 5e-3), (f"energy after {steps} steps", 1e-3), (f"positions after {steps} steps", 1e-4))
    for (word, tolerance), got, expected in zip(words, found["HIP"], found["Reference"]):
        compare(f"{name}: {word}", got, expected, tolerance, "OpenMM's Reference platform")


def charges(system, count, method):
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(method)
    force.setCutoffDistance(1.0)
    for i in range(count):
        system.addParticle(39.9)
        force.addParticle(0.1 * (-1) ** i, 0.34, 1.0)
    system.addForce(force)
    return force


def cutoff():
    system = box(3.0)
    charges(system, 64, openmm.NonbondedForce.CutoffPeriodic)
    both("cutoff", system, lattice(64, 3.0), 50)


def pme():
    system = box(2.4)
    charges(system, 64, openmm.NonbondedForce.PME).setPMEParameters(3.0, 16, 16, 16)
    both("PME", system, lattice(64, 2.4), 5)


def constraints():
    """Water as SETTLE keeps it, and bonds of fixed length as SHAKE does."""
    system = box(2.4)
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(1.0)
    positions = []
    for place in lattice(27, 2.4):
        first = len(positions)
        for mass, charge, sigma, epsilon, offset in ((15.999, -0.834, 0.315, 0.636, (0, 0, 0)), (1.008, 0.417, 1, 0, (0.09572, 0, 0)),
                                                     (1.008, 0.417, 1, 0, (-0.023999, 0.092663, 0))):
            system.addParticle(mass)
            force.addParticle(charge, sigma, epsilon)
            positions.append(place + offset)
        for a, b, distance in ((0, 1, 0.09572), (0, 2, 0.09572), (1, 2, 0.15139)):
            system.addConstraint(first + a, first + b, distance)
            force.addException(first + a, first + b, 0, 1, 0)
    for place in lattice(8, 2.4) + 0.3:
        first = len(positions)
        for mass, offset in ((12.011, (0, 0, 0)), (1.008, (0.109, 0, 0))):
            system.addParticle(mass)
            force.addParticle(0, 0.3, 0.4)
            positions.append(place + offset)
        system.addConstraint(first, first + 1, 0.109)
        force.addException(first, first + 1, 0, 1, 0)
    system.addForce(force)
    both("constraints", system, numpy.array(positions), 10)


parts([cutoff, pme, constraints])
