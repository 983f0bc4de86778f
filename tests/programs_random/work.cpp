#include "work.h"

#include <cstdarg>
#include <cstdio>

namespace random_programs {
namespace {

constexpr const char* kKernelNames[] = {
#define RANDOM_KERNEL(name) #name,
#include "kernels/kernels.inc"
#undef RANDOM_KERNEL
};

// The regions that are a code object's variables, in the order of globals.inc.
std::vector<const Region*> globals_of(const Memory& memory, const Work& work) {
  std::vector<const Region*> found(static_cast<size_t>(Global::count), nullptr);
  for (int i = 0; i < memory.count(); ++i) {
    const Region& region = memory.at(i);
    if (region.kind == Kind::kGlobal && region.module == work.module && region.on == work.device &&
        region.live)
      found[static_cast<size_t>(region.symbol)] = &region;
  }
  return found;
}

void words(Accesses& accesses, const Ref& ref, uint64_t count, bool write, uint64_t size = 4) {
  accesses.push_back({ref.region, ref.offset, ref.offset + count * size, write});
}

void rows(Accesses& accesses, const Side& side, const Shape& shape, bool write) {
  for (uint64_t z = 0; z < shape.depth; ++z) {
    for (uint64_t y = 0; y < shape.height; ++y) {
      const uint64_t begin = side.ref.offset + z * side.slice + y * side.pitch;
      accesses.push_back({side.ref.region, begin, begin + shape.width, write});
    }
  }
}

void kernel_accesses(const Work& work, const Memory& memory, Accesses& list) {
  const auto& [d, x, y] = work.refs;
  switch (work.kernel) {
    case Kernel::fill: words(list, d, work.n, true); break;
    case Kernel::combine: words(list, y, work.n, false); [[fallthrough]];
    case Kernel::add:
    case Kernel::reverse:
    case Kernel::packed:
      words(list, x, work.n, false);
      words(list, d, work.n, true);
      break;
    case Kernel::update:
      words(list, d, work.n, false);
      words(list, d, work.n, true);
      break;
    case Kernel::histogram:
      words(list, x, work.n, false);
      words(list, d, kBins, false);
      words(list, d, kBins, true);
      break;
    case Kernel::add_bytes:
      words(list, x, work.n, false, 1);
      words(list, d, work.n, true, 1);
      break;
    case Kernel::gather:
    case Kernel::walk: words(list, d, work.kernel == Kernel::walk ? 1 : work.n, true); break;
    case Kernel::put_pointer: words(list, d, 1, true, 8); break;
    case Kernel::biased:
      words(list, x, work.n, false);
      words(list, d, work.n, true);
      break;
    case Kernel::read_globals: words(list, d, work.n, true); [[fallthrough]];
    case Kernel::write_globals:
      for (const Region* region : globals_of(memory, work)) {
        if (region != nullptr)
          list.push_back({region->id, 0, region->size, work.kernel == Kernel::write_globals});
      }
      break;
    case Kernel::fetch:
    case Kernel::fetch_table:
    case Kernel::surface_read:
    case Kernel::surface_write:
    case Kernel::surface_update: image_accesses(work, memory, list); break;
    case Kernel::count: break;
  }
}

const Ref* pointer_at(const Memory& memory, int region, uint64_t offset) {
  const auto& pointers = memory.at(region).pointers;
  const auto found = pointers.find(offset);
  return found == pointers.end() ? nullptr : &found->second;
}

// The nodes of a linked list, first to last.
std::vector<Ref> list_nodes(const Work& work, const Memory& memory) {
  std::vector<Ref> nodes;
  const Ref* node = &work.refs[1];
  while (node != nullptr && nodes.size() < work.m) {
    nodes.push_back(*node);
    node = pointer_at(memory, node->region, node->offset);
  }
  return nodes;
}

bool holds_pointer(const Memory& memory, const Access& access) {
  for (const auto& [offset, target] : memory.at(access.region).pointers) {
    if (offset < access.end && access.begin < offset + 8) return true;
  }
  return false;
}

// What a kernel reads through pointers in memory.
bool chased_accesses(const Work& work, const Memory& memory, Accesses& list) {
  if (work.kernel == Kernel::gather) {
    for (uint32_t entry = 0; entry < work.m; ++entry) {
      const uint64_t at = work.refs[1].offset + 8 * entry;
      const Ref* target = pointer_at(memory, work.refs[1].region, at);
      list.push_back({work.refs[1].region, at, at + 8, false});
      if (target == nullptr || target->offset + 4ull * work.n > memory.at(target->region).size)
        return false;
      list.push_back({target->region, target->offset, target->offset + 4ull * work.n, false});
    }
  }
  if (work.kernel == Kernel::fetch_table) {
    const Ref& place = work.refs[1];
    const Ref* target = pointer_at(memory, place.region, place.offset);
    list.push_back({place.region, place.offset, place.offset + 8, false});
    if (target == nullptr || memory.at(target->region).kind != Kind::kTexture) return false;
    table_accesses(memory, memory.at(target->region), list);
  }
  if (work.kernel == Kernel::walk) {
    for (const Ref& node : list_nodes(work, memory)) {
      if (node.offset + sizeof(Node) > memory.at(node.region).size) return false;
      list.push_back({node.region, node.offset, node.offset + 12, false});
      // A part of an address is not a node's value.
      if (holds_pointer(memory, {node.region, node.offset + 8, node.offset + 12, false}))
        return false;
      uint64_t next = 0;
      std::memcpy(&next, memory.at(node.region).bytes.data() + node.offset, 8);
      if (next != 0 && pointer_at(memory, node.region, node.offset) == nullptr) return false;
    }
  }
  return true;
}

bool takes_pointers(const Work& work, const Memory& memory) {
  return (work.kind == WorkKind::kCopy && memory.at(work.to.ref.region).kind != Kind::kGlobal) ||
         (work.kind == WorkKind::kKernel &&
          (work.kernel == Kernel::gather || work.kernel == Kernel::walk ||
           work.kernel == Kernel::fetch_table));
}

template <typename T>
T load(const uint8_t* bytes, uint64_t index = 0) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void store(uint8_t* bytes, uint64_t index, T value) {
  std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
}

void apply_globals(const Work& work, Memory& memory, uint32_t a) {
  std::vector<uint8_t*> g;
  for (const Region* region : globals_of(memory, work)) g.push_back(memory.bytes({region->id, 0}));
  if (work.kernel == Kernel::read_globals) {
    uint8_t* d = memory.bytes(work.refs[0]);
    for (uint32_t i = 0; i < work.n; ++i) {
      store<uint32_t>(d, i,
                      a + g[0][0] + load<uint16_t>(g[1]) + g[2][i % 13] + load<uint32_t>(g[3]) +
                          load<uint32_t>(g[4], i % 64));
    }
    return;
  }
  g[0][0] = static_cast<uint8_t>(a);
  store<uint16_t>(g[1], 0, static_cast<uint16_t>(a >> 3));
  for (uint32_t i = 0; i < 13; ++i) g[2][i] = static_cast<uint8_t>(a + i);
  store<uint32_t>(g[3], 0, mix(a));
  for (uint32_t i = 0; i < 64; ++i) store<uint32_t>(g[4], i, mix(a + i));
}

void apply_kernel(const Work& work, Memory& memory) {
  if (is_image_kernel(work.kernel)) {
    const Ref& object = work.kernel == Kernel::fetch_table
                            ? *pointer_at(memory, work.refs[1].region, work.refs[1].offset)
                            : work.refs[1];
    return apply_image_kernel(work, memory, memory.at(object.region));
  }
  const uint32_t a = delay(work.a, work.spin);
  if (work.kernel == Kernel::read_globals || work.kernel == Kernel::write_globals)
    return apply_globals(work, memory, a);
  uint8_t* d = memory.bytes(work.refs[0]);
  const uint8_t* x = work.refs[1].region < 0 ? nullptr : memory.bytes(work.refs[1]);
  const uint8_t* y = work.refs[2].region < 0 ? nullptr : memory.bytes(work.refs[2]);
  uint32_t sum = a;
  for (uint32_t i = 0; i < work.n; ++i) {
    switch (work.kernel) {
      case Kernel::fill: store(d, i, fill_value(i, a)); break;
      case Kernel::packed:
      case Kernel::biased:
      case Kernel::add: store(d, i, add_value(i, load<uint32_t>(x, i), a)); break;
      case Kernel::combine:
        store(d, i, combine_value(i, load<uint32_t>(x, i), load<uint32_t>(y, i), a));
        break;
      case Kernel::update: store(d, i, update_value(i, load<uint32_t>(d, i), a)); break;
      case Kernel::reverse: {
        const uint32_t first = i / work.block * work.block;
        const uint32_t length = std::min(work.n - first, work.block);
        store(d, i, load<uint32_t>(x, first + length - 1 - (i - first)));
        break;
      }
      case Kernel::histogram: {
        const uint32_t bin = load<uint32_t>(x, i) % kBins;
        store(d, bin, load<uint32_t>(d, bin) + 1);
        break;
      }
      case Kernel::add_bytes: d[i] = byte_value(i, x[i], a); break;
      case Kernel::gather: {
        const Ref* target =
            pointer_at(memory, work.refs[1].region, work.refs[1].offset + 8 * (i % work.m));
        store(d, i, add_value(i, load<uint32_t>(memory.bytes(*target), i), a));
        break;
      }
      default: break;
    }
  }
  if (work.kernel == Kernel::walk) {
    for (const Ref& node : list_nodes(work, memory))
      sum = mix(sum + load<uint32_t>(memory.bytes(node) + 8));
    store(d, 0, sum);
  }
}

}  // namespace

const char* kernel_name(Kernel kernel) { return kKernelNames[static_cast<size_t>(kernel)]; }

std::string text(const char* format, ...) {
  va_list list;
  va_start(list, format);
  char buffer[1024];
  std::vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  return buffer;
}

void host_function(uint8_t* to, const uint8_t* from, uint64_t size, uint32_t a) {
  for (uint64_t i = 0; i < size; ++i) {
    const uint8_t x = from == nullptr ? uint8_t{0} : from[i];
    to[i] = byte_value(static_cast<uint32_t>(i), x, a);
  }
}

Accesses static_accesses(const Work& work, const Memory& memory) {
  Accesses list;
  switch (work.kind) {
    case WorkKind::kKernel: kernel_accesses(work, memory, list); break;
    case WorkKind::kSet: rows(list, work.to, work.shape, true); break;
    case WorkKind::kCopy:
    case WorkKind::kHost:
      rows(list, work.to, work.shape, true);
      if (work.from.ref.region >= 0) rows(list, work.from, work.shape, false);
      break;
    case WorkKind::kEmpty:
    case WorkKind::kChild: break;
  }
  return list;
}

bool accesses_of(const Work& work, const Memory& memory, Accesses& accesses) {
  accesses = static_accesses(work, memory);
  const size_t plain = accesses.size();
  for (const Access& access : accesses) {
    if (!memory.at(access.region).live) return false;
  }
  if (work.kind == WorkKind::kKernel && !chased_accesses(work, memory, accesses)) return false;
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Access& access = accesses[i];
    if (!memory.at(access.region).live) return false;
    if ((access.write || work.kind == WorkKind::kCopy) && memory.splits_pointer(access))
      return false;
    if (access.write) continue;
    if (!memory.defined(access)) return false;
    const bool data = work.kind == WorkKind::kKernel && i >= plain &&
                      ((work.kernel == Kernel::gather && (i - plain) % 2 == 1) ||
                       (work.kernel == Kernel::fetch_table && i > plain));
    if ((!takes_pointers(work, memory) || data) && holds_pointer(memory, access)) return false;
  }
  // What is read through a pointer is not written by the same kernel.
  for (size_t i = plain; i < accesses.size(); ++i) {
    for (size_t j = 0; j < plain; ++j) {
      if (accesses[j].write && accesses[j].region == accesses[i].region &&
          accesses[j].begin < accesses[i].end && accesses[i].begin < accesses[j].end)
        return false;
    }
  }
  return true;
}

