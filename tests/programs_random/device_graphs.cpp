// HIP's side of graphs.
#include "device.h"

namespace random_programs {
namespace {

// A kernel's arguments for a node, each by itself or as one block.
class Block {
 public:
  explicit Block(Arguments& arguments)
      : arguments_(arguments),
        size_(arguments.size),
        extra_{HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments.bytes.data(),
               HIP_LAUNCH_PARAM_BUFFER_SIZE, &size_, HIP_LAUNCH_PARAM_END} {}
  Block(const Block&) = delete;
  void give_to(hipKernelNodeParams& parameters, bool as_block) {
    if (as_block)
      parameters.extra = extra_;
    else
      parameters.kernelParams = arguments_.pointers.data();
  }

 private:
  Arguments& arguments_;
  size_t size_;
  void* extra_[5];
};

}  // namespace

void Device::create_graph(int graph) {
  grow(graphs_, graph);
  graphs_[static_cast<size_t>(graph)] = {};
  HIP(hipGraphCreate(&graphs_[static_cast<size_t>(graph)].graph, 0));
}

void Device::add_node(int number, const Work& work, const Memory& memory,
                      const std::vector<int>& after) {
  Graph& graph = graphs_[static_cast<size_t>(number)];
  if (dry_) return;
  std::vector<hipGraphNode_t> list;
  for (const int number_before : after) {
    const auto index = static_cast<size_t>(number_before);
    list.push_back(graph.nodes[index]);
    // HIP 5 may drop this edge (docs/runtime-quirks.md, kGraphEdgeLost), but not two that stand for
    // it.
    if (graph.followed[index] && after.size() > 1)
      HIP(hipGraphAddEmptyNode(&list.back(), graph.graph, &graph.nodes[index], 1));
    graph.followed[index] = true;
  }
  const size_t count = list.size();
  const hipGraphNode_t* before = list.data();
  hipGraphNode_t node = nullptr;
  switch (work.kind) {
    case WorkKind::kKernel: {
      Arguments arguments;
      pack_arguments(work, memory, arguments);
      hipKernelNodeParams parameters = {};
      parameters.func = work.module < 0 ? const_cast<void*>(kernel_function(work.kernel))
                                        : reinterpret_cast<void*>(function(work));
      parameters.gridDim = dim3(grid_of(work));
      parameters.blockDim = dim3(work.block);
      Block block(arguments);
      block.give_to(parameters, work.extra);
      HIP(hipGraphAddKernelNode(&node, graph.graph, before, count, &parameters));
      break;
    }
    case WorkKind::kSet: {
      const hipMemsetParams parameters = memset_parameters(work, memory);
      HIP(hipGraphAddMemsetNode(&node, graph.graph, before, count, &parameters));
      break;
    }
    case WorkKind::kCopy:
      if (of_array(work, memory)) {
        const hipMemcpy3DParms block = array_parameters(work, memory);
        HIP(hipGraphAddMemcpyNode(&node, graph.graph, before, count, &block));
      } else if (static_cast<CopyApi>(work.api) == CopyApi::k3D) {
        const hipMemcpy3DParms block = parameters_3d(work, memory);
        HIP(hipGraphAddMemcpyNode(&node, graph.graph, before, count, &block));
      } else {
        HIP(hipGraphAddMemcpyNode1D(&node, graph.graph, before, count,
                                    side_address(work.to, memory), side_address(work.from, memory),
                                    work.shape.width, direction(work, memory)));
      }
      break;
    case WorkKind::kHost: {
      hipHostNodeParams parameters = {};
      parameters.fn = run_host_call;
      parameters.userData = host_call(work, memory);
      HIP(hipGraphAddHostNode(&node, graph.graph, before, count, &parameters));
      break;
    }
    case WorkKind::kEmpty: HIP(hipGraphAddEmptyNode(&node, graph.graph, before, count)); break;
    case WorkKind::kChild:
      HIP(hipGraphAddChildGraphNode(&node, graph.graph, before, count,
                                    graphs_[static_cast<size_t>(work.graph)].graph));
      break;
  }
  graph.nodes.push_back(node);
  graph.followed.push_back(false);
}

void Device::clone_graph(int number, int original) {
  grow(graphs_, number);
  if (dry_) return;
  Graph& graph = graphs_[static_cast<size_t>(number)];
  graph = {};
  HIP(hipGraphClone(&graph.graph, graphs_[static_cast<size_t>(original)].graph));
  for (hipGraphNode_t node : graphs_[static_cast<size_t>(original)].nodes) {
    graph.nodes.push_back(nullptr);
    HIP(hipGraphNodeFindInClone(&graph.nodes.back(), node, graph.graph));
  }
  graph.followed = graphs_[static_cast<size_t>(original)].followed;
}

void Device::destroy_graph(int graph) {
  HIP(hipGraphDestroy(graphs_[static_cast<size_t>(graph)].graph));
}

void Device::begin_capture(int number) {
  HIP(hipStreamBeginCapture(stream(number), hipStreamCaptureModeThreadLocal));
}

void Device::end_capture(int number, int graph) {
  grow(graphs_, graph);
  graphs_[static_cast<size_t>(graph)] = {};
  HIP(hipStreamEndCapture(stream(number), &graphs_[static_cast<size_t>(graph)].graph));
}

void Device::instantiate(int exec, int graph) {
  grow(execs_, exec);
  HIP(hipGraphInstantiate(&execs_[static_cast<size_t>(exec)],
                          graphs_[static_cast<size_t>(graph)].graph, nullptr, nullptr, 0));
}

void Device::set_node(int number, int graph, int place, const Work& work, const Memory& memory) {
  if (dry_) return;
  hipGraphExec_t exec = execs_[static_cast<size_t>(number)];
  hipGraphNode_t node = graphs_[static_cast<size_t>(graph)].nodes[static_cast<size_t>(place)];
  switch (work.kind) {
    case WorkKind::kKernel: {
      Arguments arguments;
      pack_arguments(work, memory, arguments);
      hipKernelNodeParams parameters = {};
      parameters.func = work.module < 0 ? const_cast<void*>(kernel_function(work.kernel))
                                        : reinterpret_cast<void*>(function(work));
      parameters.gridDim = dim3(grid_of(work));
      parameters.blockDim = dim3(work.block);
      Block block(arguments);
      block.give_to(parameters, work.extra);
      HIP(hipGraphExecKernelNodeSetParams(exec, node, &parameters));
      return;
    }
    case WorkKind::kSet: {
      const hipMemsetParams parameters = memset_parameters(work, memory);
      HIP(hipGraphExecMemsetNodeSetParams(exec, node, &parameters));
      return;
    }
    case WorkKind::kCopy:
      HIP(hipGraphExecMemcpyNodeSetParams1D(exec, node, side_address(work.to, memory),
                                            side_address(work.from, memory), work.shape.width,
                                            direction(work, memory)));
      return;
    case WorkKind::kHost: {
      hipHostNodeParams parameters = {};
      parameters.fn = run_host_call;
      parameters.userData = host_call(work, memory);
      HIP(hipGraphExecHostNodeSetParams(exec, node, &parameters));
      return;
    }
    default: return;
  }
}

bool Device::update(int exec, int graph) {
  if (dry_) return true;
  hipGraphNode_t node = nullptr;
  hipGraphExecUpdateResult result;
  HIP(hipGraphExecUpdate(execs_[static_cast<size_t>(exec)],
                         graphs_[static_cast<size_t>(graph)].graph, &node, &result));
  return true;
}

void Device::launch(int exec, int number) {
  HIP(hipGraphLaunch(execs_[static_cast<size_t>(exec)], stream(number)));
}

void Device::destroy_exec(int exec) { HIP(hipGraphExecDestroy(execs_[static_cast<size_t>(exec)])); }

}  // namespace random_programs
