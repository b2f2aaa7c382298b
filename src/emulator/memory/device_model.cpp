#include "emulator/memory/device_model.h"

#include <array>

namespace stitch::emulator {

// Sources: CUDA C++ programming guide 13.0, table "technical specifications per compute capability"
// (shared memory, threads and blocks per multiprocessor); NVIDIA data sheets and architecture
// white papers of each card (multiprocessors, L2, clocks, memory).
std::span<const DeviceModel> device_models() {
  static constexpr std::uint64_t kGiB = 1ull << 30;
  static constexpr int kKiB = 1 << 10;
  static constexpr int kMiB = 1 << 20;
  static constexpr std::array<DeviceModel, 8> kModels = {{
      {"Tesla V100-SXM2-16GB", "sm_70", 7, 0, 80, 96 * kKiB, 96 * kKiB, 2048, 32, 6 * kMiB, 1530000,
       877000, 4096, 16 * kGiB},
      {"Tesla T4", "sm_75", 7, 5, 40, 64 * kKiB, 64 * kKiB, 1024, 16, 4 * kMiB, 1590000, 5001000,
       256, 16 * kGiB},
      {"NVIDIA A100-SXM4-80GB", "sm_80", 8, 0, 108, 164 * kKiB, 163 * kKiB, 2048, 32, 40 * kMiB,
       1410000, 1593000, 5120, 80 * kGiB},
      {"NVIDIA A10", "sm_86", 8, 6, 72, 100 * kKiB, 99 * kKiB, 1536, 16, 6 * kMiB, 1695000, 6251000,
       384, 24 * kGiB},
      {"NVIDIA L4", "sm_89", 8, 9, 58, 100 * kKiB, 99 * kKiB, 1536, 24, 48 * kMiB, 2040000, 6251000,
       192, 24 * kGiB},
      {"NVIDIA H100 80GB HBM3", "sm_90", 9, 0, 132, 228 * kKiB, 227 * kKiB, 2048, 32, 50 * kMiB,
       1980000, 2619000, 5120, 80 * kGiB},
      {"NVIDIA B200", "sm_100", 10, 0, 148, 228 * kKiB, 227 * kKiB, 2048, 32, 126 * kMiB, 1965000,
       3996000, 8192, 180 * kGiB},
      {"NVIDIA RTX PRO 6000 Blackwell", "sm_120", 12, 0, 188, 100 * kKiB, 99 * kKiB, 1536, 24,
       128 * kMiB, 2617000, 14001000, 512, 96 * kGiB},
  }};
  return kModels;
}

const DeviceModel* find_device_model(std::string_view architecture) {
  for (const DeviceModel& model : device_models())
    if (model.architecture == architecture) return &model;
  return nullptr;
}

}  // namespace stitch::emulator