void apply(const Work& work, Memory& memory) {
  switch (work.kind) {
    case WorkKind::kKernel:
      if (work.kernel == Kernel::put_pointer)
        return memory.set_pointer(work.refs[0],
                                  {work.refs[1].region, work.refs[1].offset + 4ull * work.n});
      apply_kernel(work, memory);
      for (const Access& access : static_accesses(work, memory)) {
        if (access.write) memory.written(access.region, access.begin, access.end);
      }
      return;
    case WorkKind::kSet: {
      Accesses list;
      rows(list, work.to, work.shape, true);
      for (const Access& row : list) {
        memory.written(row.region, row.begin, row.end);
        uint8_t* bytes = memory.bytes({row.region, row.begin});
        for (uint64_t i = 0; i < row.end - row.begin; ++i)
          bytes[i] = static_cast<uint8_t>(work.value >> (8 * (i % work.element)));
      }
      return;
    }
    case WorkKind::kCopy: {
      Accesses to, from;
      rows(to, work.to, work.shape, true);
      rows(from, work.from, work.shape, false);
      for (size_t i = 0; i < to.size(); ++i)
        memory.copy({to[i].region, to[i].begin}, {from[i].region, from[i].begin}, work.shape.width);
      return;
    }
    case WorkKind::kHost:
      host_function(memory.bytes(work.to.ref),
                    work.from.ref.region < 0 ? nullptr : memory.bytes(work.from.ref),
                    work.shape.width, work.a);
      memory.written(work.to.ref.region, work.to.ref.offset, work.to.ref.offset + work.shape.width);
      return;
    case WorkKind::kEmpty:
    case WorkKind::kChild: return;
  }
}

