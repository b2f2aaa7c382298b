// Names inside a bundle: the model's prefix, and the namespace of its launcher.
#pragma once
#include <string>
#include <string_view>

namespace stitch {

// A C identifier from any text: other characters become underscores, runs of them one; a leading
// digit gets `model_` before it, and so does a word that C or C++ reserves.
// E.g. "BERT base/v2.onnx" -> "BERT_base_v2_onnx", "3d-unet" -> "model_3d_unet".
std::string bundle_name(std::string_view text);

// The C++ namespace of the launcher in the bundle of this name. All such names are equally long,
// so that one compiled launcher can be renamed (launcher_object.h).
std::string launcher_namespace(std::string_view name);

}  // namespace stitch
