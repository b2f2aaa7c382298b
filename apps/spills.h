// Kernels that keep more values than their registers hold: the assembler puts the rest into local
// memory, and what the plan predicts of them no longer holds.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compile_model.h"

namespace stitch {

struct Spill {
  std::string kernel;
  int registers = 0;  // per thread, all that it may have
  int64_t bytes = 0;  // per thread, stored
};

// Feedback to the plan: fewer blocks at a time where a kernel spilled. False where none of them can
// have more registers.
bool give_registers(PlannedArchitecture& planned);

// In launch order; twins included.
std::vector<Spill> spills_of(const PlannedArchitecture& planned);

// One sentence for a note.
std::string spill_text(const Spill& spill, const std::string& architecture);

}  // namespace stitch