uint32_t grid_of(const Work& work) {
  switch (work.kernel) {
    case Kernel::put_pointer:
    case Kernel::walk: return 1;
    case Kernel::write_globals: return 1;
    default: return (work.n + work.block - 1) / work.block;
  }
}

// How many words before x the kernel is told that it begins. The address lies in no live region:
// what the pointer was made from would be known to the program alone (docs/replay.md, "Outside of
// every buffer").
static uint32_t bias(const Work& work, const Memory& memory, uint64_t x) {
  uint32_t words = work.m;
  for (int i = 0; i < memory.count(); ++i) {
    const Region& region = memory.at(i);
    const auto begin = reinterpret_cast<uint64_t>(region.device);
    const uint64_t word = x - 4ull * words;
    if (!region.live || begin == 0 || word < begin || word > begin + region.size) continue;
    words = static_cast<uint32_t>((x - begin) / 4) + 1;
    i = -1;  // this place may lie in an earlier one
  }
  return words;
}

void pack_arguments(const Work& work, const Memory& memory, Arguments& arguments) {
  int count = 0;
  const auto put = [&](const auto& value) {
    const size_t align = alignof(std::decay_t<decltype(value)>);
    arguments.size = (arguments.size + align - 1) / align * align;
    std::memcpy(arguments.bytes.data() + arguments.size, &value, sizeof value);
    arguments.pointers[static_cast<size_t>(count++)] = arguments.bytes.data() + arguments.size;
    arguments.size += sizeof value;
  };
  const auto address = [&](const Ref& ref) -> uint64_t {
    return memory.at(ref.region).address() + ref.offset;
  };
  const auto& [d, x, y] = work.refs;
  if (is_image_kernel(work.kernel)) {
    if (d.region >= 0) put(address(d));
    put(address(x));
    put(work.n);
    put(work.a);
    put(work.spin);
    return put(work.image);
  }
  if (work.kernel == Kernel::packed) {
    const Packed p = {reinterpret_cast<uint32_t*>(address(d)), work.a, work.n,
                      reinterpret_cast<const uint32_t*>(address(x))};
    return put(p);
  }
  const uint32_t biased_by = work.kernel == Kernel::biased ? bias(work, memory, address(x)) : 0;
  if (d.region >= 0) put(address(d));
  switch (work.kernel) {
    case Kernel::add:
    case Kernel::reverse:
    case Kernel::histogram:
    case Kernel::add_bytes:
    case Kernel::gather:
    case Kernel::walk:
    case Kernel::put_pointer: put(address(x)); break;
    case Kernel::combine:
      put(address(x));
      put(address(y));
      break;
    case Kernel::biased: put(address(x) - 4ull * biased_by); break;
    default: break;
  }
  if (work.kernel == Kernel::gather || work.kernel == Kernel::biased || work.kernel == Kernel::walk)
    put(work.kernel == Kernel::biased ? biased_by : work.m);
  if (work.kernel != Kernel::walk && work.kernel != Kernel::write_globals) put(work.n);
  switch (work.kernel) {
    case Kernel::reverse:
    case Kernel::histogram:
    case Kernel::put_pointer: return;
    default: break;
  }
  put(work.a);
  put(work.spin);
}

