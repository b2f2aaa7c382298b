// The graphs of the hand-written exemplar kernels as ONNX models, and what those kernels need.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace stitch {

// Of an exemplar, as its README says: the emulator's counts, registers on sm_90, and 128-bit loads
// and stores among all in the text, loop bodies once.
struct ExemplarFigures {
  std::string kernel;
  double block_barriers = 0, cluster_barriers = 0, grid_barriers = 0;
  int registers = 0;
  double sectors = 1, traffic = 1, banks = 1;
  int wide_accesses = 0, accesses = 0;
};

struct ExemplarModel {
  std::string name;
  std::vector<ExemplarFigures> figures;  // alternatives for the same graph
  std::filesystem::path file;
};

// Writes the models into a folder.
std::vector<ExemplarModel> write_exemplar_models(const std::filesystem::path& folder);

}  // namespace stitch
