// What this sample computes: models of rows of kWidth numbers, built through MIGraphX's C API, and
// a program of one of them that is compiled for one number of rows.
#pragma once

#include <migraphx/migraphx.h>

#include <cstddef>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

constexpr size_t kWidth = 64;
constexpr size_t kHidden = 128;

enum class Model {
  kLayers,  // softmax(relu(x * w + b) * v + c), row by row
  kBranch,  // 2 * x if a number of x is above 0, otherwise x - 1: the host takes the branch
  kTiny,    // |x|: one kernel
  kInt4,    // x * w, where w is 4 bits a weight, with one scale for each of its rows
};

inline std::vector<float> numbers(unsigned seed, size_t count, float scale = 1) {
  std::mt19937 engine(seed);
  std::vector<float> result(count);
  for (float& number : result) number = scale * (static_cast<float>(engine() >> 8) / (1 << 23) - 1);
  return result;
}

inline void must(migraphx_status status, const char* what) {
  if (status != migraphx_status_success)
    throw std::runtime_error(std::string(what) + ": status " + std::to_string(status));
}
#define MIGRAPHX(call) must((call), #call)

// MIGraphX's handles, which the caller destroys.
template <auto Destroy>
struct Destroyer {
  template <typename Handle>
  void operator()(Handle* handle) const noexcept {
    Destroy(handle);
  }
};
template <typename Handle, auto Destroy>
using Owned = std::unique_ptr<Handle, Destroyer<Destroy>>;
using Program = Owned<migraphx_program, migraphx_program_destroy>;
using Parameters = Owned<migraphx_program_parameters, migraphx_program_parameters_destroy>;
using Shape = Owned<migraphx_shape, migraphx_shape_destroy>;
using Argument = Owned<migraphx_argument, migraphx_argument_destroy>;
using Arguments = Owned<migraphx_arguments, migraphx_arguments_destroy>;
using Instruction = Owned<migraphx_instruction, migraphx_instruction_destroy>;

template <typename Owned, typename Create, typename... Given>
Owned made(Create create, Given... given) {
  typename Owned::pointer handle = nullptr;
  must(create(&handle, given...), "a handle of MIGraphX");
  return Owned(handle);
}

inline Shape shape_of(const std::vector<size_t>& lengths,
                      migraphx_shape_datatype_t type = migraphx_shape_float_type) {
  // The C API takes no const array; it copies the lengths.
  auto* const first = const_cast<size_t*>(lengths.data());
  return made<Shape>(migraphx_shape_create, type, first, lengths.size());
}

// Adds instructions to a module, which is the program's.
class Builder {
 public:
  using Value = migraphx_instruction_t;
  explicit Builder(migraphx_module_t module) : module_(module) {}

  Value parameter(const char* name, const std::vector<size_t>& lengths) {
    return keep(migraphx_module_add_parameter, name, shape_of(lengths).get());
  }
  Value literal(const std::vector<size_t>& lengths, const std::vector<float>& values) {
    return keep(migraphx_module_add_literal, shape_of(lengths).get(),
                reinterpret_cast<const char*>(values.data()));
  }
  Value bytes(const std::vector<size_t>& lengths, const std::vector<unsigned char>& values) {
    return keep(migraphx_module_add_literal, shape_of(lengths, migraphx_shape_uint8_type).get(),
                reinterpret_cast<const char*>(values.data()));
  }
  Value op(const char* name, const std::string& attributes, std::vector<Value> inputs,
           std::vector<migraphx_module_t> modules = {}) {
    using Operation = Owned<migraphx_operation, migraphx_operation_destroy>;
    using Modules = Owned<migraphx_modules, migraphx_modules_destroy>;
    migraphx_operation_t created = nullptr;
    // A format, of which MIGraphX 7.1.1 keeps only twice its own length.
    MIGRAPHX(migraphx_operation_create(&created, name, attributes.c_str()));
    const Operation operation(created);
    const auto arguments = list(inputs);
    if (modules.empty()) return keep(migraphx_module_add_instruction, created, arguments.get());
    const auto parts = made<Modules>(migraphx_modules_create, modules.data(), modules.size());
    return keep(migraphx_module_add_instruction_with_mod_args, created, arguments.get(),
                parts.get());
  }
  void give(Value value) { keep(migraphx_module_add_return, list({value}).get()); }

