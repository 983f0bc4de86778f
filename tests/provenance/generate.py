#!/usr/bin/env python3
"""Writes a HIP program of random nested structures: generate.py SEED CASES > program.hip

Run with a number, the program does one case, with two all from the first to the one before the second. A case is this: it builds structures that point at each other, and
lets a kernel follow every pointer, on a way of its own each. Numbers that look like addresses stand
between them, which the kernel uses as data. It prints the truth: a letter and a value for each word.
P: a pointer that is followed, D: data, B: a bound of a range, which is only compared or subtracted,
E: one that is the start of another buffer, too, U: a pointer that is not looked at.
"""

import random
import sys

WAYS = 11
USES = 7
# Loops over a range from its first element to the one behind the last; the last two follow the
# second pointer and only look at the first one.
LOOPS = (
    "for (const int* p = {first}; p != {end}; ++p) sum += *p;",
    "for (const int* p = {first}; p < {end}; p += 2) sum += *p;",
    "{{ const int* const p = {first}; const auto n = {end} - p; for (long i = 0; i < n; ++i) sum += p[i]; }}",
    "{{ const int* const p = {first}; const int n = {end} - p; for (int i = c.one - 1; i < n; ++i) sum += p[i]; }}",
    "for (const int *p = {first}, *q = {end}; p != q;) {{ const int* const m = p + (q - p) / 2; sum += *m; q = m; }}",
    "for (const int* p = {end}; p != {first};) sum += *--p;",
    "for (const int* p = {end}; p > {first};) sum += *--p;",
)


