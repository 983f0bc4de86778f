#include "tests/emulator/vector/llvm_folding.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>

#include <cstdio>
#include <memory>

#include "emulator/table/llvm_target_internal.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
}

namespace gfxgraph::emulator::spec {
namespace {

const char* name_of(char type) {
  switch (type) {
    case 'f': return "float";
    case 'd': return "double";
    case 'h': return "half";
    case 'q': return "i64";
    case 'w': return "i16";
    case 'c': return "i1";
    default: return "i32";
  }
}

// A bit cast keeps signalling NaNs as they are.
std::string constant(const Expression::Operand& operand) {
  char text[96];
  const auto bits = static_cast<unsigned long long>(operand.bits);
  switch (operand.type) {
    case 'f': std::snprintf(text, sizeof text, "bitcast (i32 %llu to float)", bits); break;
    case 'd': std::snprintf(text, sizeof text, "bitcast (i64 %llu to double)", bits); break;
    case 'h': std::snprintf(text, sizeof text, "bitcast (i16 %llu to half)", bits); break;
    default: std::snprintf(text, sizeof text, "%llu", bits); break;
  }
  return text;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string module_text(const std::vector<Expression>& expressions) {
  std::string text =
      "target triple = \"amdgcn-amd-amdhsa\"\n"
      "target datalayout = \"e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-"
      "p7:160:256:256:32-p8:128:128-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-"
      "v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9\"\n";
  size_t number = 0;
  for (const Expression& expression : expressions) {
    std::string body = expression.text;
    for (size_t n = 0; n < expression.operands.size(); ++n)
      replace_all(body, std::string("$") + static_cast<char>('a' + n),
                  constant(expression.operands[n]));
    text += std::string("define ") + name_of(expression.result) + " @f" + std::to_string(number++) +
            "() #0 {\n  " + body + "\n  ret " + name_of(expression.result) + " %r\n}\n";
  }
  text += "attributes #0 = { \"target-cpu\"=\"gfx1030\" }\n";
  return text;
}

// By llvm::Triple where LLVM has that, else by name.
template <typename Target>
llvm::TargetMachine* machine_of(const Target& target) {
  const llvm::TargetOptions options;
  const std::optional<llvm::Reloc::Model> model;
  const llvm::Triple triple(kTargetName);
  if constexpr (requires { target.createTargetMachine(triple, "gfx1030", "", options, model); }) {
    return target.createTargetMachine(triple, "gfx1030", "", options, model);
  } else {
    return target.createTargetMachine(kTargetName, "gfx1030", "", options, model);
  }
}

llvm::TargetMachine& machine() {
  static const std::unique_ptr<llvm::TargetMachine> made = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(target_name(), error);
    return std::unique_ptr<llvm::TargetMachine>(machine_of(*target));
  }();
  return *made;
}

Folded value_of(const llvm::Function& function) {
  if (function.size() != 1) return {};
  const auto* ret = llvm::dyn_cast<llvm::ReturnInst>(function.getEntryBlock().getTerminator());
  if (ret == nullptr) return {};
  const llvm::Value* value = ret->getReturnValue();
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
    return {true, number->getValue().getZExtValue()};
  if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(value))
    return {true, number->getValueAPF().bitcastToAPInt().getZExtValue()};
  return {};
}

}  // namespace

std::vector<Folded> fold(const std::vector<Expression>& expressions, std::string& error) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  // Intrinsics need no declaration in text.
  const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(module_text(expressions), diagnostic, context);
  if (module == nullptr) {
    llvm::raw_string_ostream out(error);
    diagnostic.print("expressions", out);
    return {};
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  std::vector<Folded> folded;
  for (size_t n = 0; n < expressions.size(); ++n) {
    llvm::Function* function = module->getFunction("f" + std::to_string(n));
    passes.run(*function, functions);
    folded.push_back(value_of(*function));
  }
  return folded;
}

}  // namespace gfxgraph::emulator::spec
