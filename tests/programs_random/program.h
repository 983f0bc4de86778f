// A random legal program: each action is made from the seed and its own number, then made legal:
// what conflicts with work that is not ordered before it gets an order first. Leaving actions out
// gives another legal program.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device.h"
#include "memory.h"
#include "order.h"
#include "rng.h"
#include "work.h"

namespace random_programs {

enum class Feature {
#define RANDOM_FEATURE(name, on, help) name,
#include "features.inc"
#undef RANDOM_FEATURE
  count
};

struct Options {
  uint64_t seed = 1;
  int size = 40;               // actions
  std::set<std::string> drop;  // "7": action 7; "7.2": its part 2
  uint64_t features = 0;       // a bit per Feature
  bool list = false;
  std::string code_object;
  int steps = 0;       // iterations of one step instead of actions
  bool fresh = false;  // the last of them gets other inputs and numbers than its turn would bring
  std::string dump;    // folder for what memory holds after them
  bool names = false;  // memory of the device gets the names that the dump has
  bool ends = false;   // where its range does
};

class Program {
 public:
  explicit Program(const Options& options);
  // Performs the program and compares; the hash of what memory holds in the end.
  uint64_t run();
  // The same with a step that is run options.steps times (steps.cpp).
  uint64_t run_steps();
  // The actions in words, as far as they were performed.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  static constexpr int kSlots = 10;       // regions
  static constexpr int kStreamSlots = 6;  // the null stream, the thread's own, and created ones
  static constexpr int kAllStreams = kStreamSlots + kMostDevices - 1;  // other null streams
  static constexpr int kEvents = 4;
  static constexpr int kArrays = 5;
  static constexpr int kObjects = 6;  // textures and surfaces
  static constexpr int kHost = -1;    // settle for the host, not for a stream

  struct Stream {
    bool live = false;
    int number = -1;  // in device and order
  };
  struct Event {
    bool live = false;
    bool recorded = false;
    bool timed = true;
    int device = 0;
    OpSet snapshot;
  };
  struct GraphNode {
    Work work;
    std::vector<int> after;
  };
  struct Graph {
    bool live = false;
    bool captured = false;
    bool in_use = false;  // is a child: its parent's nodes refer to it
    std::vector<GraphNode> nodes;
  };
  struct Exec {
    bool live = false;
    bool launched = false;
    int graph = -1;                // what it was made from
    std::vector<GraphNode> nodes;  // as it is now; children by number of a graph
    OpSet work;                    // its launches
  };
  struct Flat {
    Work work;
    OpSet after;  // places in the flat list
  };

  // What of a work changes from one iteration to the next.
  enum class Rule { kConstant, kNumberStep, kNumberSwap, kOffsetStep, kBufferSwap, kSizeStep };
  struct StepWork {
    Work work;
    int stream = 0;
    Rule rule = Rule::kConstant;
    uint32_t by = 0;    // what a number or an offset grows by; the seed of what takes turns
    uint32_t turn = 2;  // numbers that take turns
    int ref = 0;        // whose offset grows
    Accesses all;       // of all iterations: what orders one of them orders each
  };

  bool on(Feature feature) const {
    return (options_.features >> static_cast<int>(feature) & 1) != 0;
  }
  bool dropped(int action, int part = -1) const;
  void say(const std::string& line);

  // core
  bool issue(int stream, Work work, Rng& rng);
  int stream_of(const Work& work, int stream) const;
  void settle(int stream, const Accesses& accesses, Rng& rng);
  bool settle_once(int stream, int op, Rng& rng);
  void host_waits_for(int op, Rng& rng);
  void sync_stream(int stream, Waiting how);
  void sync_device();
  void host_knows(const OpSet& set) { order_.host.merge(set); }
  void record_event(int event, int stream);
  // `device`: of this device only; -1: any.
  int pick_stream(Rng& rng, bool created_only = false, int device = -1);
  int stream_index(int number) const;
  std::string stream_name(int number) const;

  // devices
  void open_devices();
  void use_device(int device);
  // What needs its device to be the current one: null streams and the thread's own.
  void enter(int stream);
  int device_of(int stream) const { return order_.streams[static_cast<size_t>(stream)].device; }
  int null_of(int device) const { return null_streams_[static_cast<size_t>(device)]; }
  int required_device(const Work& work) const;
  void act_device(Rng& rng);
  void act_launch_list(Rng& rng);

