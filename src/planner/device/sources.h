// Where the figures of devices.def and of device_model.h come from.
#pragma once
#include "planner/device/figure.h"

namespace stitch::sources {

constexpr Source cited(std::string_view text) { return {Origin::kLiterature, text}; }

inline constexpr Source kV100 = cited("NVIDIA Tesla V100 GPU Architecture, WP-08608-001, 2017");
inline constexpr Source kT4 = cited("NVIDIA T4 data sheet, 2019; Turing, WP-09183-001");
inline constexpr Source kA100 =
    cited("NVIDIA A100 Tensor Core GPU Architecture, 2020; A100 80 GB data sheet, 2021");
inline constexpr Source kA10 =
    cited("NVIDIA A10 data sheet, 2021; Ampere GA102 GPU Architecture, 2021");
inline constexpr Source kL4 = cited("NVIDIA L4 data sheet, 2023; Ada GPU Architecture, 2022");
inline constexpr Source kH100 =
    cited("NVIDIA H100 Tensor Core GPU Architecture, 2022; H100 data sheet, 2023");
inline constexpr Source kH200 = cited("NVIDIA H200 data sheet, 2024");
inline constexpr Source kB200 = cited("NVIDIA Blackwell data sheet (HGX B200), 2025");
// L2 load throughput.
inline constexpr Source kJia18 = cited("Jia et al., arXiv 1804.06826, on V100");
inline constexpr Source kJia19 = cited("Jia et al., arXiv 1903.07486, on T4");
inline constexpr Source kAStitch = cited("AStitch, ASPLOS 2022: 2.5 to 2.7 us on V100");
// Not measured by this project, and in none of the above.
inline constexpr Source kGuess = {Origin::kAssumed, "a guess"};
inline constexpr Source kFullRate = {Origin::kAssumed, "an instruction of every scheduler a cycle"};
// By a calibration file.
inline constexpr Source kCalibration = {Origin::kMeasured, "the calibration file"};

}  // namespace stitch::sources
