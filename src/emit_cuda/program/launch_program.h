// Plan and kernels -> the launcher's program and the manifest's tables, for one architecture.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emit_cuda/bundle/manifest.h"
#include "emit_cuda/bundle/weights_file.h"
#include "emit_cuda/compile/compile_kernels.h"
#include "emit_cuda/emit_kernel.h"
#include "planner/plan/plan.h"
#include "runtime/bundle_format.h"

namespace stitch {

// Weights that the plans of a bundle read: one segment of weights.bin per constant of the graph and
// order of storage.
class WeightSegments {
 public:
  // The segment of a constant buffer; made on first use.
  uint32_t segment_of(const Plan& plan, const Buffer& buffer);
  const std::vector<WeightSegment>& segments() const { return segments_; }

 private:
  std::map<std::pair<ValueId, std::vector<int64_t>>, uint32_t> of_constant_;  // and strides
  std::vector<WeightSegment> segments_;
};

struct ProgramInput {
  const Plan& plan;
  const std::vector<KernelSource>& kernels;  // emit_kernels(plan)
  const CompiledKernels& compiled;
  const ArchitectureCubins& cubins;  // of this architecture
  std::string source_folder;  // where the bundle holds the kernels' text: "src/kernels/sm_80"
};

// Steps in launch order. The workspace is the plan's arena, then the library's scratch, then the
// counters of tickets and barriers.
runtime::ArchitectureProgram make_architecture_program(const ProgramInput& input,
                                                       WeightSegments& weights);
// Kernels with their resources, contractions, images' sizes left to the bundle writer.
ManifestArchitecture make_manifest_architecture(const ProgramInput& input);

// Inputs and outputs of the model, with their bound extents.
std::vector<runtime::TensorInfo> input_tensors(const Graph& graph);
std::vector<runtime::TensorInfo> output_tensors(const Graph& graph);

runtime::ElementType element_type(DType dtype);
// 80 of "sm_80".
uint32_t architecture_number(const std::string& architecture);

}  // namespace stitch