class Case:
    """One set of structure types, S0 (leaf) to the last one (root)."""

    def __init__(self, number, rng):
        self.number = number
        self.rng = rng
        self.types = []
        for index in range(rng.randint(2, 5)):
            self.types.append(self.make_type(index))

    def make_type(self, index):
        rng = self.rng
        fields = []
        kinds = ["leaf", "decoy", "pair", "list", "range", "range", "whole", "unused", "words", "numbers"]
        if index:
            kinds += ["struct", "struct", "array", "table", "inline"] * 2
        for _ in range(rng.randint(2, 4)):
            kind = rng.choice(kinds)
            inner = rng.randrange(index) if index else 0
            fields.append((kind, inner, rng.randrange(WAYS), rng.randrange(USES)))
        if index and all(kind not in ("struct", "array", "table", "inline") for kind, *_ in fields):
            fields[0] = ("struct", index - 1, rng.randrange(WAYS), 0)
        packed = rng.random() < 0.15
        return fields, packed

    def code(self):
        rng = self.rng
        out = [f"namespace case{self.number} {{"]
        for index, (fields, packed) in enumerate(self.types):
            out.append(f"struct {'__attribute__((packed)) ' if packed else ''}S{index} {{")
            if packed:
                out.append("  int head;")
            for n, (kind, inner, _, _) in enumerate(fields):
                out.append(
                    "  "
                    + {
                        "leaf": f"int* f{n};",
                        "decoy": f"uint64_t f{n};",
                        "pair": f"uint32_t f{n}[2];",
                        "list": f"Node* f{n};",
                        "range": f"int* f{n}; int* e{n};",
                        "whole": f"int* f{n}; int* e{n};",
                        "numbers": f"uint64_t f{n}[2];",
                        "unused": f"int* f{n};",
                        "words": f"uint64_t f{n}[3];",
                        "struct": f"S{inner}* f{n};",
                        "array": f"S{inner}* f{n}[2];",
                        "table": f"S{inner}** f{n};",
                        "inline": f"S{inner} f{n};",
                    }[kind]
                )
            out.append("  int tail;\n};")
        for index in range(len(self.types)):
            out += self.walk(index)
        for index in range(len(self.types)):
            out += self.build(index)
        root = len(self.types) - 1
        by_value = rng.random() < 0.3
        argument = f"S{root}" if by_value else f"S{root}*"
        out += [
            f"__global__ void kernel({argument} root, uint64_t number, Context context, uint64_t* sums) {{",
            f"  uint64_t sum = use<{rng.randrange(USES)}>(number, context);",
            f"  sum += walk(*{'&' if by_value else ''}root, context);",
            "  sums[threadIdx.x] = sum + blockIdx.x;",
            "}",
            # Each block loads another pointer by the same scalar instruction.
            "__global__ void pick(int* const* table, uint64_t* sums) {",
            "  sums[blockIdx.x] = *table[blockIdx.x];",
            "}",
            "void run(uint32_t seed) {",
            "  Memory memory(seed);",
            "  const Memory::Place table = memory.take(24);",
            "  memory.note('P', table.address);",
            "  for (int n = 0; n < 3; ++n) {",
            "    const Memory::Place at = memory.take(4);",
            "    std::memcpy(at.bytes, &n, 4);",
            "    memory.note('P', at.address);",
            "    std::memcpy(table.bytes + 8 * n, &at.address, 8);",
            "  }",
            f"  const Memory::Place root = memory.take(sizeof(S{root}));",
            f"  build(root.bytes, memory, static_cast<S{root}*>(nullptr));",
            "  memory.upload();",
            "  Context context{nullptr, 1};",
            "  CHECK(hipMalloc(&context.cells, 72 * sizeof(uint64_t)));",
            "  CHECK(hipMemset(context.cells, 0, 72 * sizeof(uint64_t)));",
            "  uint64_t* sums = nullptr;",
            "  CHECK(hipMalloc(&sums, 64 * sizeof(uint64_t)));",
            "  Memory::note_start(context.cells);",
            "  Memory::note_start(sums);",
        ]
        if by_value:
            out += [f"  S{root} given;", f"  std::memcpy(&given, root.bytes, sizeof given);"]
        else:
            out += [f"  S{root}* const given = reinterpret_cast<S{root}*>(root.address);"]
        out += [
            "  pick<<<3, 1>>>(reinterpret_cast<int**>(table.address), sums);",
            "  hipLaunchKernelGGL(kernel, dim3(1), dim3(64), 0, 0, given, memory.decoy(), context, sums);",
            "  CHECK(hipDeviceSynchronize());",
            "  uint64_t got[64];",
            "  CHECK(hipMemcpy(got, sums, sizeof got, hipMemcpyDeviceToHost));",
            "}",
            "}",
        ]
        return out

    def walk(self, index):
        rng = self.rng
        fields, _ = self.types[index]
        inline = rng.choice(["inline", "__noinline__", "inline"])
        out = [f"__device__ {inline} uint64_t walk(const S{index}& s, const Context& c) {{", "  uint64_t sum = s.tail;"]
        for n, (kind, inner, way, use) in enumerate(fields):
            first, end = f"hand_on<{way}>(s.f{n}, c)", f"hand_on<{rng.randrange(WAYS)}>(s.e{n}, c)"
            loop = [LOOPS[(use + n) % len(LOOPS)].format(first=first, end=end)]
            lines = {
                "leaf": [f"sum += *hand_on<{way}>(s.f{n}, c);"],
                "decoy": [f"sum += use<{use}>(hand_on<{way}>(s.f{n}, c), c);"],
                "pair": [f"sum += s.f{n}[0] * 3 + (s.f{n}[1] ^ c.one);"],
                "list": [
                    f"for (const Node* p = hand_on<{way}>(s.f{n}, c); p != nullptr; p = p->next)",
                    f"  sum += p->value + use<{use}>(p->id, c);",
                ],
                "range": loop,
                "whole": loop,
                "numbers": [f"sum += hand_on<{way}>(s.f{n}[0], c) < s.f{n}[1] ? s.f{n}[0] - s.f{n}[1] : 1;"],
                "unused": [],
                "words": [f"for (int n = 0; n < 3; ++n) sum += use<{use}>(s.f{n}[n], c);"],
                "struct": [f"sum += walk(*hand_on<{way}>(s.f{n}, c), c);"],
                "array": [f"for (int n = 0; n < 2; ++n) sum += walk(*hand_on<{way}>(s.f{n}[n], c), c);"],
                "table": [
                    f"for (int n = 0; n < 3; ++n) sum += walk(*hand_on<{way}>(s.f{n}[n * c.one], c), c);"
                ],
                "inline": [f"sum += walk(s.f{n}, c);"],
            }[kind]
            out += ["  " + line for line in lines]
        return out + ["  return sum;", "}"]

    def build(self, index):
        fields, _ = self.types[index]
        out = [
            f"void build(uint8_t* to, Memory& memory, S{index}*) {{",
            f"  S{index} s;",
            "  std::memset(&s, 0, sizeof s);",
            "  s.tail = 7;",
        ]
        for n, (kind, inner, _, use) in enumerate(fields):
            followed, bound = "PB" if (use + n) % len(LOOPS) < 5 else "BP"
            leaf = [
                "const Memory::Place at = memory.take(32);",
                "for (int n = 0; n < 8; ++n) std::memcpy(at.bytes + 4 * n, &n, 4);",
            ]
            below = [
                f"const Memory::Place at = memory.take(sizeof(S{inner}));",
                f"build(at.bytes, memory, static_cast<S{inner}*>(nullptr));",
                "memory.note('P', at.address);",
            ]
            lines = {
                "leaf": leaf
                + [f"s.f{n} = reinterpret_cast<int*>(at.address);", "memory.note('P', at.address);"],
                "unused": leaf
                + [f"s.f{n} = reinterpret_cast<int*>(at.address);", "memory.note('U', at.address);"],
                "range": leaf
                + [
                    f"s.f{n} = reinterpret_cast<int*>(at.address);",
                    f"s.e{n} = reinterpret_cast<int*>(at.address + 32);",
                    f"memory.note('{followed}', at.address);",
                    f"memory.note('{bound}', at.address + 32);",
                ],
                "whole": [
                    "const Memory::Range range = memory.take_whole();",
                    f"s.f{n} = reinterpret_cast<int*>(range.begin);",
                    f"s.e{n} = reinterpret_cast<int*>(range.end);",
                    f"memory.note('{followed}', range.begin);",
                    f"memory.note_end('{bound}', range.end);",
                ],
                "numbers": [f"for (int n = 0; n < 2; ++n) s.f{n}[n] = memory.decoy();"],
                "decoy": [f"s.f{n} = memory.decoy();"],
                "pair": [
                    "const uint64_t number = memory.decoy();",
                    f"s.f{n}[0] = static_cast<uint32_t>(number);",
                    f"s.f{n}[1] = static_cast<uint32_t>(number >> 32);",
                ],
                "words": [f"for (int n = 0; n < 3; ++n) s.f{n}[n] = memory.decoy();"],
                "list": [
                    "Node* first = nullptr;",
                    "for (uint32_t n = 1 + memory.below(4); n != 0; --n) {",
                    "  const Memory::Place at = memory.take(sizeof(Node));",
                    "  const Node node{first, memory.decoy(), 5};",
                    "  std::memcpy(at.bytes, &node, sizeof node);",
                    "  first = reinterpret_cast<Node*>(at.address);",
                    "  memory.note('P', at.address);",
                    "}",
                    f"s.f{n} = first;",
                ],
                "struct": below + [f"s.f{n} = reinterpret_cast<S{inner}*>(at.address);"],
                "array": ["for (int n = 0; n < 2; ++n) {"]
                + ["  " + line for line in below]
                + [f"  s.f{n}[n] = reinterpret_cast<S{inner}*>(at.address);", "}"],
                "table": [
                    "const Memory::Place table = memory.take(24);",
                    "for (int n = 0; n < 3; ++n) {",
                ]
                + ["  " + line for line in below]
                + [
                    "  std::memcpy(table.bytes + 8 * n, &at.address, 8);",
                    "}",
                    "memory.note('P', table.address);",
                    f"s.f{n} = reinterpret_cast<S{inner}**>(table.address);",
                ],
                "inline": [f"build(reinterpret_cast<uint8_t*>(&s.f{n}), memory, static_cast<S{inner}*>(nullptr));"],
            }[kind]
            out += ["  {"] + ["    " + line for line in lines] + ["  }"]
        return out + ["  std::memcpy(to, &s, sizeof s);", "}"]


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    print(f"// Written by generate.py {seed} {count}.\n#include \"passing.h\"\n")
    cases = [Case(number, random.Random(seed * 1000003 + number)) for number in range(count)]
    for case in cases:
        print("\n".join(case.code()))
    print("int main(int argc, char** argv) {\n  const int first = argc > 1 ? std::atoi(argv[1]) : 0;")
    print("  const int end = argc > 2 ? std::atoi(argv[2]) : first + 1;")
    print("  for (int number = first; number < end; ++number) {\n    switch (number) {")
    for case in cases:
        print(f"      case {case.number}: case{case.number}::run({seed * 1009 + case.number}); break;")
    print("      default: return 2;\n    }\n  }\n  Memory::note_ends();\n  return 0;\n}")


if __name__ == "__main__":
    main()
