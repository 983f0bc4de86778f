#include "tests/emulator/decode/llvm_disassembler.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <vector>

#include "emulator/table/llvm_target_internal.h"

namespace gfxgraph::emulator {

struct LlvmDisassembler::Impl {
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

namespace {

LlvmDisassembler::Facts facts_of(const llvm::MCInstrDesc& description,
                                 const llvm::MCRegisterInfo& registers) {
  LlvmDisassembler::Facts facts;
  facts.loads = description.mayLoad();
  facts.stores = description.mayStore();
  facts.branches = description.isBranch();
  facts.calls = description.isCall();
  facts.ends = description.isReturn() || (description.isTerminator() && !description.isBranch());
  for (unsigned n = 0; n < description.getNumOperands(); ++n)
    facts.keeps_dest |= description.getOperandConstraint(n, llvm::MCOI::TIED_TO) >= 0;
  for (const llvm::MCPhysReg one : description.implicit_uses())
    facts.reads.insert(registers.getName(one));
  for (const llvm::MCPhysReg one : description.implicit_defs())
    facts.writes.insert(registers.getName(one));
  return facts;
}

}  // namespace

LlvmDisassembler::LlvmDisassembler() : impl_(std::make_unique<Impl>()) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  const auto triple = target_name();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  impl_->registers.reset(target->createMCRegInfo(triple));
  impl_->asm_info.reset(
      target->createMCAsmInfo(*impl_->registers, triple, llvm::MCTargetOptions()));
  impl_->instructions.reset(target->createMCInstrInfo());
  impl_->subtarget.reset(
      target->createMCSubtargetInfo(triple, "gfx1030", "+wavefrontsize32,-wavefrontsize64"));
  impl_->context = std::make_unique<llvm::MCContext>(
      llvm::Triple(triple), impl_->asm_info.get(), impl_->registers.get(), impl_->subtarget.get());
  impl_->disassembler.reset(target->createMCDisassembler(*impl_->subtarget, *impl_->context));
  impl_->printer.reset(target->createMCInstPrinter(llvm::Triple(triple), 0, *impl_->asm_info,
                                                   *impl_->instructions, *impl_->registers));
}
LlvmDisassembler::~LlvmDisassembler() = default;

LlvmDisassembler::Result LlvmDisassembler::decode(std::span<const uint32_t> words) const {
  std::vector<uint8_t> bytes;
  for (uint32_t w : words)
    for (unsigned n = 0; n < 4; ++n) bytes.push_back(static_cast<uint8_t>(w >> (8 * n)));
  llvm::MCInst inst;
  uint64_t size = 0;
  Result r;
  r.ok = impl_->disassembler->getInstruction(inst, size, bytes, 0, llvm::nulls()) ==
         llvm::MCDisassembler::Success;
  r.size_bytes = static_cast<unsigned>(size);
  // The printer trips over some of what the disassembler lets through, so only the mnemonic is
  // asked for; and operands of a class that the instruction does not take mean that it is none.
  const llvm::MCInstrDesc& description = impl_->instructions->get(inst.getOpcode());
  for (unsigned n = 0; n < inst.getNumOperands() && r.ok; ++n) {
    const llvm::MCOperand& operand = inst.getOperand(n);
    r.ok = operand.isValid();
    if (!r.ok || !operand.isReg() || operand.getReg() == 0 || n >= description.getNumOperands())
      continue;
    const int reg_class = description.operands()[n].RegClass;
    if (reg_class >= 0)
      r.ok = impl_->registers->getRegClass(static_cast<unsigned>(reg_class))
                 .contains(operand.getReg());
  }
  if (!r.ok) return r;
  r.facts = facts_of(description, *impl_->registers);
  r.mnemonic = mnemonic_of(*impl_->printer, inst);
  r.mnemonic.resize(std::min(r.mnemonic.size(), r.mnemonic.find_first_of(" \t")));
  for (const std::string suffix : {"_e32", "_e64", "_sdwa", "_dpp8", "_dpp"}) {
    if (!r.mnemonic.ends_with(suffix)) continue;
    r.mnemonic.resize(r.mnemonic.size() - suffix.size());
    break;
  }
  return r;
}

std::string LlvmDisassembler::text(std::span<const uint32_t> words) const {
  std::vector<uint8_t> bytes;
  for (uint32_t w : words)
    for (unsigned n = 0; n < 4; ++n) bytes.push_back(static_cast<uint8_t>(w >> (8 * n)));
  llvm::MCInst inst;
  uint64_t size = 0;
  impl_->disassembler->getInstruction(inst, size, bytes, 0, llvm::nulls());
  std::string text;
  llvm::raw_string_ostream stream(text);
  impl_->printer->printInst(&inst, 0, "", *impl_->subtarget, stream);
  return text;
}

}  // namespace gfxgraph::emulator