std::string ref_text(const Memory& memory, const Ref& ref) {
  const Region& region = memory.at(ref.region);
  std::string name = text("%s%d", kind_name(region.kind), ref.region);
  if (region.kind == Kind::kTexture || region.kind == Kind::kSurface)
    name += text("(of %s%d)", kind_name(memory.at(region.shows.region).kind), region.shows.region);
  if (region.kind == Kind::kGlobal)
    name += text("(module %d symbol %d)", region.module, region.symbol);
  if (region.on != 0) name += text("@%d", region.on);
  return ref.offset == 0 ? name : name + text("+%llu", static_cast<unsigned long long>(ref.offset));
}

std::string work_text(const Work& work, const Memory& memory) {
  const auto shape = [&](const Side& side) {
    std::string line = ref_text(memory, side.ref);
    if (work.shape.height > 1 || work.shape.depth > 1)
      line += text(" pitch %llu slice %llu", static_cast<unsigned long long>(side.pitch),
                   static_cast<unsigned long long>(side.slice));
    return line;
  };
  const std::string size = text("%llux%llux%llu", static_cast<unsigned long long>(work.shape.width),
                                static_cast<unsigned long long>(work.shape.height),
                                static_cast<unsigned long long>(work.shape.depth));
  switch (work.kind) {
    case WorkKind::kKernel: {
      std::string line = text("kernel %s", kernel_name(work.kernel));
      if (work.module >= 0)
        line += text(" of module %d%s", work.module, work.extra ? " (extra)" : "");
      for (const Ref& ref : work.refs) {
        if (ref.region >= 0) line += " " + ref_text(memory, ref);
      }
      const ImageShape& image = work.image;
      if (is_image_kernel(work.kernel)) {
        line += text(" dimension %u, %u bits x%u kind %u how %u, part %u %u %u of %u %u %u",
                     static_cast<unsigned>(image.dimension), image.bits, image.components,
                     static_cast<unsigned>(image.kind), image.how, image.at[0], image.at[1],
                     image.at[2], image.part[0], image.part[1], image.part[2]);
      }
      return line + text(" n %u m %u a %#x spin %u block %u", work.n, work.m, work.a, work.spin,
                         work.block);
    }
    case WorkKind::kSet:
      return "set " + shape(work.to) + " bytes " + size +
             text(" value %#x of %u bytes, api %u", work.value, work.element, work.api);
    case WorkKind::kCopy:
      return "copy " + shape(work.to) + " from " + shape(work.from) + " bytes " + size +
             text(", api %u", work.api);
    case WorkKind::kHost:
      return "host function " + shape(work.to) +
             (work.from.ref.region < 0 ? "" : " from " + shape(work.from)) + " bytes " + size +
             text(" a %#x", work.a);
    case WorkKind::kEmpty: return "empty";
    case WorkKind::kChild: return text("child graph %d", work.graph);
  }
  return "?";
}

}  // namespace random_programs
