// A fake HIP with a table of functions and one more than is known, to be loaded as libamdhip64: no
// Debian runtime hands its table out. The real tables are in scripts/check-runtimes (by_table).
#include <cstddef>

namespace {

int calls = 0;
int called() { return ++calls; }

struct Table {
  size_t size_bytes;
  int (*functions[507])();  // as many as HIP 7.2.4 has, and one
} table{};

}  // namespace

extern "C" __attribute__((visibility("default"))) void* fake_table() {
  table.size_bytes = sizeof(table);
  for (auto& function : table.functions) function = called;
  return &table;
}
extern "C" __attribute__((visibility("default"))) int fake_table_calls() { return calls; }