  // operands
  using Wanted = bool (*)(const Region&);
  Region* pick_region(Rng& rng, Wanted wanted, uint64_t least = 4, int other_than = -1);
  Ref pick_range(Rng& rng, const Region& region, uint64_t bytes, uint64_t align);
  void define(const Access& access, Rng& rng);
  void define_inputs(const Work& work, Rng& rng);
  bool make_kernel(Rng& rng, Work& work, bool in_graph);
  bool make_pointer_kernel(Rng& rng, Work& work);
  bool make_set(Rng& rng, Work& work, bool in_graph);
  bool make_copy(Rng& rng, Work& work, bool in_graph);
  bool make_pitched_copy(Rng& rng, Work& work);
  bool make_host_work(Rng& rng, Work& work);
  bool make_work(Rng& rng, Work& work, bool in_graph);

  // actions
  void action(int number);
  void act_allocate(Rng& rng, int slot);
  void act_free(Rng& rng);
  void act_stream(Rng& rng, int slot);
  void act_event(Rng& rng);
  void act_host_write(Rng& rng);
  void act_host_read(Rng& rng);
  void act_wait(Rng& rng);
  void act_module(Rng& rng);
  void act_table(Rng& rng);
  void act_list(Rng& rng);
  void free_slot(int slot, Rng& rng);
  void add_globals(int module);
  void unload_module(Rng& rng);

  // images
  Region* pick_image(Rng& rng, Wanted wanted);
  void define_array(Region& array, Rng& rng);
  bool make_image_work(Rng& rng, Work& work, bool in_graph);
  bool make_image_kernel(Rng& rng, Work& work, bool in_graph);
  bool make_array_copy(Rng& rng, Work& work, bool in_graph);
  void act_image(Rng& rng);
  void act_array(Rng& rng, int slot);
  void act_object(Rng& rng, int slot);
  void act_handle(Rng& rng);
  void free_array(int& place, Rng& rng);
  void destroy_object(int& place, Rng& rng);

  // graphs
  void act_build(Rng& rng, int number);
  void act_capture(Rng& rng, int number);
  void act_launch(Rng& rng);
  void act_set_node(Rng& rng);
  void act_exec_update(Rng& rng, int number);
  void act_destroy_graph(Rng& rng);
  int make_graph(Rng& rng, int number, int depth);
  int make_captured(Rng& rng, int number);
  int make_exec(int graph);
  void link(std::vector<GraphNode>& nodes, GraphNode node, Rng& rng);
  static void join_ends(std::vector<GraphNode>& nodes);
  std::vector<Flat> flatten(const std::vector<GraphNode>& nodes) const;
  bool check_flat(const std::vector<Flat>& flat, std::vector<Accesses>& accesses);
  Exec* pick_exec(Rng& rng);
  bool host_knows_launches(const Exec& exec) const;
  void settle_exec(Exec& exec, Rng& rng);

  // steps
  void make_steps();
  void make_step_memory();
  void write_inputs(int iteration);
  Work step_work(const StepWork& step, int iteration) const;
  Accesses all_accesses(const StepWork& step) const;
  bool fits(const Accesses& accesses) const;
  bool is_fresh(int iteration) const { return options_.fresh && iteration == options_.steps - 1; }
  static uint32_t* number_of(Work& work);
  static bool number_changes(const StepWork& step);
  static uint32_t step_number(StepWork step, int iteration, bool fresh);
  void name_memory();
  void dump(const Region& region) const;

  void begin();
  uint64_t finish();

  Options options_;
  Memory memory_;
  Order order_;
  Device device_;
  std::vector<std::string> lines_;
  int now_ = 0;  // the action
  std::array<int, kSlots> slots_;
  int named_ = 0;  // regions that were there when names were given last
  std::array<Stream, kAllStreams> streams_;
  std::array<Event, kEvents> events_;
  std::vector<Graph> graphs_;
  std::vector<Exec> execs_;
  int module_ = -1;
  int module_device_ = 0;
  int devices_ = 1;
  int current_ = 0;  // device
  std::vector<int> null_streams_ = {kNullStream};
  int scratch_ = -1;           // pageable: for copies that only wait
  int probe_ = -1;             // device: their source
  bool captures_all_ = false;  // work that is made becomes a node of the capture layer
  int end_ = -1;               // device: written last by captured graphs
  std::vector<StepWork> steps_;
  std::vector<int> inputs_;  // regions that the host gives other bytes before each iteration
  int source_ = -1;          // pageable: where these come from, and what arrays begin with
  std::array<int, kArrays> array_slots_;
  std::array<int, kObjects> object_slots_;
};

}  // namespace random_programs
