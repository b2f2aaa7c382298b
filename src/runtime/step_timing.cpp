#include "runtime/step_timing.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

// Records event `step` before and event `step + 1` after each step.
class EventRecorder : public StepObserver {
 public:
  EventRecorder(const Driver& driver, std::size_t steps, CUstream stream)
      : driver_(driver), stream_(stream) {
    driver.require(driver.event_create, "cuEventCreate");
    driver.require(driver.event_destroy, "cuEventDestroy_v2");
    driver.require(driver.event_record, "cuEventRecord");
    driver.require(driver.event_synchronize, "cuEventSynchronize");
    driver.require(driver.event_elapsed_time, "cuEventElapsedTime");
    events_.reserve(steps + 1);
    for (std::size_t number = 0; number <= steps; ++number) {
      CUevent event = nullptr;
      driver.check(driver.event_create(&event, 0), "cuEventCreate", "timing");
      events_.push_back(event);
    }
  }
  ~EventRecorder() override {
    for (const CUevent event : events_) driver_.event_destroy(event);
  }
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void before(std::size_t step) override {
    if (step == 0) record(0);
  }
  void after(std::size_t step) override { record(step + 1); }

  std::vector<double> wait_and_read() {
    std::vector<double> microseconds;
    if (events_.size() == 1) return microseconds;
    driver_.check(driver_.event_synchronize(events_.back()), "cuEventSynchronize", "timing");
    for (std::size_t step = 0; step + 1 < events_.size(); ++step) {
      float milliseconds = 0;
      driver_.check(driver_.event_elapsed_time(&milliseconds, events_[step], events_[step + 1]),
                    "cuEventElapsedTime", "timing");
      microseconds.push_back(1000.0 * static_cast<double>(milliseconds));
    }
    return microseconds;
  }

 private:
  void record(std::size_t number) {
    driver_.check(driver_.event_record(events_[number], stream_), "cuEventRecord", "timing");
  }

  const Driver& driver_;
  CUstream stream_;
  std::vector<CUevent> events_;
};

}  // namespace

std::vector<double> time_steps(Inference& inference, const InferenceBuffers& buffers,
                               CUstream stream) {
  const Model& model = inference.model();
  const CurrentContext current(model.driver(), model.context());
  EventRecorder recorder(model.driver(), model.steps().size(), stream);
  inference.enqueue(buffers, stream, &recorder);
  return recorder.wait_and_read();
}

}  // namespace STITCH_RUNTIME_NAMESPACE
