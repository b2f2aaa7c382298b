// Launch programs and the launcher over the mock driver, for tests.
#pragma once
#include <string>

#include "mock_driver.h"
#include "runtime/bundle_format.h"
#include "runtime/entry_points.h"

namespace stitch {

// One input and one output of 64 floats, 256 bytes of workspace with counters in its second half,
// a kernel `first`, and `second` whose grid barrier needs 100 blocks and whose twin is two kernels.
// Cubins for sm_80 and sm_90, PTX for sm_80.
runtime::LaunchProgram sample_program();

// A launch program as a bundle would carry it.
class MockBundle {
 public:
  explicit MockBundle(const runtime::LaunchProgram& program);
  runtime::LinkedBundle linked() const;

 private:
  std::string program_;
  std::string images_;
};

// Options that open the mock driver.
runtime::AbiOptions mock_options();

// The mock's state, and it is an A100 with nothing recorded.
MockState& fresh_mock();

// The last failure on this thread, e.g. "4: no GPU image".
std::string last_failure();

// A model that is destroyed at the end of a test, with one context.
class MockModel {
 public:
  MockModel(const MockBundle& bundle, const runtime::AbiOptions& options);
  ~MockModel();
  MockModel(const MockModel&) = delete;
  MockModel& operator=(const MockModel&) = delete;

  std::int32_t status() const { return status_; }
  runtime::ModelHandle* model() const { return model_; }
  runtime::ContextHandle* context() const { return context_; }
  std::int32_t enqueue();

 private:
  std::int32_t status_ = 0;
  runtime::ModelHandle* model_ = nullptr;
  runtime::ContextHandle* context_ = nullptr;
};

// Memory for one inference of the sample program, aligned as the launcher wants it.
struct SampleBuffers {
  alignas(256) float input[64] = {};
  alignas(256) float output[64] = {};
  alignas(256) unsigned char workspace[256] = {};
  const void* inputs[1] = {input};
  void* outputs[1] = {output};
};

}  // namespace stitch
