// The emulated device and everything that programs have made on it: the one piece of process-wide
// state, as a driver has it.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/device/launch.h"
#include "emulator/device/report.h"
#include "emulator/device/running_launch.h"
#include "emulator/driver/call_counts.h"
#include "emulator/driver/module.h"
#include "emulator/driver/stream.h"
#include "emulator/memory/device_memory.h"
#include "emulator/memory/device_model.h"

namespace stitch::emulator {

struct Settings {
  bool check = false;
  bool count = false;
  Order order = Order::kAscending;
  std::uint64_t seed = 0;
  unsigned host_threads = 0;  // 0 = one per processor

  bool observes() const { return check || count; }
};

// Objects that a program refers to by pointer.
template <class T>
class HandleTable {
 public:
  T* add(std::unique_ptr<T> object) {
    T* const handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  // Null when the pointer is not one of these objects.
  T* find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second.get();
  }
  bool remove(const void* handle) { return objects_.erase(handle) != 0; }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  std::map<const void*, std::unique_ptr<T>> objects_;
};

struct DeviceState {
  std::recursive_mutex mutex;
  bool initialised = false;
  const DeviceModel* model = nullptr;
  Settings settings;
  std::unique_ptr<DeviceMemory> memory;  // made by cuInit
  LaunchResources resources;
  ReportLog log;                          // of the launch or call in progress
  std::vector<Report> reports;            // with their lines
  std::vector<std::string> report_texts;  // as they were handed out, by index
  CallCounts calls;
  std::vector<KernelCounts> kernels;   // in the order of their first launch
  std::vector<KernelCounts> launches;  // each by itself, while settings.count is on
  HandleTable<Module> modules;
  HandleTable<Stream> streams;
  HandleTable<Event> events;
  HandleTable<Graph> graphs;
  HandleTable<GraphExec> graph_execs;
  Stream default_stream;

  // Moves the log into `reports`, with source lines.
  void keep_reports();
  KernelCounts& counts_of(const std::string& kernel);
  // Null when the handle is not a stream.
  Stream* stream(CUstream handle);
  Function* function(const void* handle) const;
};

DeviceState& device_state();

}  // namespace stitch::emulator
