// Which memory an action uses, and the work that it makes of it.
#include "program.h"

namespace random_programs {
namespace {

bool for_words(const Region& region) {
  const auto symbol = static_cast<Global>(region.symbol);
  return region.on_device() && (region.kind != Kind::kGlobal || symbol == Global::random_word ||
                                symbol == Global::random_block);
}
bool for_bytes(const Region& region) { return region.on_device(); }
bool for_pointers(const Region& region) {
  return region.on_device() && region.kind != Kind::kGlobal;
}
bool on_host(const Region& region) { return region.on_host(); }
bool any(const Region&) { return true; }

bool overlap(const Access& a, const Access& b) {
  return a.region == b.region && a.begin < b.end && b.begin < a.end;
}

}  // namespace

Region* Program::pick_region(Rng& rng, Wanted wanted, uint64_t least, int other_than) {
  const int start = static_cast<int>(rng.below(static_cast<uint64_t>(memory_.count())));
  for (int i = 0; i < memory_.count(); ++i) {
    Region& region = memory_.at((start + i) % memory_.count());
    const bool own = region.id == scratch_ || region.id == probe_ || region.id == end_;
    if (region.is_image()) continue;
    if (region.kind == Kind::kGlobal && rng.chance(60)) continue;
    if (region.live && !own && region.id != other_than && region.size >= least && wanted(region))
      return &region;
  }
  return nullptr;
}

// `bytes` of the region, somewhere.
Ref Program::pick_range(Rng& rng, const Region& region, uint64_t bytes, uint64_t align) {
  const uint64_t places = (region.size - bytes) / align + 1;
  if (rng.chance(50)) return {region.id, 0};
  return {region.id, rng.below(places) * align};
}

// Gives bytes a value that have none.
void Program::define(const Access& access, Rng& rng) {
  Region& region = memory_.at(access.region);
  if (region.kind == Kind::kArray) return define_array(region, rng);
  Work work;
  work.to.ref = {region.id, 0};
  work.shape.width = region.size;
  if (region.on_host()) {
    settle(kHost, {{region.id, 0, region.size, true}}, rng);
    const uint32_t a = rng.word();
    say("host defines " + ref_text(memory_, {region.id, 0}) + text(" a %#x", a));
    if (!device_.dry()) host_function(region.host, nullptr, region.size, a);
    host_function(memory_.bytes({region.id, 0}), nullptr, region.size, a);
    return memory_.written(region.id, 0, region.size);
  }
  work.kind = WorkKind::kSet;
  work.value = rng.below(256);
  work.api = static_cast<uint32_t>(rng.chance(50) ? SetApi::kAsync : SetApi::kSync);
  issue(pick_stream(rng), work, rng);
}

void Program::define_inputs(const Work& work, Rng& rng) {
  for (const Access& access : static_accesses(work, memory_)) {
    const Region& region = memory_.at(access.region);
    if (access.write || !region.live) continue;
    bool bad = !memory_.defined(access);
    for (const auto& [offset, target] : region.pointers) {
      if (work.kind != WorkKind::kCopy && offset < access.end && access.begin < offset + 8)
        bad = true;
    }
    if (bad) define(access, rng);
  }
}

bool Program::make_kernel(Rng& rng, Work& work, bool in_graph) {
  work.kind = WorkKind::kKernel;
  if (on(Feature::pointers) && rng.chance(20)) return make_pointer_kernel(rng, work);
  static constexpr Kernel kPlain[] = {
      Kernel::fill,   Kernel::add,          Kernel::add,          Kernel::combine,   Kernel::update,
      Kernel::update, Kernel::reverse,      Kernel::histogram,    Kernel::add_bytes, Kernel::packed,
      Kernel::biased, Kernel::read_globals, Kernel::write_globals};
  work.kernel = kPlain[rng.below(std::size(kPlain))];
  work.a = rng.word();
  work.spin = rng.chance(35) ? rng.between(1000, 12000) : rng.below(30);
  work.block = std::array<uint32_t, 4>{32, 64, 96, 256}[rng.below(4)];
  if (work.kernel == Kernel::reverse) work.block = kBlockWords;
  if (work.kernel == Kernel::packed) work.spin = 0;
  if (work.kernel == Kernel::biased && !on(Feature::biased)) work.kernel = Kernel::add;
  const bool globals = work.kernel == Kernel::read_globals || work.kernel == Kernel::write_globals;
  if (globals && !on(Feature::globals)) return false;
  // HIP 5.2.3 does not capture a module's launch; inside of graphs it is given by node only.
  if (module_ >= 0 && rng.chance(35) && (!in_graph || captures_all_)) {
    work.module = module_;
    work.extra = rng.chance(30);
  }
  const uint64_t unit = work.kernel == Kernel::add_bytes ? 1 : 4;
  Wanted wanted = unit == 1 ? for_bytes : for_words;
  const uint32_t most = work.spin >= 1000 ? 200 : 1500;
  if (work.kernel == Kernel::write_globals) {
    work.block = 64;
    return true;
  }
  // What it reads of the variables is not written at the same time.
  Region* d = pick_region(rng, globals ? for_pointers : wanted,
                          work.kernel == Kernel::histogram ? 4 * kBins : unit);
  if (d == nullptr) return false;
  uint64_t elements = std::min<uint64_t>(d->size / unit, most);
  Region* x = nullptr;
  Region* y = nullptr;
  const bool two = work.kernel != Kernel::fill && work.kernel != Kernel::update && !globals;
  if (two) {
    x = pick_region(rng, wanted, unit, d->id);
    if (x == nullptr) return false;
    if (work.kernel == Kernel::histogram) elements = most;
    elements = std::min<uint64_t>(x->size / unit, elements);
  }
  if (work.kernel == Kernel::combine) {
    y = pick_region(rng, wanted, unit, d->id);
    if (y == nullptr) return false;
    elements = std::min<uint64_t>(y->size / unit, elements);
  }
  work.n = rng.chance(30) ? static_cast<uint32_t>(elements)
                          : rng.between(1, static_cast<uint32_t>(elements));
  work.refs[0] =
      pick_range(rng, *d, work.kernel == Kernel::histogram ? 4 * kBins : work.n * unit, unit);
  if (x != nullptr) work.refs[1] = pick_range(rng, *x, work.n * unit, unit);
  if (y != nullptr) work.refs[2] = pick_range(rng, *y, work.n * unit, unit);
  if (work.kernel == Kernel::biased)
    work.m = rng.chance(50) ? rng.between(1, 64) : rng.between(256, 4096);
  return true;
}

bool Program::make_pointer_kernel(Rng& rng, Work& work) {
  work.a = rng.word();
  work.spin = rng.chance(35) ? rng.between(1000, 12000) : rng.below(30);
  work.block = 64;
  Region* d = pick_region(rng, for_pointers, 64);
  if (d == nullptr) return false;
  if (rng.chance(30)) {
    Region* target = pick_region(rng, for_pointers, 16, d->id);
    if (target == nullptr) return false;
    work.kernel = Kernel::put_pointer;
    work.refs[0] = pick_range(rng, *d, 8, 8);
    work.refs[1] = pick_range(rng, *target, 16, 4);
    work.n = rng.below(3);
    return true;
  }
  Region* table = nullptr;
  const int start = static_cast<int>(rng.below(static_cast<uint64_t>(memory_.count())));
  for (int i = 0; i < memory_.count() && table == nullptr; ++i) {
    Region& region = memory_.at((start + i) % memory_.count());
    if (region.live && region.on_device() && region.id != d->id && !region.pointers.empty())
      table = &region;
  }
  if (table == nullptr) return false;
  auto first = table->pointers.begin();
  std::advance(first, rng.below(table->pointers.size()));
  work.kernel = rng.chance(50) ? Kernel::gather : Kernel::walk;
  work.refs[1] = {table->id, first->first};
  if (work.kernel == Kernel::walk) {
    work.m = rng.between(1, 8);
    work.refs[0] = pick_range(rng, *d, 4, 4);
    return true;
  }
  uint64_t most = std::min<uint64_t>(d->size / 4, 200);
  for (auto it = first;
       it != table->pointers.end() && it->first == first->first + 8ull * work.m && work.m < 8;
       ++it) {
    const Region& target = memory_.at(it->second.region);
    if (!target.live || target.id == d->id || target.size < it->second.offset + 4) break;
    most = std::min<uint64_t>(most, (target.size - it->second.offset) / 4);
    ++work.m;
  }
  if (work.m == 0) return false;
  work.n = rng.between(1, static_cast<uint32_t>(most));
  work.refs[0] = pick_range(rng, *d, work.n * 4, 4);
  for (uint32_t entry = 0; entry < work.m; ++entry) {
    const Ref target = table->pointers.at(first->first + 8ull * entry);
    const Access access = {target.region, target.offset, target.offset + 4ull * work.n, false};
    if (!memory_.defined(access) && memory_.at(target.region).pointers.empty() &&
        target.region != table->id)
      define(access, rng);
  }
  return true;
}

bool Program::make_set(Rng& rng, Work& work, bool in_graph) {
  Region* region = pick_region(rng, for_pointers, 16);
  if (region == nullptr) return false;
  work.kind = WorkKind::kSet;
  SetApi api = static_cast<SetApi>(rng.below(12));
  if (in_graph) api = std::array<SetApi, 3>{SetApi::kD8, SetApi::kD16, SetApi::kD32}[rng.below(3)];
  // HIP 5.2.3 takes typed memsets of device memory only, and 3D ones fail on host memory.
  const bool pitched = api == SetApi::k2D || api == SetApi::k2DAsync || api == SetApi::k3D ||
                       api == SetApi::k3DAsync;
  if (pitched && !on(Feature::pitched)) api = SetApi::kAsync;
  if (region->on_host()) api = in_graph ? SetApi::kD8 : SetApi::kAsync;
  if (api == SetApi::kD16Async || api == SetApi::kD16) work.element = 2;
  if (api == SetApi::kD32Async || api == SetApi::kD32) work.element = 4;
  work.api = static_cast<uint32_t>(api);
  work.value = work.element == 4 ? rng.word() : rng.below(work.element == 2 ? 65536 : 256);
  // HIP 5.2.3 writes past a memset that is shorter than the distance to the next 8-byte boundary.
  const uint64_t bytes =
      rng.chance(30) ? region->size : rng.between(8, static_cast<uint32_t>(region->size));
  work.shape.width = bytes / work.element * work.element;
  work.to.ref = pick_range(rng, *region, work.shape.width, work.element);
  if (api == SetApi::k2D || api == SetApi::k2DAsync || api == SetApi::k3D ||
      api == SetApi::k3DAsync) {
    const uint64_t pitch = std::min<uint64_t>(region->size, 16 * rng.between(1, 8));
    const bool layers = api == SetApi::k3D || api == SetApi::k3DAsync;
    work.shape.height =
        rng.between(1, static_cast<uint32_t>(std::min<uint64_t>(region->size / pitch, 6)));
    work.to.pitch = pitch;
    work.to.slice = pitch * work.shape.height;
    if (layers)
      work.shape.depth = rng.between(
          1, static_cast<uint32_t>(std::min<uint64_t>(region->size / work.to.slice, 3)));
    work.shape.width = rng.between(8, static_cast<uint32_t>(pitch));
    work.to.ref = {region->id, 0};
  }
  return true;
}

bool Program::make_copy(Rng& rng, Work& work, bool in_graph) {
  work.kind = WorkKind::kCopy;
  if (!in_graph && on(Feature::pitched) && rng.chance(20)) return make_pitched_copy(rng, work);
  Region* to = pick_region(rng, any, 1);
  if (to == nullptr) return false;
  // Copies between two places of host memory are not the device's.
  Wanted wanted = host_side(to->kind)
                      ? Wanted([](const Region& region) { return !host_side(region.kind); })
                      : any;
  Region* from = pick_region(rng, wanted, 1, to->id);
  if (from == nullptr) return false;
  if (in_graph && !on(Feature::graph_host_copies) && (host_side(to->kind) || host_side(from->kind)))
    return false;
  const uint64_t most = std::min(to->size, from->size);
  work.shape.width = rng.chance(40) ? most : rng.between(1, static_cast<uint32_t>(most));
  if (on(Feature::pointers) && rng.chance(60) && work.shape.width >= 8) work.shape.width &= ~7ull;
  const uint64_t align = work.shape.width % 8 == 0 ? 8 : 1;
  work.to.ref = pick_range(rng, *to, work.shape.width, align);
  work.from.ref = pick_range(rng, *from, work.shape.width, align);
  static constexpr CopyApi kForms[] = {
      CopyApi::kAsync,      CopyApi::kAsync, CopyApi::kAsyncDefault, CopyApi::kTypedAsync,
      CopyApi::kWithStream, CopyApi::kSync,  CopyApi::kTyped};
  CopyApi api = kForms[rng.below(std::size(kForms))];
  const Region* symbol = to->kind == Kind::kGlobal     ? to
                         : from->kind == Kind::kGlobal ? from
                                                       : nullptr;
  const bool both = to->kind == Kind::kGlobal && from->kind == Kind::kGlobal;
  if (both && to->on != from->on) return false;
  if (symbol != nullptr && symbol->module < 0 && !both && rng.chance(60))
    api = rng.chance(50) ? CopyApi::kSymbol : CopyApi::kSymbolAsync;
  if (devices_ > 1 && to->kind == Kind::kDevice && from->kind == Kind::kDevice && rng.chance(40))
    api = rng.chance(50) ? CopyApi::kPeer : CopyApi::kPeerAsync;
  if (in_graph) api = CopyApi::kAsync;
  work.api = static_cast<uint32_t>(api);
  return true;
}

bool Program::make_pitched_copy(Rng& rng, Work& work) {
  Region* to =
      pick_region(rng, [](const Region& region) { return region.kind != Kind::kGlobal; }, 64);
  if (to == nullptr) return false;
  Wanted wanted = host_side(to->kind)
                      ? Wanted([](const Region& region) {
                          return !host_side(region.kind) && region.kind != Kind::kGlobal;
                        })
                      : Wanted([](const Region& region) { return region.kind != Kind::kGlobal; });
  Region* from = pick_region(rng, wanted, 64, to->id);
  if (from == nullptr) return false;
  const CopyApi api = std::array<CopyApi, 4>{CopyApi::k2D, CopyApi::k2DAsync, CopyApi::k3D,
                                             CopyApi::k3DAsync}[rng.below(4)];
  work.api = static_cast<uint32_t>(api);
  const bool layers = api == CopyApi::k3D || api == CopyApi::k3DAsync;
  work.shape.width = rng.between(1, 16);
  work.to.pitch = rng.between(static_cast<uint32_t>(work.shape.width), 20);
  work.from.pitch = rng.between(static_cast<uint32_t>(work.shape.width), 20);
  work.shape.height = rng.between(1, static_cast<uint32_t>(layers ? 1 : 3));
  if (layers) work.shape.depth = rng.between(1, 3);
  work.to.slice = work.to.pitch * (work.shape.height + (layers ? rng.below(2) : 0));
  work.from.slice = work.from.pitch * (work.shape.height + (layers ? rng.below(2) : 0));
  const auto span = [&](const Side& side) {
    return (work.shape.depth - 1) * side.slice + (work.shape.height - 1) * side.pitch + side.pitch;
  };
  if (span(work.to) > to->size || span(work.from) > from->size) return false;
  work.to.ref = pick_range(rng, *to, span(work.to), 4);
  work.from.ref = pick_range(rng, *from, span(work.from), 4);
  return true;
}

bool Program::make_host_work(Rng& rng, Work& work) {
  Region* to = pick_region(rng, on_host, 4);
  if (to == nullptr || to->kind == Kind::kManaged) return false;
  work.kind = WorkKind::kHost;
  work.a = rng.word();
  work.shape.width = rng.between(1, static_cast<uint32_t>(to->size));
  work.to.ref = pick_range(rng, *to, work.shape.width, 1);
  Region* from = pick_region(rng, on_host, 4, to->id);
  if (from != nullptr && from->kind != Kind::kManaged && from->size >= work.shape.width &&
      rng.chance(50))
    work.from.ref = pick_range(rng, *from, work.shape.width, 1);
  return true;
}

// Any work but child graphs.
bool Program::make_work(Rng& rng, Work& work, bool in_graph) {
  const bool image = on(Feature::arrays) && in_graph && rng.chance(30);
  const uint32_t kind = rng.below(100);
  bool made = false;
  if (image) {
    made = make_image_work(rng, work, in_graph);
  } else if (kind < 55) {
    made = make_kernel(rng, work, in_graph);
  } else if (kind < 67) {
    made = make_set(rng, work, in_graph);
  } else if (kind < 93) {
    made = make_copy(rng, work, in_graph);
  } else if (in_graph ? on(Feature::host_nodes) : on(Feature::callbacks)) {
    made = make_host_work(rng, work);
  }
  if (!made || (in_graph && required_device(work) > 0)) return false;
  // HIP 5.2.3 does not keep a graph's order for what it copies or sets of another device's memory.
  if (in_graph && (work.kind == WorkKind::kCopy || work.kind == WorkKind::kSet)) {
    for (const Side* side : {&work.to, &work.from}) {
      if (side->ref.region >= 0 && memory_.at(side->ref.region).on != 0) return false;
    }
  }
  const Accesses accesses = static_accesses(work, memory_);
  for (size_t i = 0; i < accesses.size(); ++i) {
    for (size_t j = 0; j < accesses.size(); ++j) {
      const bool same =
          accesses[i].region == accesses[j].region && accesses[i].begin == accesses[j].begin;
      if (i != j && accesses[i].write && !same && overlap(accesses[i], accesses[j])) return false;
    }
    // An address in host memory would differ from run to run.
    if (work.kind == WorkKind::kCopy && !accesses[i].write &&
        host_side(memory_.at(work.to.ref.region).kind) && !on(Feature::pointers_back)) {
      for (const auto& [offset, target] : memory_.at(accesses[i].region).pointers) {
        if (offset < accesses[i].end && accesses[i].begin < offset + 8) return false;
      }
    }
  }
  return true;
}

}  // namespace random_programs
