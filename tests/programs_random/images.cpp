// Arrays, textures and surfaces of a random program.
#include <algorithm>

#include "program.h"

namespace random_programs {
namespace {

constexpr uint32_t kMostWidth = 40, kMostHeight = 20, kMostDepth = 6, kMostTexelBytes = 16;
constexpr uint64_t kSourceBytes =
    uint64_t{kMostTexelBytes} * kMostWidth * kMostHeight * kMostDepth;  // the largest array
constexpr uint64_t kAlignment = 256;  // of what a texture shows of memory

Texels random_format(Rng& rng) {
  Texels texels;
  texels.bits = std::array<uint32_t, 3>{8, 16, 32}[rng.below(3)];
  texels.components = std::array<uint32_t, 3>{1, 2, 4}[rng.below(3)];
  texels.kind = static_cast<TexelKind>(rng.below(texels.bits == 8 ? 2 : 3));
  return texels;
}

ImageShape shape_of(const Texels& texels) {
  ImageShape shape;
  shape.dimension = texels.dimension;
  shape.size[0] = texels.size[0];
  shape.size[1] = texels.rows();
  shape.size[2] = texels.slices();
  shape.components = texels.components;
  shape.bits = texels.bits;
  shape.kind = texels.kind;
  shape.how = texels.how;
  return shape;
}

Dimension dimension_of(const Texels& array) {
  if (array.layered) return Dimension::k2DLayers;
  return array.size[2] != 0 ? Dimension::k3D : array.size[1] != 0 ? Dimension::k2D : Dimension::k1D;
}

bool is_array(const Region& region) { return region.kind == Kind::kArray; }

std::string texels_text(const Texels& texels) {
  return text("%ux%ux%u%s texels of %u x %u bits, kind %u", texels.size[0], texels.size[1],
              texels.size[2], texels.layered ? " layered" : "", texels.components, texels.bits,
              static_cast<unsigned>(texels.kind));
}

}  // namespace

Region* Program::pick_image(Rng& rng, Wanted wanted) {
  const int start = static_cast<int>(rng.below(static_cast<uint64_t>(memory_.count())));
  for (int i = 0; i < memory_.count(); ++i) {
    Region& region = memory_.at((start + i) % memory_.count());
    if (!region.live || !region.is_image() || !wanted(region)) continue;
    if (region.kind != Kind::kArray && !memory_.at(region.shows.region).live) continue;
    return &region;
  }
  return nullptr;
}

// A copy of a whole array from plain memory.
void Program::define_array(Region& array, Rng& rng) {
  if (source_ < 0) {
    Region& source = memory_.add(Kind::kPageable, kSourceBytes);
    device_.allocate(source, 0);
    source_ = source.id;
  }
  Region& source = memory_.at(source_);
  settle(kHost, {{source_, 0, array.size, true}}, rng);
  const uint32_t a = rng.word();
  say("host writes " + ref_text(memory_, {source_, 0}) + text(" a %#x", a));
  if (!device_.dry()) host_function(source.host, nullptr, array.size, a);
  host_function(memory_.bytes({source_, 0}), nullptr, array.size, a);
  memory_.written(source_, 0, array.size);
  Work copy;
  copy.kind = WorkKind::kCopy;
  const uint64_t row = array.texels.row_bytes();
  copy.to = {{array.id, 0}, row, row * array.texels.rows()};
  copy.from = {{source_, 0}, row, row * array.texels.rows()};
  copy.shape = {row, array.texels.rows(), array.texels.slices()};
  copy.api = static_cast<uint32_t>(rng.chance(50) ? CopyApi::kArray3D : CopyApi::kArray3DAsync);
  issue(pick_stream(rng), copy, rng);
}

void Program::act_array(Rng& rng, int slot) {
  int& place = array_slots_[static_cast<size_t>(slot)];
  if (place >= 0) free_array(place, rng);
  Texels texels = random_format(rng);
  const uint32_t form = rng.below(10);
  texels.size[0] = rng.between(1, kMostWidth);
  // HIP refuses copies of layers of one row each.
  if (form >= 2) texels.size[1] = rng.between(1, kMostHeight);
  if (form >= 6) texels.size[2] = rng.between(1, kMostDepth);
  texels.layered = form >= 8;
  Region& array = memory_.add(Kind::kArray, texels.bytes());
  array.texels = texels;
  array.on = current_;
  place = array.id;
  say("create " + ref_text(memory_, {array.id, 0}) + ", " + texels_text(texels));
  device_.allocate(array, rng.word());
}

// Its textures and surfaces go first, or stay unused.
void Program::free_array(int& place, Rng& rng) {
  Region& array = memory_.at(place);
  for (int& object : object_slots_) {
    if (object >= 0 && memory_.at(object).shows.region == array.id && rng.chance(70))
      destroy_object(object, rng);
  }
  settle(kHost, {{array.id, 0, array.size, true}}, rng);
  say("free " + ref_text(memory_, {array.id, 0}));
  device_.release(array);
  array.live = false;
  place = -1;
}

void Program::destroy_object(int& place, Rng& rng) {
  Region& object = memory_.at(place);
  settle(kHost, {{object.id, 0, 1, true}}, rng);
  if (!object.left_alone) {
    say("destroy " + ref_text(memory_, {object.id, 0}));
    device_.release(object);
  }
  object.live = false;
  place = -1;
}

void Program::act_object(Rng& rng, int slot) {
  int& place = object_slots_[static_cast<size_t>(slot)];
  if (place >= 0) destroy_object(place, rng);
  const uint32_t form = rng.below(10);
  Texels texels;
  Ref shows;
  uint64_t pitch = 0;
  if (form < 7) {
    const Region* array = pick_image(rng, is_array);
    if (array == nullptr) return;
    texels = array->texels;
    texels.dimension = dimension_of(texels);
    shows = {array->id, 0};
  } else {
    texels = random_format(rng);
    Region* memory =
        pick_region(rng, [](const Region& one) { return one.kind == Kind::kDevice; }, 1024);
    if (memory == nullptr) return;
    shows.region = memory->id;
    shows.offset = rng.chance(50) ? 0 : kAlignment * rng.below(memory->size / kAlignment);
    const uint64_t bytes = memory->size - shows.offset;
    const uint32_t most = static_cast<uint32_t>(std::min<uint64_t>(bytes, 2048));
    if (form < 9 || bytes < kAlignment) {
      texels.dimension = Dimension::kFetch;
      if (most < texels.texel_bytes()) return;
      texels.size[0] = rng.between(1, most / texels.texel_bytes());
    } else {
      pitch = kAlignment * rng.between(1, most >= 2 * kAlignment ? 2 : 1);
      texels.size[0] = rng.between(1, static_cast<uint32_t>(pitch) / texels.texel_bytes());
      texels.size[1] = rng.between(1, std::min(12u, static_cast<uint32_t>(bytes / pitch)));
    }
  }
  // HIP 5.2.3 takes the layer of a surface for a mip level.
  const bool array = memory_.at(shows.region).kind == Kind::kArray;
  const bool surface = array && !texels.layered && rng.chance(35);
  if (!surface) {
    const bool fetch = texels.dimension == Dimension::kFetch;
    const bool integer = texels.kind != TexelKind::kFloat;
    if (integer && texels.bits < 32 && rng.chance(40)) texels.how |= kFraction;
    if ((texels.how & kFraction) != 0 && !fetch && rng.chance(50)) texels.how |= kLinear;
    if (!fetch && rng.chance(50)) texels.how |= kNormalized;
    texels.mode = static_cast<AddressMode>(rng.below(4));
  }
  Region& object = memory_.add(surface ? Kind::kSurface : Kind::kTexture, 1);
  object.texels = texels;
  object.shows = shows;
  object.pitch = pitch;
  object.defined[0] = 1;
  // docs/runtime-quirks.md, kTextureFreesItsArray
  object.left_alone = array && !surface && (texels.how & kFraction) == 0;
  place = object.id;
  object.on = memory_.at(shows.region).on;
  use_device(object.on);
  say("create " + ref_text(memory_, {object.id, 0}) +
      text(" at %llu pitch %llu, how %u mode %u, ", static_cast<unsigned long long>(shows.offset),
           static_cast<unsigned long long>(pitch), texels.how, static_cast<unsigned>(texels.mode)) +
      texels_text(texels));
  device_.create_object(object, memory_);
}

// A texture's handle goes to memory.
void Program::act_handle(Rng& rng) {
  const Region* texture =
      pick_image(rng, [](const Region& one) { return one.kind == Kind::kTexture; });
  Region* table = pick_region(
      rng, [](const Region& one) { return one.on_device() && one.kind != Kind::kGlobal; }, 64);
  if (texture == nullptr || table == nullptr) return;
  const Ref place = pick_range(rng, *table, 8, 8);
  if (memory_.splits_pointer({table->id, place.offset, place.offset + 8, true})) return;
  const Ref source = {scratch_, 0};
  const Ref to = table->on_host() ? place : source;
  settle(kHost, {{to.region, to.offset, to.offset + 8, true}}, rng);
  say("host writes " + ref_text(memory_, {texture->id, 0}) + " to " + ref_text(memory_, to));
  memory_.set_pointer(to, {texture->id, 0});
  if (!device_.dry()) std::memcpy(memory_.at(to.region).host + to.offset, memory_.bytes(to), 8);
  if (table->on_host()) return;
  Work copy;
  copy.kind = WorkKind::kCopy;
  copy.to.ref = place;
  copy.from.ref = source;
  copy.shape.width = 8;
  copy.api = static_cast<uint32_t>(rng.chance(50) ? CopyApi::kAsync : CopyApi::kSync);
  issue(pick_stream(rng), copy, rng);
}

void Program::act_image(Rng& rng) {
  const uint32_t kind = rng.below(100);
  const auto slot = [&](const auto& slots) { return static_cast<int>(rng.below(slots.size())); };
  if (kind < 18) return act_array(rng, slot(array_slots_));
  if (kind < 36) return act_object(rng, slot(object_slots_));
  if (kind < 41) {
    int& place = array_slots_[static_cast<size_t>(slot(array_slots_))];
    if (place >= 0) free_array(place, rng);
    return;
  }
  if (kind < 46) {
    int& place = object_slots_[static_cast<size_t>(slot(object_slots_))];
    if (place >= 0) destroy_object(place, rng);
    return;
  }
  if (kind < 53) return act_handle(rng);
  Work work;
  if (make_image_work(rng, work, false)) issue(pick_stream(rng), work, rng);
}

bool Program::make_image_work(Rng& rng, Work& work, bool in_graph) {
  return rng.chance(50) ? make_array_copy(rng, work, in_graph)
                        : make_image_kernel(rng, work, in_graph);
}

bool Program::make_image_kernel(Rng& rng, Work& work, bool in_graph) {
  work.kind = WorkKind::kKernel;
  work.a = rng.word();
  work.spin = rng.chance(35) ? rng.between(1000, 12000) : rng.below(30);
  work.block = std::array<uint32_t, 4>{32, 64, 96, 256}[rng.below(4)];
  if (module_ >= 0 && rng.chance(35) && !in_graph) {
    work.module = module_;
    work.extra = rng.chance(30);
  }
  const Region* object = nullptr;
  const bool table = rng.chance(25);
  if (table) {
    // Any handle in memory that is still one.
    const int start = static_cast<int>(rng.below(static_cast<uint64_t>(memory_.count())));
    for (int i = 0; i < memory_.count() && object == nullptr; ++i) {
      const Region& region = memory_.at((start + i) % memory_.count());
      if (!region.live || !region.on_device()) continue;
      for (const auto& [offset, target] : region.pointers) {
        const Region& found = memory_.at(target.region);
        if (found.kind != Kind::kTexture || !found.live || !memory_.at(found.shows.region).live)
          continue;
        object = &found;
        work.refs[1] = {region.id, offset};
      }
    }
    work.kernel = Kernel::fetch_table;
  } else {
    object = pick_image(rng, [](const Region& one) { return one.kind != Kind::kArray; });
    if (object == nullptr) return false;
    work.refs[1] = {object->id, 0};
    work.kernel = Kernel::fetch;
    if (object->kind == Kind::kSurface) {
      static constexpr Kernel kKernels[] = {Kernel::surface_read, Kernel::surface_write,
                                            Kernel::surface_update};
      work.kernel = kKernels[rng.below(3)];
      // Halves have no sum here.
      if (object->texels.kind == TexelKind::kFloat && work.kernel == Kernel::surface_update)
        work.kernel = Kernel::surface_write;
    }
  }
  if (object == nullptr) return false;
  const int shown = object->shows.region;
  work.image = shape_of(object->texels);
  if (work.kernel == Kernel::surface_write || work.kernel == Kernel::surface_update) {
    for (size_t axis = 0; axis < 3; ++axis) {
      const uint32_t size = work.image.size[axis];
      const bool whole = rng.chance(50);
      work.image.at[axis] = whole ? 0 : rng.below(size);
      work.image.part[axis] = whole ? size : rng.between(1, size - work.image.at[axis]);
    }
    work.n = work.image.part[0] * work.image.part[1] * work.image.part[2];
    return true;
  }
  Region* d = pick_region(
      rng, [](const Region& one) { return one.on_device() && one.kind != Kind::kGlobal; }, 64,
      shown);
  if (d == nullptr || d->id == work.refs[1].region) return false;
  const uint64_t unit = 4ull * work.image.components;
  const uint64_t most = std::min<uint64_t>(d->size / unit, work.spin >= 1000 ? 100 : 500);
  work.n = rng.between(1, static_cast<uint32_t>(most));
  work.refs[0] = pick_range(rng, *d, work.n * unit, 4);
  if (!table) return true;
  Accesses reads;
  table_accesses(memory_, *object, reads);
  for (const Access& access : reads) {
    if (!memory_.defined(access)) define(access, rng);
  }
  return true;
}

bool Program::make_array_copy(Rng& rng, Work& work, bool in_graph) {
  work.kind = WorkKind::kCopy;
  const Region* array = pick_image(rng, is_array);
  if (array == nullptr) return false;
  const Texels& texels = array->texels;
  // A box of the array, in texels.
  const uint32_t size[3] = {texels.size[0], texels.rows(), texels.slices()};
  uint32_t at[3], part[3];
  const bool whole = rng.chance(40);
  for (size_t axis = 0; axis < 3; ++axis) {
    at[axis] = whole ? 0 : rng.below(size[axis]);
    part[axis] = whole ? size[axis] : rng.between(1, size[axis] - at[axis]);
  }
  work.shape = {uint64_t{part[0]} * texels.texel_bytes(), part[1], part[2]};
  const auto in = [&](const Region& region, const uint32_t(&place)[3]) {
    const uint64_t row = region.texels.row_bytes();
    const uint64_t slice = row * region.texels.rows();
    return Side{{region.id, place[2] * slice + place[1] * row +
                                uint64_t{place[0]} * region.texels.texel_bytes()},
                row,
                slice};
  };
  const Side one = in(*array, at);
  Side other;
  const Region* second = nullptr;
  if (rng.chance(25)) {
    const int start = static_cast<int>(rng.below(static_cast<uint64_t>(memory_.count())));
    for (int i = 0; i < memory_.count() && second == nullptr; ++i) {
      const Region& found = memory_.at((start + i) % memory_.count());
      if (!found.live || !is_array(found) || found.id == array->id) continue;
      const Texels& its = found.texels;
      const bool alike = found.on == array->on && its.bits == texels.bits &&
                         its.components == texels.components && its.kind == texels.kind &&
                         its.layered == texels.layered &&
                         (its.size[2] == 0) == (texels.size[2] == 0) &&
                         (its.size[1] == 0) == (texels.size[1] == 0);
      if (alike && its.size[0] >= part[0] && its.rows() >= part[1] && its.slices() >= part[2])
        second = &found;
    }
  }
  const bool flat = texels.size[2] == 0;
  const bool to_array = rng.chance(55);
  CopyApi api = CopyApi::kArray3D;
  if (second != nullptr) {
    const uint32_t place[3] = {rng.below(second->texels.size[0] - part[0] + 1),
                               rng.below(second->texels.rows() - part[1] + 1),
                               rng.below(second->texels.slices() - part[2] + 1)};
    other = in(*second, place);
    static constexpr CopyApi kForms[] = {CopyApi::kArray3D, CopyApi::kArray3DAsync,
                                         CopyApi::kArrayParam2D, CopyApi::kArrayParam2DAsync};
    api = kForms[rng.below(flat ? 4 : 2)];
  } else {
    Region* memory =
        pick_region(rng, [](const Region& region) { return region.kind != Kind::kGlobal; }, 64);
    if (memory == nullptr) return false;
    if (in_graph && !on(Feature::graph_host_copies) && host_side(memory->kind)) return false;
    static constexpr CopyApi kForms[] = {CopyApi::kArray2D,      CopyApi::kArray2DAsync,
                                         CopyApi::kArray3D,      CopyApi::kArray3DAsync,
                                         CopyApi::kArrayParam2D, CopyApi::kArrayParam2DAsync,
                                         CopyApi::kArray3DAt,    CopyApi::kArray3DAtAsync,
                                         CopyApi::kArrayWhole,   CopyApi::kArrayRow};
    static constexpr CopyApi kDeep[] = {CopyApi::kArray3D, CopyApi::kArray3DAsync,
                                        CopyApi::kArray3DAt, CopyApi::kArray3DAtAsync};
    api = flat ? kForms[rng.below(std::size(kForms))] : kDeep[rng.below(4)];
    if (in_graph) api = CopyApi::kArray3DAsync;
    if (api == CopyApi::kArrayWhole && !whole) api = CopyApi::kArray2D;
    if (api == CopyApi::kArrayRow &&
        (part[1] != 1 || at[1] != 0 || memory->kind != Kind::kPageable))
      api = CopyApi::kArray2D;
    // HIP 5.2.3 refuses it.
    if ((api == CopyApi::kArrayParam2D || api == CopyApi::kArrayParam2DAsync) &&
        host_side(memory->kind) && memory->kind != Kind::kPageable)
      api = CopyApi::kArray2DAsync;
    const bool at_place = api == CopyApi::kArray3DAt || api == CopyApi::kArray3DAtAsync;
    // HIP 5.2.3 takes rows and slices of memory that it knows for packed ones
    // (docs/runtime-quirks.md, kArrayCopyIgnoresPitch).
    const bool packed = api == CopyApi::kArrayWhole || memory->kind != Kind::kPageable;
    other.pitch = work.shape.width + (packed ? 0 : rng.below(3) * texels.texel_bytes());
    other.slice = other.pitch * (work.shape.height + (packed ? 0 : rng.below(2)));
    const uint64_t span = (work.shape.depth - 1) * other.slice + work.shape.height * other.pitch;
    if (span > memory->size) return false;
    // HIP copies the beginning of memory that it knows (docs/runtime-quirks.md,
    // kArrayCopyFromBeginning), but not if the place is a position.
    other.ref = {memory->id, 0};
    if (memory->kind == Kind::kPageable && !at_place)
      other.ref = pick_range(rng, *memory, span, texels.texel_bytes());
    if (memory->kind != Kind::kPageable && at_place)
      other.ref = pick_range(rng, *memory, span, texels.texel_bytes());
  }
  if (in_graph) api = CopyApi::kArray3DAsync;
  work.api = static_cast<uint32_t>(api);
  work.to = to_array ? one : other;
  work.from = to_array ? other : one;
  return true;
}

}  // namespace random_programs