 private:
  using Instructions = Owned<migraphx_instructions, migraphx_instructions_destroy>;
  static Instructions list(const std::vector<Value>& values) {
    const std::vector<const_migraphx_instruction_t> all(values.begin(), values.end());
    return made<Instructions>(migraphx_instructions_create, all.data(), all.size());
  }
  template <typename Add, typename... Given>
  Value keep(Add add, Given... given) {
    Value value = nullptr;
    MIGRAPHX(add(&value, module_, given...));
    return kept_.emplace_back(value).get();
  }
  migraphx_module_t module_;
  std::vector<Instruction> kept_;
};

inline Program build(Model model, size_t rows) {
  Program program = made<Program>(migraphx_program_create);
  const auto module = [&](const char* name) {
    migraphx_module_t made = nullptr;
    if (name == nullptr) {
      MIGRAPHX(migraphx_program_get_main_module(&made, program.get()));
    } else {
      MIGRAPHX(migraphx_program_create_module(&made, program.get(), name));
    }
    return made;
  };
  const std::string all_rows = std::to_string(rows) + ", ";
  const auto spread = [&](Builder& to, Builder::Value value, size_t columns) {
    return to.op("multibroadcast", "{out_lens: [" + all_rows + std::to_string(columns) + "]}",
                 {value});
  };
  Builder main(module(nullptr));
  const Builder::Value x = main.parameter("x", {rows, kWidth});
  if (model == Model::kTiny) {
    main.give(main.op("abs", "{}", {x}));
  } else if (model == Model::kInt4) {
    std::vector<unsigned char> pairs(kWidth * kWidth / 2);  // of weights from 0 to 15
    std::mt19937 engine(300);
    for (unsigned char& pair : pairs) pair = static_cast<unsigned char>(engine() >> 24);
    const Builder::Value packed = main.bytes({kWidth, kWidth / 2}, pairs);
    const Builder::Value weights =
        main.op("convert", "{target_type: 2}", {main.op("unpack_int4", "{axis: 1}", {packed})});
    const Builder::Value scales = main.literal({kWidth, 1}, numbers(301, kWidth, 0.02f));
    const Builder::Value wide = main.op(
        "multibroadcast",
        "{out_lens: [" + std::to_string(kWidth) + ", " + std::to_string(kWidth) + "]}", {scales});
    main.give(main.op("dot", "{}", {x, main.op("mul", "{}", {weights, wide})}));
  } else if (model == Model::kLayers) {
    const auto layer = [&](Builder::Value in, size_t from, size_t to, unsigned seed) {
      const Builder::Value weights = main.literal({from, to}, numbers(seed, from * to, 0.5f));
      const Builder::Value bias = main.literal({1, to}, numbers(seed + 1, to, 0.5f));
      return main.op("add", "{}", {main.op("dot", "{}", {in, weights}), spread(main, bias, to)});
    };
    const Builder::Value hidden = main.op("relu", "{}", {layer(x, kWidth, kHidden, 100)});
    main.give(main.op("softmax", "{axis: 1}", {layer(hidden, kHidden, kWidth, 200)}));
  } else {
    const Builder::Value zero = main.literal({1, 1}, {0});
    const Builder::Value most = main.op("reduce_max", "{axes: [0, 1]}", {x});
    const Builder::Value above = main.op("greater", "{}", {most, zero});
    const Builder::Value is_above = main.op("convert", "{target_type: 0}", {above});
    migraphx_module_t const branches[] = {module("then"), module("otherwise")};
    Builder then(branches[0]), otherwise(branches[1]);
    then.give(then.op("add", "{}", {x, x}));
    const Builder::Value one = otherwise.literal({1, 1}, {1});
    otherwise.give(otherwise.op("sub", "{}", {x, spread(otherwise, one, kWidth)}));
    const Builder::Value taken = main.op("if", "{}", {is_above}, {branches[0], branches[1]});
    main.give(main.op("get_tuple_elem", "{index: 0}", {taken}));
  }
  return program;
}
